"""Interactive sessions: what was typed, what was answered, and the program that answers the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebug.propose.code import indented, is_print, parse, source_of

_PROMPT = re.compile(r"^\s*(?:>>>|In ?\[\d*\]:)(?: |$)?(?P<code>.*)$")
_CONTINUED = re.compile(r"^\s*(?:\.\.\.:?)(?: |$)(?P<code>.*)$")
_OUT = re.compile(r"^\s*Out ?\[\d*\]: ?")
_LAST_LINE = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_MAGIC = re.compile(r"^\s*[%!?]|\?\s*$")

SHOW = '''def _show(value):
    """Prints a value as the interactive interpreter does."""
    if value is not None:
        print(repr(value))
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One input of a session with its output; `output` has no trailing line break."""

    source: str
    output: str
    line: int  # 0-based line of the input within the transcript

    @property
    def raised(self) -> str:
        """The name of the exception that the output ends in, "" when it is not a traceback."""
        if "Traceback (most recent call last)" not in self.output and not re.search(
            r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b", self.output, re.MULTILINE
        ):
            return ""
        for line in reversed(self.output.splitlines()):
            match = _LAST_LINE.match(line.strip()) if not line.startswith((" ", "\t")) else None
            if match:
                return match["type"].rpartition(".")[2]
        return ""


def is_session(text: str) -> bool:
    """Whether the text holds at least one prompt of the interactive interpreter (or IPython)."""
    return any(_PROMPT.match(line) for line in text.splitlines())


def entries(text: str) -> list[Entry]:
    """The inputs of a session with their outputs, in order. What stands before the first prompt is left out."""
    found: list[Entry] = []
    source: list[str] = []
    output: list[str] = []
    start, open_input = 0, False
    for number, line in enumerate(text.splitlines()):
        prompt = _PROMPT.match(line)
        continued = _CONTINUED.match(line) if open_input else None
        if prompt:
            found.extend(_entry(source, output, start))
            source, output, start, open_input = [prompt["code"]], [], number, True
        elif continued:
            source.append(continued["code"])
        elif source:
            open_input = False
            output.append(_OUT.sub("", line))
    found.extend(_entry(source, output, start))
    return found


def _entry(source: Sequence[str], output: Sequence[str], line: int) -> Iterator[Entry]:
    text = "\n".join(s for s in source if not _MAGIC.search(s)).rstrip()
    if text.strip():
        yield Entry(source=text, output="\n".join(output).strip("\n"), line=line)


def shown(source: str) -> str:
    """The source with every top-level expression statement displayed as the interactive interpreter would."""
    tree = parse(source)
    if tree is None:
        return source
    lines = source.splitlines()
    for node in reversed(tree.body):
        if not isinstance(node, ast.Expr) or is_print(node) or _is_silent(node.value):
            continue
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        head = lines[first].encode()[: node.col_offset].decode()
        tail = lines[last].encode()[node.end_col_offset or 0 :].decode()
        lines[first : last + 1] = f"{head}_show({source_of(source, node.value)}){tail}".splitlines()
    return "\n".join(lines)


def _is_silent(node: ast.expr) -> bool:
    """Expressions whose display says nothing: docstrings, `...`, yields."""
    return isinstance(node, ast.Yield | ast.YieldFrom) or (
        isinstance(node, ast.Constant) and (node.value is ... or node.value is None or isinstance(node.value, str))
    )


def session_program(session: Sequence[Entry], wanted: str = "") -> str:
    """A program that types a session's inputs, in order.

    It ends with the first input whose output is the `wanted` exception (a name without module). Other inputs that
    raised are allowed to raise, since the interactive interpreter goes on after an exception.
    """
    parts: list[str] = []
    raising = [n for n, entry in enumerate(session) if entry.raised]
    stop = next(
        (n for n in raising if wanted and session[n].raised == wanted), raising[-1] if raising else len(session)
    )
    for number, entry in enumerate(session[: stop + 1] if wanted else session):
        text = shown(entry.source)
        if parse(text) is None:
            continue
        parts.append(_guarded(text) if number in raising and number != stop else text)
    body = "\n".join(parts) + "\n"
    return f"{SHOW}\n\n{body}" if "_show(" in body else body


def _guarded(text: str) -> str:
    return f'try:\n{indented(text)}\nexcept Exception as error:\n    print(f"{{type(error).__name__}}: {{error}}")'

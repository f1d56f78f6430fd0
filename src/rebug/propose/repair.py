"""Repairs of text that was meant to be a Python program. Each is a pure function from text to text."""

from __future__ import annotations

import ast
import html
import re
import textwrap
import warnings
from collections.abc import Iterator

from rebug.propose.code import MAX_SOURCE, indented, parse, parses
from rebug.propose.transcript import entries, is_session, session_program

_QUOTES = str.maketrans(
    {
        "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " ", "\u200b": "", "\ufeff": "", "\u2028": "\n",
        "\u200e": "", "\u200f": "", "\u202f": " ",
    }
)  # fmt: skip
_GUTTER = re.compile(r"^\s*\d{1,4}\s*[|:│ ]\s?(?=\S)|^\s*\d{1,4}\s*[|:│]?\s*$")
_SHELL_LINE = re.compile(
    r"^\s*(?:\$|%|!|#)?\s*(?:sudo\s+)?(?:pip3?|python3?|py|conda|uv|poetry|apt(?:-get)?|brew|npm|git|cd|export|pytest|"
    r"docker(?:-compose)?|source|virtualenv|mkdir|curl)\s+[\w./~:-].*$"
)
_PROMPTED = re.compile(r"^\s*[$%]\s+\S")
_PRINT2 = re.compile(r"^(\s*)print[ \t]+(?!\()(?P<what>[^\s=].*)$")
_PRINT2_PAREN = re.compile(r"^(\s*)print[ \t]+(?P<what>\(.*\)[^)]*\S.*)$")
_EXCEPT2 = re.compile(r"^(\s*except\s+[\w.()\s,]+?),\s*(\w+)\s*:")
_EXEC2 = re.compile(r"^(\s*)exec\s+(?!\()(.+)$")
_PLACEHOLDER = re.compile(r"(?<![\w\"'<])<([A-Za-z][\w .-]{0,40})>(?![\w\"'>])")
_ELIDED_LINE = re.compile(
    r"^\s*(?:\[\s*(?:\.\.\.|…|snip)\s*\]|…|\(\.\.\.\)|<snip>|-{3,}|={3,}|\*{3,}|~{3,})\s*$", re.IGNORECASE
)
_TRACEBACK = "Traceback (most recent call last)"
_MAX_DROPS = 40


def tidy(text: str) -> str:
    """Typography, entities, tabs at the start and common indentation put right."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    if re.search(r"&(?:lt|gt|amp|quot|#39|#x27|nbsp);", text) and not parses(text):
        text = html.unescape(text)
    if not parses(text):
        text = text.translate(_QUOTES)
    return dedent(text).strip("\n") + "\n"


def dedent(text: str) -> str:
    """The text with its common indentation removed; a first line that stands further left than the rest is joined."""
    text = textwrap.dedent(text.expandtabs(4) if "\t" in text and not parses(textwrap.dedent(text)) else text)
    lines = text.strip("\n").splitlines()
    rest = textwrap.dedent("\n".join(lines[1:]))
    if lines and not lines[0].rstrip().endswith((":", "(", "[", "{", "\\", ",")) and rest != "\n".join(lines[1:]):
        joined = f"{lines[0].strip()}\n{rest}\n"
        if parse(text) is None and parse(joined) is not None:
            return joined
    return text


def without_gutter(text: str) -> str:
    """The text without a column of line numbers, when every line has one."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not all(_GUTTER.match(line) for line in lines):
        return text
    return dedent("\n".join(_GUTTER.sub("", line) for line in text.splitlines()))


def without_diff(text: str) -> str:
    """The new side of a diff or of code whose lines carry `+` and `-`."""
    lines = text.splitlines()
    marked = sum(line.startswith(("+", "-")) for line in lines)
    if not marked or not all(line[:1] in {"+", "-", " ", "@", ""} for line in lines):
        return text
    kept = [line[1:] for line in lines if not line.startswith(("-", "@@", "+++"))]
    return dedent("\n".join(kept))


def without_shell(text: str) -> str:
    """The text without shell lines, unless they are Python."""
    return "\n".join(line for line in text.splitlines() if not _is_shell(line)) + "\n"


def _is_shell(line: str) -> bool:
    return bool(_PROMPTED.match(line) or (_SHELL_LINE.match(line) and not parses(line.strip())))


def without_tracebacks(text: str) -> str:
    """The text without tracebacks that were pasted among the code."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if _TRACEBACK in line:
            inside = True
        elif inside and line.strip() and not line.startswith((" ", "\t")):
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept) + "\n"


def modernised(text: str) -> str:
    """Python 2's print, exec and except turned into Python 3's."""
    lines: list[str] = []
    for line in text.splitlines():
        for pattern in (_PRINT2, _PRINT2_PAREN):
            match = pattern.match(line)
            if match and not parses(line.strip()):
                what = match["what"].rstrip()
                end = ", end=' '" if what.endswith(",") else ""
                line = f"{match[1]}print({what.rstrip(',')}{end})"  # noqa: PLW2901 - one pass, one line
        lines.append(_EXEC2.sub(r"\1exec(\2)", _EXCEPT2.sub(r"\1 as \2:", line)))
    return "\n".join(lines) + "\n"


def without_elisions(text: str) -> str:
    """Places where the reporter left something out: lines of dots, `, ...)` arguments, `<placeholders>`."""
    lines = ["" if _ELIDED_LINE.match(line) else line for line in text.splitlines()]
    return _PLACEHOLDER.sub(lambda m: repr(m[1].strip()), "\n".join(lines)) + "\n"


def without_ellipsis_arguments(text: str) -> str:
    """Calls and displays in which `...` stands beside other members: it means "and so on", not Ellipsis.

    Subscripts (`tuple[int, ...]`, `array[..., 0]`) are left alone.
    """
    tree = parse(text)
    if tree is None or "..." not in text:
        return text
    holders: list[ast.expr] = []
    for node in ast.walk(tree):
        members = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.List | ast.Set) else ()
        if len(members) > 1:
            holders.extend(m for m in members if isinstance(m, ast.Constant) and m.value is ...)
    lines = text.splitlines()
    for node in sorted(holders, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        raw = lines[node.lineno - 1].encode()
        before, after = raw[: node.col_offset].decode(), raw[node.end_col_offset :].decode()
        lines[node.lineno - 1] = re.sub(r",\s*$", "", before) + after if "," in before else before + after.lstrip(", ")
    repaired = "\n".join(lines) + "\n"
    return repaired if parses(repaired) else text


def parsing_parts(text: str) -> str:
    """What remains of a text when the lines at which it does not parse are dropped, "" when little remains.

    A dropped line that opens a block takes the block with it.
    """
    lines = text.splitlines()
    if len(text) > MAX_SOURCE:
        return ""
    dropped = 0
    while lines and dropped < _MAX_DROPS:
        error = _syntax_error("\n".join(lines) + "\n")
        if error is None:
            break
        at = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
        if isinstance(error, IndentationError) and "expected an indented block" in (error.msg or ""):
            lines[at:at] = [_indent_before(lines, at) + "    pass"]
        else:
            del lines[at : _block_end(lines, at)]
        dropped += 1
    remaining = "\n".join(lines).strip("\n") + "\n"
    enough = len(remaining.split()) * 3 >= len(text.split())
    return remaining if enough and parses(remaining) else ""


def _indent_before(lines: list[str], at: int) -> str:
    opener = next((line for line in reversed(lines[:at]) if line.strip()), "")
    return opener[: len(opener) - len(opener.lstrip())]


def _block_end(lines: list[str], at: int) -> int:
    depth = len(lines[at]) - len(lines[at].lstrip())
    end = at + 1
    if lines[at].rstrip().endswith(":"):
        while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth):
            end += 1
    elif end < len(lines) and lines[end].strip() and len(lines[end]) - len(lines[end].lstrip()) > depth:
        while end < len(lines) and lines[end].strip() and len(lines[end]) - len(lines[end].lstrip()) > depth:
            end += 1
    return end


def _syntax_error(text: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, "<snippet>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError):
        return SyntaxError("not a program")
    return None


def closed(text: str) -> str:
    """The text with brackets that its end leaves open closed, and a block that ends with its head given a body."""
    stack: list[str] = []
    for char in re.sub(r"(\"\"\"|''').*?\1|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*", "", text, flags=re.DOTALL):
        if char in "([{":
            stack.append({"(": ")", "[": "]", "{": "}"}[char])
        elif stack and char == stack[-1]:
            stack.pop()
    text = text.rstrip() + "".join(reversed(stack)) + "\n"
    last = text.rstrip().splitlines()[-1:] or [""]
    if last[0].rstrip().endswith(":"):
        text += " " * (len(last[0]) - len(last[0].lstrip()) + 4) + "pass\n"
    return text


def without_stray_output(text: str) -> str:
    """The program without trailing bare names and constants: output that happens to be an expression."""
    tree = parse(text)
    if tree is None or len(tree.body) < 2:
        return text
    cut = len(tree.body)
    while cut > 1 and _is_stray(tree.body[cut - 1]):
        cut -= 1
    if cut == len(tree.body):
        return text
    return "\n".join(text.splitlines()[: tree.body[cut - 1].end_lineno]) + "\n"


def _is_stray(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is not ...


def programs(text: str, wanted: str = "") -> Iterator[tuple[str, str]]:
    """Programs that a text may have been meant as, nearest to the text first: (program, what was repaired).

    `wanted` is the name of the exception that a session in it is to end in.
    """
    seen: set[str] = set()
    for candidate, repair in _attempts(text, wanted):
        program = without_ellipsis_arguments(candidate)
        if program not in seen and parses(program):
            seen.add(program)
            yield program, repair


def _attempts(text: str, wanted: str) -> Iterator[tuple[str, str]]:
    text = tidy(text[:MAX_SOURCE])
    if is_session(text):
        yield session_program(entries(text), wanted), "session typed in"
        return
    if parses(text):
        yield text, ""
        return
    for repair in (without_gutter, without_diff, without_shell, without_elisions, without_tracebacks):
        text = dedent(repair(text))
    if parses(text):
        yield without_stray_output(text), "cleaned"
        return
    modern = modernised(text)
    if parses(modern):
        yield without_stray_output(modern), "Python 2 syntax"
        return
    if parses(closed(modern)):
        yield closed(modern), "cut off at the end"
    wrapped = "async def main():\n" + indented(modern)
    if parses(wrapped) and re.search(r"^\s*(return|yield)\b", modern, re.MULTILINE):
        yield wrapped.replace("async def", "def", 1) if "await " not in modern else wrapped, "body of a function"
    parts = parsing_parts(modern)
    if parts:
        yield without_stray_output(parts), "lines that are not Python left out"

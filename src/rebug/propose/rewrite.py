"""Programs rewritten so that what they show becomes what they end with. The body stays as it is; checks are added."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebug.propose.code import add_imports, parse, source_of
from rebug.propose.files import put_first
from rebug.propose.needles import mask, pieces_of

_SHOWING = {"print", "pprint", "_show", "_note"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A statement that prints one value: `value` is the source of it, `form` how it is turned into text."""

    node: ast.Expr
    value: str
    form: str  # str | repr
    label: str  # the constant text that is printed before the value
    straight: bool  # a statement of the module itself, not of a loop, branch or function


def shown_statements(script: str) -> list[Shown]:
    """Every statement that prints, in source order."""
    tree = parse(script)
    if tree is None:
        return []
    straight = {id(node) for node in tree.body}
    found = []
    for node in _statements(tree):
        call = node.value if isinstance(node, ast.Expr) else None
        if (
            isinstance(node, ast.Expr)
            and isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in _SHOWING
        ):
            found.append(_shown(script, node, call, straight=id(node) in straight))
    return sorted(found, key=lambda s: s.node.lineno)


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    helper = {"_show", "_note"}
    for top in tree.body:
        if isinstance(top, ast.FunctionDef) and top.name in helper:
            continue
        yield from (node for node in ast.walk(top) if isinstance(node, ast.stmt))


def _shown(script: str, node: ast.Expr, call: ast.Call, *, straight: bool) -> Shown:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    label, rest = "", list(call.args)
    while len(rest) > 1 and isinstance(rest[0], ast.Constant):
        label += f"{rest.pop(0).value} "  # type: ignore[attr-defined]
    if len(rest) != 1 or call.keywords or isinstance(rest[0], ast.Starred):
        return Shown(node, "", "str", label, straight)
    if isinstance(rest[0], ast.JoinedStr) and rest[0].values and isinstance(rest[0].values[0], ast.Constant):
        label += str(rest[0].values[0].value)
    form = "repr" if name in {"_show", "_note"} else "str"
    return Shown(node, source_of(script, rest[0]), form, label, straight)


def statement_of(script: str, lines: Sequence[str], at: int) -> Shown | None:
    """The statement that most likely printed line number `at` of these lines of output; None when it cannot be told.

    A wrong guess costs nothing but a run: the assertion then holds in every version.
    """
    statements = shown_statements(script)
    labelled = [s for s in statements if len(s.label.strip()) > 1 and lines[at].startswith(s.label.strip())]
    if len(labelled) == 1:
        return labelled[0]
    leading = statements[: at + 1]
    if len(leading) <= at or labelled or not all(s.straight for s in leading):
        return None
    sure = len(statements) == len(lines) or all(s.form == "str" for s in leading)
    return statements[at] if sure else None


def value_of(shown: Shown, line: str) -> str:
    """The part of an output line that is the statement's value."""
    text = line
    if shown.label and line.startswith(shown.label.rstrip()) and not shown.value.startswith(("f'", 'f"')):
        text = line[len(shown.label.rstrip()) :]
    return text.strip()


def replaced(script: str, node: ast.stmt, text: str) -> str:
    """The script with a statement replaced by lines that are given without indentation."""
    lines = script.splitlines()
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    margin = " " * node.col_offset
    tail = lines[last - 1].encode()[node.end_col_offset or 0 :].decode().strip()
    fresh = [margin + line if line.strip() else line for line in text.splitlines()]
    if tail.startswith("#"):
        fresh[0] += "  " + tail
    return "\n".join([*lines[:first], *fresh, *lines[last:]]) + "\n"


def with_value_check(script: str, shown: Shown, *, wrong: str = "", right: str = "") -> str:
    """The script that asserts, where the value is printed, that it is not the wrong one (or, when only the right one
    is known, that it is that)."""
    if not shown.value or not (wrong or right) or (mask(wrong) != " ".join(wrong.split())):
        return ""
    as_text = f"{shown.form}(_value)"
    if wrong:
        got = f"expected {right}, got {wrong}" if right else f"got {wrong}"
        check = f"assert {as_text}.strip() != {wrong!r}, {got!r}"
    else:
        check = f"assert {right!r} in (str(_value), repr(_value)), f'expected {_plain(right)}, got {{_value!r}}'"
    call = source_of(script, shown.node)
    if shown.value not in call:
        return ""
    start = call.rindex(shown.value)
    printed = call[:start] + "_value" + call[start + len(shown.value) :]
    text = replaced(script, shown.node, f"_value = {shown.value}\n{printed}\n{check}")
    return text if parse(text) is not None else ""


def _plain(text: str) -> str:
    """A text as it may stand within a single-quoted f-string."""
    return text.replace("\\", "\\\\").replace("'", '"').replace("{", "{{").replace("}", "}}").replace("\n", " ")[:200]


_CAPTURE = "_screen, sys.stdout = sys.stdout, io.StringIO()"
_CAPTURED = """_shown = sys.stdout.getvalue()
sys.stdout = _screen
print(_shown, end="")
_lines = [" ".join(line.split()) for line in _shown.splitlines()]
"""
_CAPTURE_ALL = "_screens = sys.stdout, sys.stderr\nsys.stdout = sys.stderr = io.StringIO()"
_CAPTURED_ALL = """_shown = sys.stdout.getvalue()
sys.stdout, sys.stderr = _screens
print(_shown, end="")
"""


def with_output_check(script: str, check: str) -> str:
    """The script whose standard output is collected; `check` then looks at `_shown` and `_lines` (spaces folded)."""
    body = put_first(script, _CAPTURE).rstrip()
    return add_imports(f"{body}\n\n{_CAPTURED}{check.rstrip()}\n", ["import io", "import sys"])


def with_all_output_check(script: str, check: str) -> str:
    """As `with_output_check`, for standard output and error together."""
    body = put_first(script, _CAPTURE_ALL).rstrip()
    return add_imports(f"{body}\n\n{_CAPTURED_ALL}{check.rstrip()}\n", ["import io", "import sys"])


def line_check(wrong: Sequence[str], all_lines: Sequence[str], at: Sequence[int], right: str = "") -> str:
    """An assertion that not all of the wrong lines are among the lines shown.

    A line that also stands elsewhere in the output is looked for at its own place only.
    """
    folded = [" ".join(line.split()) for line in all_lines]
    terms = []
    for line, number in zip(wrong, at, strict=True):
        text = " ".join(line.split())
        if mask(line) != text:
            terms.append(f"any(all(piece in line for piece in {list(pieces_of(line))!r}) for line in _lines)")
        elif folded.count(text) == 1:
            terms.append(f"{text!r} in _lines")
        else:
            terms.append(f"_lines[{number}:{number + 1}] == [{text!r}]")
    shown = " / ".join(line.strip() for line in wrong)[:300]
    message = f"expected {right[:300]}, got {shown}" if right else f"got {shown}"
    return f"assert not ({' and '.join(terms)}), {message!r}"

"""Whose inputs a script runs on: the reporter's own, or inputs that a proposer chose. Pure.

It matters for values that say little. That the reporter's own call gives None is what was reported; that some call
gives None is not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence, Set

from rebug.model import Candidate, Failure, Report, Trial

_REPORTED = {"snippet", "shell"}
"""Proposers that take programs and commands from the report as they stand."""

_KEEPING = _REPORTED | {
    "amplify",
    "assertions",
    "environment-variations",
    "from-log",
    "lacking",
    "regression",
    "sharpen",
    "stand-ins",
}
"""Proposers that leave their parent's inputs as they are."""


def reporters_own(candidate: Candidate, trials: Sequence[Trial], report: Report) -> bool:
    """Whether a script runs the report's own code: by its ancestry, or since most of it stands in the report."""
    known = {trial.candidate.id: trial.candidate for trial in trials}
    return _descends(candidate, known) or share_of_report(candidate.script, report) >= 0.5


def _descends(candidate: Candidate, known: Mapping[str, Candidate]) -> bool:
    for _ in range(20):
        if candidate.proposer not in _KEEPING:
            return False
        parent = known.get(candidate.parents[0]) if candidate.parents else None
        if parent is None:
            return candidate.proposer in _REPORTED
        candidate = parent
    return False


def share_of_report(script: str, report: Report) -> float:
    """Share of the script's telling lines (no imports, at least 8 characters) that stand in the report, 0 … 1."""
    text = "".join([report.title, report.body, *report.comments]).replace(" ", "")
    lines = [line.strip() for line in script.splitlines()]
    telling = [line for line in lines if len(line) >= 8 and not line.startswith(("import ", "from ", "#"))]
    return sum(line.replace(" ", "") in text for line in telling) / len(telling) if telling else 0.0


def telling_value(text: str) -> bool:
    """Whether a value is so particular that seeing it is evidence by itself: not None, a truth value, an empty
    container, a small number or a single word."""
    return len(re.findall(r"\w+", text)) >= 3 or len(text.strip()) >= 12


INTERNAL = frozenset({
    "AttributeError", "TypeError", "KeyError", "IndexError", "NameError", "UnboundLocalError", "RecursionError",
    "AssertionError", "ZeroDivisionError", "StopIteration", "RuntimeError", "OverflowError", "MemoryError",
    "UnicodeDecodeError", "UnicodeEncodeError", "error", "SystemError", "NotImplementedError",
})  # fmt: skip
"""Exceptions by which a program breaks. Others are also how it answers input that it rightly refuses."""


def refused_at_the_door(failure: Failure, line: int | None, tree: ast.Module, names: Set[str]) -> bool:
    """Whether made-up input may simply have been refused: the first statement of its scope that uses the subject fails
    with an exception that is also a proper answer. `names` are those bound to the subject; `line` is the script's
    innermost line on the stack."""
    if failure.name in INTERNAL or line is None:
        return False
    scope = _scope(tree, line)
    for node in sorted(_simple_statements(scope), key=lambda statement: statement.lineno):
        if any(isinstance(leaf, ast.Name) and leaf.id in names for leaf in ast.walk(node)):
            return node.lineno <= line <= (node.end_lineno or node.lineno)
    return False


def _scope(tree: ast.Module, line: int) -> ast.AST:
    """The innermost function around a line, else the module."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno, default=tree)


def _simple_statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a scope that hold no others, imports and inner scopes left out."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        inner = [child for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
        if isinstance(node, ast.stmt) and not inner:
            yield node
        else:
            yield from _simple_statements(node)

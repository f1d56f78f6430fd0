"""A clean refusal is no bug: a program may end well where the subject raises an error of its own, not a crash."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rebug.ports import Situation, Symbol
from rebug.propose.code import add_imports, import_line_for_symbol, parse, statement_lines

_ROOTS = {"Exception", "ValueError", "TypeError", "RuntimeError", "KeyError", "LookupError", "OSError", "BaseException"}


def own_errors(situation: Situation) -> list[Symbol]:
    """The subject's own exceptions that may rightly end the reported step: the one the report expects, else the public
    roots (at most two). None where the reported exception is the subject's own: then it is no clean refusal."""
    index, symptom = situation.index, situation.symptom
    if symptom.failure is None or any(s.kind == "class" for s in index.find(symptom.failure.name)):
        return []
    expected = [s for s in index.find(symptom.expected_exception.rpartition(".")[2]) if s.kind == "class"]
    if expected and symptom.expected_exception:
        return expected[:1]
    classes = [s for s in index.symbols if s.kind == "class" and s.public and import_line_for_symbol(s)]
    roots = [s for s in classes if {base.rpartition(".")[2] for base in s.bases} & _ROOTS and "Warning" not in s.name]
    size = {s.name: sum(s.name in {b.rpartition(".")[2] for b in c.bases} for c in classes) for s in roots}
    return sorted(roots, key=lambda s: (-size[s.name], bool(s.exported_as) is False))[:2]


def tolerant(script: str, line: int, errors: Sequence[Symbol]) -> str:
    """The program with the statement at `line` allowed to end in one of the errors; as it was where that is not
    possible, or where an exception is expected there already."""
    tree = parse(script)
    if tree is None or not errors:
        return script
    within = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    if any(isinstance(n, ast.Try) and n.handlers for n in within):
        return script
    node = next((n for n in within if isinstance(n, (ast.Expr, ast.Assign, ast.With, ast.For, ast.AsyncWith))), None)
    if node is None:
        return script
    lines = script.splitlines()
    first, last = statement_lines(node)
    indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
    names = ", ".join(error.name for error in errors)
    caught = f"({names})" if len(errors) > 1 else names
    body = [f"    {text}" if text.strip() else text for text in lines[first - 1 : last]]
    tail = [f"{indent}except {caught}:", f"{indent}    pass  # a clean refusal"]
    changed = "\n".join([*lines[: first - 1], f"{indent}try:", *body, *tail, *lines[last:]]) + "\n"
    changed = add_imports(changed, [import_line_for_symbol(error) for error in errors])
    return changed if parse(changed) is not None else script

"""Leaves out of a program what nothing in it uses: helpers, imports and definitions that came along with a test."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rebug.model import Environment
from rebug.propose.code import bound_names, parse, used_names
from rebug.propose.known import distribution_for, is_stdlib

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_ACTIVE = (ast.Call, ast.Await, ast.Yield)


def pruned(script: str) -> str:
    """The program without definitions and imports whose names it does not use; other statements stay as written."""
    tree = parse(script)
    if tree is None:
        return script
    kept: list[ast.stmt] = []
    used: set[str] = set()
    for node in reversed(tree.body):
        if _idle(node) and not (bound_names([node]) & used) and not _is_future(node):
            continue
        kept.append(node)
        used |= used_names(node)
    lines = script.splitlines()
    texts = [_text(node, lines, used) for node in reversed(kept)]
    whole = "\n".join(text for text in texts if text) + "\n"
    return whole if parse(whole) is not None else script


def _idle(node: ast.stmt) -> bool:
    """Whether a statement does nothing but bind names."""
    if isinstance(node, _DEFINITIONS):
        return not getattr(node, "decorator_list", ())
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(isinstance(t, ast.Name) for t in targets) and not any(isinstance(n, _ACTIVE) for n in ast.walk(node))
    if isinstance(node, (ast.If, ast.Try)):
        inside = [*node.body, *node.orelse, *getattr(node, "finalbody", ())]
        inside += [inner for handler in getattr(node, "handlers", ()) for inner in handler.body]
        return all(isinstance(inner, ast.Pass) or _idle(inner) for inner in inside)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _text(node: ast.stmt, lines: Sequence[str], used: set[str]) -> str:
    """The statement as written; of an import only the names that are used."""
    if isinstance(node, ast.ImportFrom) and not _is_future(node) and all(alias.name != "*" for alias in node.names):
        names = [alias for alias in node.names if (alias.asname or alias.name) in used]
        return ast.unparse(ast.ImportFrom(module=node.module, names=names, level=node.level)) if names else ""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return "\n".join(lines[first - 1 : node.end_lineno])


def without_unknown_imports(script: str, environment: Environment, modules: Sequence[str]) -> str:
    """The program without imports at its top level of modules that are neither Python's, nor the subject's (`modules`),
    nor installed: a test suite's own helpers. What they would have bound is left open."""
    tree = parse(script)
    if tree is None:
        return script
    lines = script.splitlines()
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not _known(node, environment, modules):
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[number - 1] = ""
    return "\n".join(lines) + "\n"


def _known(node: ast.Import | ast.ImportFrom, environment: Environment, modules: Sequence[str]) -> bool:
    if isinstance(node, ast.ImportFrom) and node.level:
        return False
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    tops = {name.partition(".")[0] for name in names}
    installed = {name.replace("_", "-").lower() for name in environment.packages}
    return all(
        is_stdlib(top)
        or top in modules
        or top == "pytest"
        or distribution_for(top).partition("<")[0].lower() in installed
        for top in tops
    )

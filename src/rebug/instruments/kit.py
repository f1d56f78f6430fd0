"""Pasting an instrument into a script, and telling whether the one in a script is still as it was."""

from __future__ import annotations

import ast
import functools
from importlib import resources


@functools.cache
def inline(name: str) -> str:
    """The code of the instrument `name` as a script carries it: its imports, then its functions, no module docstring.

    Raises FileNotFoundError for an instrument that does not exist.
    """
    text = resources.files("rebug.instruments").joinpath("scripts", f"{name}.py").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    first = ast.parse(text).body[0]
    return "".join(lines[first.end_lineno :]).strip("\n") + "\n"


@functools.cache
def _definitions(name: str) -> dict[str, str]:
    return _named(ast.parse(inline(name)))


def _named(tree: ast.Module) -> dict[str, str]:
    """Every name that a module's top level gives a meaning to, with that meaning; "" for a name given two."""
    found: dict[str, str] = {}
    for node in tree.body:
        for name in _names(node):
            found[name] = "" if name in found else ast.dump(node)
    return found


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return []
    return [leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)]


def genuine(tree: ast.Module, name: str) -> bool:
    """Whether the script carries the instrument `name` unaltered, and gives none of its names another meaning."""
    given = _named(tree)
    return all(given.get(key) == meaning for key, meaning in _definitions(name).items())

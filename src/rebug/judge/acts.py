"""What a script hands to an instrument: the function whose calls it measures. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from rebug.judge.gate import names_of_subject

_KEEPING = {"append", "add", "extend", "insert", "setdefault", "update", "put", "put_nowait", "appendleft"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def act_of(tree: ast.Module, instrument: str) -> Function | None:
    """The function that the script hands to the instrument's entry function (`leak(act)`), None when that cannot be
    told: it is passed by name, and defined once."""
    entries = {instrument, f"{instrument}_async"}
    passed = [
        node.args[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in entries
        and node.args
        and isinstance(node.args[0], ast.Name)
    ]
    functions = [node for node in ast.walk(tree) if isinstance(node, Function) and node.name in passed]
    return functions[-1] if functions else None


def calls_subject(act: Function, tree: ast.Module, modules: Sequence[str]) -> bool:
    """Whether the function uses a name that came from the subject."""
    return bool(names_of_subject(tree, modules) & _names(act))


def keeps(act: Function, tree: ast.Module, modules: Sequence[str]) -> str:
    """How the function itself keeps what it makes, in a container of the script's own; "" when it does not."""
    own = {leaf.id for leaf in ast.walk(act) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)}
    allowed = own | names_of_subject(tree, modules)
    for node in ast.walk(act):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
            holder = node.func.value
            if isinstance(holder, ast.Name) and holder.id not in allowed:
                return f"the script itself keeps things in `{holder.id}`"
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            holder = node.value
            if isinstance(holder, ast.Name) and holder.id not in allowed:
                return f"the script itself keeps things in `{holder.id}`"
    return ""


def names_told(act: Function, text: str) -> set[str]:
    """Identifiers of at least three letters that the function uses and that stand in the text as words."""
    used = {leaf.attr for leaf in ast.walk(act) if isinstance(leaf, ast.Attribute)} | _names(act)
    words = set(re.findall(r"[A-Za-z_]\w{2,60}", text))
    return {name for name in used if len(name) > 2} & words


def _names(act: Function) -> set[str]:
    return {leaf.id for leaf in ast.walk(act) if isinstance(leaf, ast.Name)}

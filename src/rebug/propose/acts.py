"""Programs taken apart into what prepares and what is done: the repeated part becomes a function. Pure.

An instrument measures a function. In a reporter's program that function is the body of the innermost loop, or the last
statement that matters; what the reporter measured with is left out, since it is measured anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy

from rebug.propose.code import bound_names, parse, used_names

_MEASURING = {
    "gc", "guppy", "memory_profiler", "memray", "objgraph", "psutil", "pympler", "resource", "time", "timeit",
    "tracemalloc",
}  # fmt: skip
_SHOWING = {"print", "pprint", "input", "_show", "_note"}

_Loop = ast.For | ast.While | ast.AsyncFor
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def with_act(script: str, instrument: str, avoid: Sequence[str] = ()) -> Iterator[str]:
    """The program with the part that it repeats as `act`, handed to `instrument`; one variant for each part that may
    be meant, the likeliest first. `avoid`: names that the instrument's code takes."""
    tree = parse(script)
    if tree is None:
        return
    tree = _renamed(without_measuring(_unguarded(tree)), {*avoid, "act"})
    loops = [_loop_as_act(deepcopy(tree), _position(tree, loop), instrument) for loop in _innermost_loops(tree)]
    usable = [made for made in loops[::-1] if made is not None]
    yield from map(_source, usable)
    if usable:
        return
    for count in _main_parts(tree):
        yield _source(_tail_as_act(deepcopy(tree), count, instrument))


def _source(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _unguarded(tree: ast.Module) -> ast.Module:
    """Without `if __name__ == "__main__":`."""
    body: list[ast.stmt] = []
    for node in tree.body:
        guarded = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        body += node.body if isinstance(node, ast.If) and guarded else [node]
    tree.body = body
    return tree


def _renamed(tree: ast.Module, taken: set[str]) -> ast.Module:
    clashes = bound_names(tree.body) & taken
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in clashes:
            node.id += "_"
        elif isinstance(node, _Function | ast.ClassDef) and node.name in clashes:
            node.name += "_"
    return tree


# ------------------------------------------------------------------------------------------------------------ measuring


def without_measuring(tree: ast.Module) -> ast.Module:
    """Without what only measures or shows: imports of measuring modules, and simple statements built on them."""
    names = set(_MEASURING)
    for _ in range(3):
        names |= {name for node in ast.walk(tree) if _measures(node, names) for name in bound_names([node])}
    _Pruner(names).visit(tree)
    return tree


def _measures(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Import):
        return all(alias.name.partition(".")[0] in _MEASURING for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in _MEASURING
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return bool(used_names(node) & names) and not isinstance(node, ast.AugAssign)
    if isinstance(node, ast.Expr):
        call = node.value
        shows = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _SHOWING
        return shows or bool(used_names(node) & names)
    return False


class _Pruner(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.stmt) and _measures(node, self._names):
            return None
        self.generic_visit(node)
        if isinstance(getattr(node, "body", None), list) and not node.body and not isinstance(node, ast.Module):  # type: ignore[attr-defined]
            if isinstance(node, ast.stmt) and not isinstance(node, _Function | ast.ClassDef):
                return None
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node


# ---------------------------------------------------------------------------------------------------------------- loops


def _innermost_loops(tree: ast.Module) -> list[_Loop]:
    loops = [node for node in ast.walk(tree) if isinstance(node, _Loop) and _repeats(node)]
    inner = [loop for loop in loops if not any(_repeats(leaf) for leaf in _inside(loop))]
    usable = [loop for loop in inner if any(isinstance(leaf, ast.Call) for leaf in _inside(loop))]
    return sorted(usable, key=lambda loop: loop.lineno)


def _inside(loop: _Loop) -> Iterator[ast.AST]:
    for part in loop.body:
        yield from ast.walk(part)


def _repeats(node: ast.AST) -> bool:
    """Whether a loop does the same again and again: over numbers, or without end."""
    if isinstance(node, ast.While):
        return True
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
        return False
    name = ast.unparse(node.iter.func).rpartition(".")[2]
    return name in {"range", "count", "repeat", "trange", "tqdm"}


def _position(tree: ast.Module, wanted: ast.AST) -> int:
    return next(number for number, node in enumerate(ast.walk(tree)) if node is wanted)


def _loop_as_act(tree: ast.Module, position: int, instrument: str) -> ast.Module | None:
    loop = next(node for number, node in enumerate(ast.walk(tree)) if number == position)
    if not isinstance(loop, _Loop) or any(isinstance(leaf, ast.Break) for leaf in _inside(loop)):
        return None
    replacer = _LoopReplacer(loop, instrument)
    changed = replacer.visit(tree)
    return changed if isinstance(changed, ast.Module) and replacer.done else None


class _LoopReplacer(ast.NodeTransformer):
    """Puts the function and its measuring in the loop's place, and takes away the loops around it."""

    def __init__(self, loop: _Loop, instrument: str) -> None:
        self.done = False
        self._loop, self._instrument = loop, instrument
        self._functions: list[_Function] = []

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        if node is self._loop:
            self.done = True
            return [*_counter(self._loop), *self._measured()]
        if isinstance(node, _Function):
            self._functions.append(node)
            self.generic_visit(node)
            self._functions.pop()
            return node
        around = _repeats(node) and any(leaf is self._loop for leaf in ast.walk(node))
        self.generic_visit(node)
        if around and isinstance(node, _Loop):
            return [*_counter(node), *node.body]
        return node

    def _measured(self) -> list[ast.stmt]:
        inside = self._functions[-1] if self._functions else None
        body = [_Continuing().visit(node) for node in self._loop.body]
        outer = sorted(
            {
                n.target.id
                for n in _own_statements(body)
                if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
            }
        )
        scope: list[ast.stmt] = []
        if outer:
            scope = [ast.Nonlocal(names=outer) if inside is not None else ast.Global(names=outer)]
        return act_and_measure([*scope, *body], self._instrument, asynchronous=isinstance(inside, ast.AsyncFunctionDef))


def _own_statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in body:
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
            yield node
            yield from _own_statements(list(ast.iter_child_nodes(node)))


class _Continuing(ast.NodeTransformer):
    def visit_Continue(self, _: ast.Continue) -> ast.Return:
        return ast.Return()


def _counter(loop: ast.AST) -> list[ast.stmt]:
    """The loop's variable, since the body may use it."""
    if not isinstance(loop, ast.For):
        return []
    names = [leaf.id for leaf in ast.walk(loop.target) if isinstance(leaf, ast.Name)]
    return [ast.parse(f"{name} = 0").body[0] for name in names if name != "_"]


def act_and_measure(body: list[ast.stmt], instrument: str, *, asynchronous: bool) -> list[ast.stmt]:
    """`def act(): body` and the call that measures it."""
    if not asynchronous:
        template = f"def act():\n    pass\n\n{instrument}(act)"
    else:
        template = f"async def act():\n    pass\n\nawait_({instrument}_async(act))"
    made = ast.parse(template).body
    function = made[0]
    assert isinstance(function, _Function)
    function.body = body
    if asynchronous:
        call = made[1].value.args[0]  # type: ignore[attr-defined]
        made[1] = ast.Expr(value=ast.Await(value=call))
    return made


# ------------------------------------------------------------------------------------------------------------ main part


def _main_parts(tree: ast.Module) -> list[int]:
    """How many statements at the end of the module may be the repeated part: the last one, the whole main part."""
    last = 0
    for node in reversed(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom | _Function | ast.ClassDef):
            break
        last += 1
    ends = bool(tree.body) and any(isinstance(leaf, ast.Call) for leaf in ast.walk(tree.body[-1]))
    return [count for count in dict.fromkeys((1 if ends else 0, last)) if count]


def _tail_as_act(tree: ast.Module, count: int, instrument: str) -> ast.Module:
    body = tree.body[-count:]
    asynchronous = any(isinstance(leaf, ast.Await) for node in body for leaf in ast.walk(node))
    tree.body[-count:] = act_and_measure(body, instrument, asynchronous=False)
    if asynchronous:
        tree.body[-2] = _as_async(tree.body[-2])
    return tree


def _as_async(node: ast.stmt) -> ast.stmt:
    assert isinstance(node, ast.FunctionDef)
    made = ast.parse("async def act():\n    pass").body[0]
    assert isinstance(made, ast.AsyncFunctionDef)
    made.body = node.body
    return made

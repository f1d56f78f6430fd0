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
    "gc", "guppy", "memory_profiler", "memray", "objgraph", "psutil", "pympler", "resource", "timeit", "tracemalloc",
}  # fmt: skip
_SHOWING = {"print", "pprint", "input", "_show", "_note"}
_FEW = 1000
"""A loop over fewer numbers than these may need them to be so small; in one over more, each stands for a new input."""

_Loop = ast.For | ast.While | ast.AsyncFor
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def with_act(script: str, instrument: str, avoid: Sequence[str] = (), *, tolerant: bool = False) -> Iterator[str]:
    """The program with the part that it repeats as `act`, handed to `instrument`; one variant for each part that may
    be meant, the likeliest first: the innermost loops from the last one on, without any the whole main part and its
    last statement. `avoid`: names that the instrument's code takes; `tolerant`: what the act raises is passed over."""
    tree = parse(script)
    if tree is None:
        return
    tree = _Waits().visit(without_measuring(_renamed(unguarded(tree), {*avoid, "act"})))
    loops = [_loop_as_act(deepcopy(tree), _position(tree, loop), instrument) for loop in _innermost_loops(tree)]
    made = [one for one in loops[::-1] if one is not None]
    made = made or [_tail_as_act(deepcopy(tree), count, instrument) for count in _main_parts(tree)]
    for text in map(_source, map(_tolerant, made) if tolerant else made):
        if parse(text) is not None:
            yield text


def _source(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _tolerant(tree: ast.Module) -> ast.Module:
    """The program with its act's exceptions suppressed."""
    for node in ast.walk(tree):
        if isinstance(node, _Function) and node.name == "act":
            around = ast.parse("with contextlib.suppress(Exception):\n    pass").body[0]
            if isinstance(around, ast.With):
                around.body, node.body = node.body, [around]
    tree.body.insert(0, ast.parse("import contextlib").body[0])
    return tree


def unguarded(tree: ast.Module) -> ast.Module:
    """Without `if __name__ == "__main__":`."""
    body: list[ast.stmt] = []
    for node in tree.body:
        guarded = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        body += node.body if isinstance(node, ast.If) and guarded else [node]
    tree.body = body
    return tree


def _renamed(tree: ast.Module, taken: set[str]) -> ast.Module:
    """The program with other names for what it binds to names that are taken. An import of the same module is none."""
    plain = {name for node in tree.body if isinstance(node, ast.Import) for name in bound_names([node])}
    clashes = (bound_names(tree.body) & taken) - plain
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in clashes:
            node.id += "_"
        elif isinstance(node, _Function | ast.ClassDef) and node.name in clashes:
            node.name += "_"
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                alias.asname = f"{alias.name}_" if not alias.asname and alias.name in clashes else alias.asname
    return tree


class _Waits(ast.NodeTransformer):
    """Shortens what only waits: a call that is repeated ten thousand times has no second for it."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        given = node.args[0] if node.args else None
        seconds = given.value if isinstance(given, ast.Constant) else None
        name = ast.unparse(node.func).rpartition(".")[2]
        if name == "sleep" and isinstance(seconds, int | float) and seconds > 0.001:
            node.args[0] = ast.Constant(value=0.001)
        return node


# ------------------------------------------------------------------------------------------------------------ measuring


def without_measuring(tree: ast.Module) -> ast.Module:
    """Without what only measures, shows or checks: imports of measuring modules, functions that give a measurement,
    and statements built on them."""
    names = set(_MEASURING)
    for _ in range(3):
        names |= {name for node in ast.walk(tree) if _measures(node, names) for name in bound_names([node])}
    _Pruner(names).visit(tree)
    return tree


def _measures(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Import():
            return all(alias.name.partition(".")[0] in _MEASURING for alias in node.names)
        case ast.ImportFrom():
            return (node.module or "").partition(".")[0] in _MEASURING
        case ast.Assign() | ast.AnnAssign():
            return bool(used_names(node) & names)
        case ast.Expr(value=value):
            shows = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _SHOWING
            return shows or bool(used_names(value) & names)
        case ast.If(test=test):
            return bool(used_names(test) & names)
        case ast.Assert():
            return True
        case ast.FunctionDef():
            returned = [leaf for leaf in ast.walk(node) if isinstance(leaf, ast.Return)]
            return any(used_names(leaf) & names for leaf in returned)
    return False


class _Pruner(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.stmt) and _measures(node, self._names):
            return None
        self.generic_visit(node)
        if isinstance(node, ast.For | ast.While | ast.With | ast.AsyncFor | ast.AsyncWith | ast.If) and not node.body:
            return None
        if isinstance(node, _Function | ast.ClassDef | ast.Try | ast.ExceptHandler) and not node.body:
            node.body = [ast.Pass()]
        return node


# ---------------------------------------------------------------------------------------------------------------- loops


def _innermost_loops(tree: ast.Module) -> list[_Loop]:
    loops = [node for node in ast.walk(tree) if isinstance(node, _Loop) and _repeats(node)]
    inner = [loop for loop in loops if not any(_repeats(leaf) and _calls(leaf) for leaf in _inside(loop))]
    return sorted((loop for loop in inner if _calls(loop)), key=lambda loop: loop.lineno)


def _calls(loop: ast.AST) -> bool:
    return any(isinstance(leaf, ast.Call) for part in getattr(loop, "body", ()) for leaf in ast.walk(part))


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
    return name in {"range", "xrange", "count", "repeat", "trange", "tqdm", "cycle"}


def _position(tree: ast.Module, wanted: ast.AST) -> int:
    return next(number for number, node in enumerate(ast.walk(tree)) if node is wanted)


def _loop_as_act(tree: ast.Module, position: int, instrument: str) -> ast.Module | None:
    loop = next(node for number, node in enumerate(ast.walk(tree)) if number == position)
    if not isinstance(loop, _Loop):
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
        self._module: ast.Module | None = None

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        if node is self._loop:
            self.done = True
            return self._measured()
        if isinstance(node, ast.Module):
            self._module = node
        if isinstance(node, _Function):
            self._functions.append(node)
            self.generic_visit(node)
            self._functions.pop()
            return node
        around = _repeats(node) and any(leaf is self._loop for leaf in ast.walk(node))
        self.generic_visit(node)
        if around and isinstance(node, _Loop):
            return [*_first_of(node), *node.body]
        return node

    def _measured(self) -> list[ast.stmt]:
        inside = self._functions[-1] if self._functions else None
        body = [made for node in self._loop.body if isinstance(made := _Leaving().visit(node), ast.stmt)]
        before, each = _numbered(self._loop)
        around = inside if inside is not None else self._module
        outer = bound_names(body) & bound_names(_without(around.body if around else [], self._loop))
        shared: list[ast.stmt] = []
        if outer:
            shared = [ast.Nonlocal(names=sorted(outer)) if inside is not None else ast.Global(names=sorted(outer))]
        asynchronous = isinstance(inside, ast.AsyncFunctionDef)
        return [*before, *act_and_measure([*shared, *each, *body], self._instrument, asynchronous=asynchronous)]


def _without(scope: Sequence[ast.stmt], loop: ast.AST) -> list[ast.AST]:
    """The statements of a scope outside a loop, those that hold the loop taken apart."""
    found: list[ast.AST] = []
    for node in scope:
        if node is loop:
            continue
        if any(leaf is loop for leaf in ast.walk(node)) and not isinstance(node, _Function | ast.ClassDef):
            found += [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]
            found += _without([part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)], loop)
        else:
            found.append(node)
    return found


class _Leaving(ast.NodeTransformer):
    """What leaves the loop's body leaves the function."""

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Continue | ast.Break):
            return ast.Return()
        if isinstance(node, _Loop | _Function | ast.ClassDef):
            return node
        self.generic_visit(node)
        return node


def _first_of(loop: ast.AST) -> list[ast.stmt]:
    """The variables of a loop that is taken away."""
    names = [leaf.id for leaf in ast.walk(loop.target) if isinstance(leaf, ast.Name)] if hasattr(loop, "target") else []
    return [ast.parse(f"{name} = 0").body[0] for name in names if name != "_"]


def _numbered(loop: _Loop) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """What makes the loop's variable count on with every call: before the function, and in it."""
    target = getattr(loop, "target", None)
    used = {leaf.id for leaf in _inside(loop) if isinstance(leaf, ast.Name)}
    if not isinstance(target, ast.Name) or target.id not in used or not isinstance(loop, ast.For):
        return _first_of(loop), []
    most = [arg.value for arg in getattr(loop.iter, "args", [])[-1:] if isinstance(arg, ast.Constant)]
    wrap = f" % {most[0]}" if most and isinstance(most[0], int) and 0 < most[0] < _FEW else ""
    before = ast.parse("import itertools\n_numbers = itertools.count()").body
    return before, ast.parse(f"{target.id} = next(_numbers){wrap}").body


def act_and_measure(body: list[ast.stmt], instrument: str, *, asynchronous: bool) -> list[ast.stmt]:
    """`def act(): body` and the call that measures it, awaited where the program is inside a coroutine."""
    if asynchronous:
        return [_function(body, asynchronous=True), _awaited(f"{instrument}_async(act)")]
    return [_function(body, asynchronous=False), ast.parse(f"{instrument}(act)").body[0]]


def _function(body: list[ast.stmt], *, asynchronous: bool) -> ast.stmt:
    made = ast.parse(f"{'async ' if asynchronous else ''}def act():\n    pass").body[0]
    if isinstance(made, _Function):
        made.body = body or [ast.Pass()]
    return made


def _awaited(text: str) -> ast.stmt:
    return ast.Expr(value=ast.Await(value=ast.parse(text, mode="eval").body))


# ------------------------------------------------------------------------------------------------------------ main part


def _main_parts(tree: ast.Module) -> list[int]:
    """How many statements at the end of the module may be the repeated part: the whole main part, the last one."""
    whole = 0
    for node in reversed(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom | _Function | ast.ClassDef):
            break
        whole += 1
    ends = bool(tree.body) and any(isinstance(leaf, ast.Call) for leaf in ast.walk(tree.body[-1]))
    return [count for count in dict.fromkeys((whole, 1 if ends and whole else 0)) if count]


def _tail_as_act(tree: ast.Module, count: int, instrument: str) -> ast.Module:
    body = tree.body[-count:]
    inner = _run_by_asyncio(body[-1])
    if inner is not None:  # one loop for all calls: what a closed loop would hide shows
        body[-1] = ast.Expr(value=ast.Await(value=inner))
    waits = any(isinstance(leaf, ast.Await | ast.AsyncWith | ast.AsyncFor) for node in body for leaf in _own([node]))
    measure = ast.parse(f"{instrument}(act)").body[0]
    tree.body[-count:] = [_function(body, asynchronous=waits), measure]
    return tree


def _run_by_asyncio(node: ast.stmt) -> ast.expr | None:
    """The coroutine of a statement `asyncio.run(coroutine)`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "asyncio.run" and len(call.args) == 1:
        return call.args[0]
    return None


def _own(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Nodes of a scope, those of functions and classes in it left out."""
    for node in body:
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
            yield node
            yield from _own(list(ast.iter_child_nodes(node)))

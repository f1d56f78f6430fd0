"""The report's own programs as functions of a size: the sizes they are written with become `n`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy

from rebug.propose.acts import unguarded, without_measuring
from rebug.propose.code import parse
from rebug.propose.growth_calls import Act
from rebug.propose.snippet import Snippet
from rebug.propose.workshop import Workshop

_LEAST = 10  # a number below that is seldom a size
_PROGRAMS = 5


def snippet_acts(workshop: Workshop) -> Iterator[Act]:
    """Acts made of the report's programs, the likeliest size first."""
    seen: set[str] = set()
    for count, candidate in enumerate(Snippet().propose(workshop.situation)):
        if count >= _PROGRAMS:
            return
        tree = parse(candidate.script)
        for act in _acts_of(tree) if tree else ():
            if act.body not in seen:
                seen.add(act.body)
                yield act


def _acts_of(tree: ast.Module) -> Iterator[Act]:
    plain = without_measuring(unguarded(deepcopy(tree)))
    for loop in [node for node in ast.walk(plain) if isinstance(node, ast.For) and _over_sizes(node)]:
        yield from _act(_with_loop_as_size(deepcopy(plain), loop), "The report's own loop over sizes grows too fast.")
    for value in _sizes(plain):
        sized = _Sized(value).visit(deepcopy(plain))
        if isinstance(sized, ast.Module):
            yield from _act(sized, f"The report's program grows too fast with its {value}.")


def _over_sizes(loop: ast.For) -> bool:
    """Whether a loop runs over rising numbers, as `for n in (1000, 2000, 4000)` does."""
    try:
        values = ast.literal_eval(loop.iter)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return False
    if not isinstance(values, list | tuple) or len(values) < 2 or not isinstance(loop.target, ast.Name):
        return False
    return all(isinstance(v, int) and not isinstance(v, bool) for v in values) and list(values) == sorted(values)


class _LoopOnce(ast.NodeTransformer):
    """Puts one pass of a loop in its place, its variable being `n`."""

    def __init__(self, text: str) -> None:
        self._text = text

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        if ast.unparse(node) != self._text:
            self.generic_visit(node)
            return node
        target = ast.Assign(targets=[node.target], value=ast.Name(id="n", ctx=ast.Load()))
        same = isinstance(node.target, ast.Name) and node.target.id == "n"
        return [*([] if same else [target]), *node.body]


def _with_loop_as_size(tree: ast.Module, loop: ast.For) -> ast.Module:
    changed = _LoopOnce(ast.unparse(loop)).visit(tree)
    return changed if isinstance(changed, ast.Module) else tree


def _sizes(tree: ast.Module) -> list[int]:
    """Numbers that may be sizes: what texts are multiplied by, what ranges run to, and what names hold; largest
    first."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call):
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.Assign):
            parts = [node.value]
        found |= {number for part in parts if (number := _number(part)) is not None and number >= _LEAST}
    return sorted(found, reverse=True)[:4]


def _number(node: ast.AST) -> int | None:
    """The whole number that an expression of constants stands for (`10**6`, `100 * 1000`), None for others."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Call(func=ast.Name(id="int"), args=[ast.Constant(value=float(value))]) if abs(value) < 1e15:
            return int(value)
        case ast.BinOp(left=left, op=ast.Pow() | ast.Mult() as operator, right=right):
            one, other = _number(left), _number(right)
            if one is None or other is None or not (0 <= other < 40 or isinstance(operator, ast.Mult)):
                return None
            result = one**other if isinstance(operator, ast.Pow) and abs(one) < 1000 else one * other
            return result if abs(result) < 10**15 else None
    return None


class _Sized(ast.NodeTransformer):
    """Puts `n` where an expression has the value."""

    def __init__(self, value: int) -> None:
        self._value = value

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and _number(node) == self._value:
            return ast.Name(id="n", ctx=ast.Load())
        self.generic_visit(node)
        return node


def _act(tree: ast.Module, claim: str) -> Iterator[Act]:
    """The act: definitions and imports stand before it, all else is its body."""
    if any(isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) for part in tree.body for node in _own(part)):
        return
    before = [node for node in tree.body if isinstance(node, _BEFORE)]
    body = [node for node in tree.body if not isinstance(node, _BEFORE)]
    uses = any(isinstance(leaf, ast.Name) and leaf.id == "n" for node in tree.body for leaf in ast.walk(node))
    if body and uses:
        inside = [node for node in before if any(_reads_size(leaf) for leaf in ast.walk(node))]
        kept = [node for node in before if node not in inside]
        text = [ast.unparse(ast.fix_missing_locations(node)) for node in (*inside, *body)]
        setup = [ast.unparse(ast.fix_missing_locations(node)) for node in kept]
        yield Act(body="\n".join(text), setup="\n".join(setup), claim=claim)


_BEFORE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _reads_size(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "n" and isinstance(node.ctx, ast.Load)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is in it, definitions not entered."""
    yield node
    if not isinstance(node, _BEFORE):
        for child in ast.iter_child_nodes(node):
            yield from _own(child)

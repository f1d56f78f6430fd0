"""The subject's own tests as pieces that nearly run: each function's source with what it uses of its module."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebug.ports import ExistingTest
from rebug.subject.scan import bound_names, parse

_LONGEST_PREAMBLE = 20_000  # characters
_LONGEST_TEST = 40_000
_MOST_LITERALS = 40
_SETUP = frozenset(
    {"setUp", "setUpClass", "asyncSetUp", "tearDown", "setup_method", "teardown_method", "setup_class", "setup"}
)
_Namespace = Mapping[str, Sequence["_Unit"]]
_ALWAYS = "*"  # what no identifier is: the statements needed whatever is used
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """A module-level statement: what it binds, what it uses, and its text."""

    order: tuple[int, int]  # conftest before the module, then by line
    binds: frozenset[str]
    uses: frozenset[str]
    text: str
    fixture: bool
    always: bool  # needed whatever is used: __future__, star imports


def collect(text: str, file: str, conftests: Sequence[str]) -> list[ExistingTest]:
    """The tests of one file, in order; `conftests` are the conftest.py sources above it, outermost first."""
    tree = parse(text)
    if tree is None:
        return []
    lines = text.splitlines()
    namespaces = [*(_namespace(_units(source, place)) for place, source in enumerate(conftests))]
    namespaces.append(_namespace(_units_of(tree, lines, len(conftests))))
    return [
        _test(function, cls, lines, namespaces, file=file)
        for function, cls in _functions(tree)
        if (function.end_lineno or 0) - function.lineno < 1000
    ]


def _functions(tree: ast.Module) -> Iterator[tuple[_Function, ast.ClassDef | None]]:
    for statement in tree.body:
        if isinstance(statement, _Function) and statement.name.startswith("test"):
            yield statement, None
        elif isinstance(statement, ast.ClassDef) and _is_test_class(statement):
            for inner in statement.body:
                if isinstance(inner, _Function) and inner.name.startswith("test"):
                    yield inner, statement


def _is_test_class(node: ast.ClassDef) -> bool:
    bases = " ".join(ast.unparse(base) for base in node.bases)
    return "Test" in node.name or "Test" in bases


def _test(
    function: _Function,
    cls: ast.ClassDef | None,
    lines: Sequence[str],
    namespaces: Sequence[_Namespace],
    *,
    file: str,
) -> ExistingTest:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    fixtures = tuple(argument.arg for argument in arguments if argument.arg not in {"self", "cls"})
    used = _uses(function) | set(fixtures)
    skeleton = _skeleton(cls, function, lines) if cls is not None else ""
    if skeleton and cls is not None:
        used |= _uses(cls, without=_test_names(cls))
    parts = [unit.text for unit in _closure(used - ({cls.name} if cls else set()), namespaces)]
    preamble = "\n".join([*parts, *([skeleton] if skeleton else [])])
    return ExistingTest(
        file=file,
        name=function.name,
        qualname=f"{cls.name}.{function.name}" if cls else function.name,
        source=_segment(function, lines)[:_LONGEST_TEST],
        preamble=preamble if len(preamble) <= _LONGEST_PREAMBLE else _imports_only(preamble),
        fixtures=fixtures,
        literals=_literals(function),
        line=function.lineno,
    )


def _namespace(units: Iterable[_Unit]) -> _Namespace:
    """Statements by the names they bind."""
    found: dict[str, list[_Unit]] = {_ALWAYS: []}
    for unit in units:
        for name in unit.binds:
            found.setdefault(name, []).append(unit)
        if unit.always:
            found[_ALWAYS].append(unit)
    return found


def _closure(used: Iterable[str], namespaces: Sequence[_Namespace]) -> list[_Unit]:
    """The statements that bind the names used, and those that they use in turn, in their order.

    A name is looked up in its own file; a fixture that is not there comes from the nearest conftest.py.
    """
    own = len(namespaces) - 1
    chosen = {unit.order: unit for unit in namespaces[own][_ALWAYS]}
    waiting = [(name, own) for name in used]
    seen: set[tuple[str, int]] = set()
    while waiting:
        name, place = waiting.pop()
        if (name, place) in seen:
            continue
        seen.add((name, place))
        units = namespaces[place].get(name, ())
        for above in range(place - 1, -1, -1):
            units = units or [unit for unit in namespaces[above].get(name, ()) if unit.fixture]
        for unit in units:
            if unit.order not in chosen:
                chosen[unit.order] = unit
                waiting.extend((inner, unit.order[0]) for inner in unit.uses)
    parts = [chosen[order] for order in sorted(chosen)]
    return [unit for place, unit in enumerate(parts) if all(unit.text != other.text for other in parts[:place])]


def _units(source: str, place: int) -> list[_Unit]:
    tree = parse(source)
    return list(_units_of(tree, source.splitlines(), place)) if tree is not None else []


def _units_of(tree: ast.Module, lines: Sequence[str], place: int) -> Iterator[_Unit]:
    for statement in tree.body:
        binds = _all_bound(statement)
        star = isinstance(statement, ast.ImportFrom) and any(alias.name == "*" for alias in statement.names)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not binds:
            continue
        if isinstance(statement, _Function) and statement.name.startswith("test"):
            continue
        if isinstance(statement, ast.ClassDef) and _is_test_class(statement) and _test_names(statement):
            continue
        yield _Unit(
            order=(place, statement.lineno),
            binds=frozenset(binds),
            uses=frozenset(_uses(statement) | _parameters(statement)),
            text=_segment(statement, lines),
            fixture=any("fixture" in ast.unparse(decorator) for decorator in _decorators(statement)),
            always=star or future or binds == {"pytestmark"},
        )


def _all_bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.If | ast.Try | ast.With):
        return {name for inner in ast.walk(statement) if isinstance(inner, ast.stmt) for name in bound_names(inner)}
    return set(bound_names(statement))


def _parameters(statement: ast.stmt) -> set[str]:
    """A fixture's own fixtures; for any other function the names bind nothing at module level and do no harm."""
    if not isinstance(statement, _Function):
        return set()
    return {argument.arg for argument in [*statement.args.args, *statement.args.kwonlyargs]}


def _uses(node: ast.AST, without: frozenset[str] = frozenset()) -> set[str]:
    names: set[str] = set()
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if isinstance(current, ast.Name):
            names.add(current.id)
        elif isinstance(current, ast.Constant) and isinstance(current.value, str) and current.value.isidentifier():
            names.add(current.value)  # usefixtures("name"), getattr, quoted annotations
        below = ast.iter_child_nodes(current)
        waiting.extend(child for child in below if not (isinstance(child, _Function) and child.name in without))
    return names


def _test_names(cls: ast.ClassDef) -> frozenset[str]:
    return frozenset(inner.name for inner in cls.body if isinstance(inner, _Function) and inner.name.startswith("test"))


def _skeleton(cls: ast.ClassDef, function: _Function, lines: Sequence[str]) -> str:
    """The test's class without its tests, where the test uses it; "" where it stands alone."""
    uses_self = any(isinstance(node, ast.Attribute) and _is_self(node.value) for node in ast.walk(function))
    kept = [inner for inner in cls.body if not (isinstance(inner, _Function) and inner.name.startswith("test"))]
    prepares = any(isinstance(inner, _Function) and (inner.name in _SETUP or inner.decorator_list) for inner in kept)
    if not uses_self and not prepares:
        return ""
    first = min([cls.lineno, *(decorator.lineno for decorator in cls.decorator_list)])
    head = "\n".join(lines[first - 1 : max(cls.lineno, _head_end(cls))])
    body = [textwrap.indent(_segment(inner, lines), "    ") for inner in kept]
    return "\n".join([head, *(body or ["    pass"])])


def _head_end(cls: ast.ClassDef) -> int:
    """The last line of the class statement itself."""
    start = min([inner.lineno for inner in cls.body] + [d.lineno for inner in cls.body for d in _decorators(inner)])
    ends = [getattr(node, "end_lineno", cls.lineno) or cls.lineno for node in [*cls.bases, *cls.keywords]]
    return min(max([cls.lineno, *ends]), max(start - 1, cls.lineno))


def _decorators(statement: ast.stmt) -> list[ast.expr]:
    return statement.decorator_list if isinstance(statement, _Function | ast.ClassDef) else []


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def _segment(node: ast.stmt, lines: Sequence[str]) -> str:
    """A statement's lines with its decorators, dedented."""
    first = min([node.lineno, *(decorator.lineno for decorator in _decorators(node))])
    return textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno or node.lineno]))


def _literals(function: _Function) -> tuple[str, ...]:
    doc = function.body[0].value if isinstance(function.body[0], ast.Expr) else None
    found = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node is not doc and node.value
    ]
    return tuple(dict.fromkeys(value[:2000] for value in found))[:_MOST_LITERALS]


def _imports_only(preamble: str) -> str:
    tree = parse(preamble)
    body = tree.body if tree is not None else []
    return "\n".join(ast.unparse(node) for node in body if isinstance(node, ast.Import | ast.ImportFrom))

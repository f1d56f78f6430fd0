"""Reading Python text that nobody promised would be Python: names, imports, statements, fingerprints.

Everything here takes untrusted text and never raises for what is in it.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rebug.ports import Index, Symbol
from rebug.propose.known import ALIASES, MEMBERS, is_stdlib

MAX_SOURCE = 200_000
"""Characters of a program that are still analysed; longer texts count as not parsing."""

_GIVEN = frozenset(dir(builtins)) | {
    "__annotations__", "__builtins__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__spec__",
    "__class__", "__qualname__", "__module__", "WindowsError",
}  # fmt: skip
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


def parse(text: str) -> ast.Module | None:
    """The syntax tree of a program, or None when it is not one (or too long or too deep to be looked at)."""
    if len(text) > MAX_SOURCE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, "<snippet>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree


def parses(text: str) -> bool:
    """Whether the text is a program with at least one statement."""
    tree = parse(text)
    return tree is not None and bool(tree.body)


# ---------------------------------------------------------------------------------------------------------------- names


def _targets(node: ast.AST) -> Iterator[str]:
    """Names that a node binds in the scope it stands in."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(rest)):
            yield rest
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case _ if node.__class__.__name__ in {"TypeVar", "ParamSpec", "TypeVarTuple"}:
            yield str(getattr(node, "name", ""))


def _within(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes of one scope in source order; nested scopes are given but not entered."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            stack.extend(list(ast.iter_child_nodes(node))[::-1])


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names bound in the scope made of these statements (comprehensions bind only walrus targets outside)."""
    found: set[str] = set()
    for node in _within(nodes):
        found.update(_targets(node))
        if isinstance(node, _COMPREHENSIONS):
            found.update(n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
    return found


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    a = node.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return {argument.arg for argument in every}


def _outer_parts(node: ast.AST) -> list[ast.AST]:
    """What of a nested scope is evaluated in the scope around it (defaults, decorators, bases)."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            a = node.args
            annotations = [x.annotation for x in [*a.posonlyargs, *a.args, *a.kwonlyargs] if x.annotation]
            outer = [*node.decorator_list, *a.defaults, *filter(None, a.kw_defaults), *annotations]
            return [*outer, node.returns] if node.returns else list(outer)
        case ast.Lambda():
            return [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        case ast.ClassDef():
            return [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
    return []


def _loads(nodes: Sequence[ast.AST], known: frozenset[str], depth: int = 0) -> Iterator[str]:
    """Names read in this scope and below that no enclosing scope binds."""
    if depth > 60:
        return
    here = known | bound_names(nodes)
    for node in _within(nodes):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name not in here:
                yield name
            case ast.AugAssign(target=ast.Name(id=name)) if name not in here:
                yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _loads(_outer_parts(node), here, depth + 1)
                body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
                params = {str(getattr(p, "name", "")) for p in getattr(node, "type_params", ())}
                yield from _loads(body, here | _arguments(node) | params, depth + 1)
            case ast.ClassDef():
                yield from _loads(_outer_parts(node), here, depth + 1)
                yield from _loads(list(node.body), here, depth + 1)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield from _loads(list(ast.iter_child_nodes(node)), here, depth + 1)


def has_star_import(tree: ast.Module) -> bool:
    return any(isinstance(n, ast.ImportFrom) and any(a.name == "*" for a in n.names) for n in ast.walk(tree))


def undefined_names(tree: ast.Module) -> list[str]:
    """Names that the program reads and nothing in it binds, in order of first use.

    A star import may bind anything, so its module is left to the run: names are still listed.
    """
    return list(dict.fromkeys(_loads(list(tree.body), _GIVEN)))


def used_names(tree: ast.AST) -> set[str]:
    """Every identifier read anywhere."""
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


# -------------------------------------------------------------------------------------------------------------- imports


def imported_modules(tree: ast.Module) -> set[str]:
    """Top-level names of all modules imported absolutely, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _head_end(script: str) -> int:
    """Number of leading lines after which an import may stand: comments, docstring, `from __future__`."""
    tree = parse(script)
    end = 0
    for position, node in enumerate(tree.body if tree else ()):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (future or (position == 0 and _is_docstring(node))):
            break
        end = node.end_lineno or end
    if end:
        return end
    for count, line in enumerate(script.splitlines()):
        if not line.startswith("#!") and not re.match(r"#.{0,20}coding[:=]", line):
            return count
    return 0


def add_imports(script: str, lines: Iterable[str]) -> str:
    """The script with import lines put at the earliest legal place; those already there are not repeated."""
    present = {line.strip() for line in script.splitlines()}
    wanted = [line for line in dict.fromkeys(lines) if line.strip() and line.strip() not in present]
    if not wanted:
        return script
    future = [line for line in wanted if line.startswith("from __future__")]
    plain = [line for line in wanted if not line.startswith("from __future__")]
    text = script.splitlines()
    end = _head_end(script)
    start = next((n for n, line in enumerate(text[:end]) if line.startswith("from __future__")), end)
    return "\n".join([*text[:start], *future, *text[start:end], *plain, *text[end:]]).rstrip("\n") + "\n"


def import_line_for_symbol(symbol: Symbol) -> str:
    """The line that makes a symbol available under its own name ("" for methods)."""
    if symbol.kind == "method" or ("." in symbol.qualname and not symbol.exported_as):
        return ""
    path = symbol.exported_as or (f"{symbol.module}.{symbol.qualname}" if symbol.qualname else symbol.module)
    module, _, name = path.rpartition(".")
    return f"from {module} import {name}" if module else f"import {name}"


def _subject_symbol(name: str, index: Index) -> Symbol | None:
    """The symbol of the subject that a bare name most likely means: the one with the shortest public path."""
    own = [s for s in index.find(name) if s.name == name and s.kind != "method" and "." not in s.qualname and s.public]
    usable = [s for s in own if not _is_test_code(s.file)]
    return min(usable, key=lambda s: ((s.exported_as or s.module).count("."), s.kind == "module"), default=None)


def _assigned_export(name: str, index: Index) -> str | None:
    """An import of a name that the subject's top module binds by assignment, which no symbol stands for."""
    sizes = Counter(symbol.module.partition(".")[0] for symbol in index.symbols)
    for module in sorted(index.modules, key=lambda m: -sizes[m]):
        files = [s.file for s in index.symbols if s.module == module and s.kind == "module"]
        for file in files[:1] or (f"{module}/__init__.py", f"{module}.py"):
            try:
                tree = parse(index.text(file))
            except (OSError, KeyError, ValueError):
                continue
            if tree is not None and name in bound_names(tree.body):
                return f"from {module} import {name}"
    return None


def _is_test_code(file: str) -> bool:
    return bool(re.search(r"(^|/)(tests?|docs?|examples?|benchmarks?)/|(^|/)(test_[^/]*|conftest|setup)\.py$", file))


def import_line_for(name: str, index: Index) -> str | None:
    """The import that most likely defines an undefined name: the subject's first, then the standard library's.

    A name that is a module of the standard library (`json`, `time`) means that module unless the subject exports the
    name at its top level.
    """
    if not _IDENTIFIER.match(name):
        return None
    if name in index.modules:
        return f"import {name}"
    symbol = _subject_symbol(name, index)
    shallow = symbol is not None and (symbol.exported_as or symbol.module).count(".") <= 1 and symbol.kind != "module"
    if symbol is not None and (shallow or not (is_stdlib(name) or name in MEMBERS or name in ALIASES)):
        return import_line_for_symbol(symbol) or None
    if name in MEMBERS and not (is_stdlib(name) and name not in {"datetime", "pprint"}):
        return f"from {MEMBERS[name]} import {name}"
    if is_stdlib(name):
        return f"import {name}"
    return _assigned_export(name, index) or ALIASES.get(name)


# ----------------------------------------------------------------------------------------------------------- statements


def statement_lines(node: ast.stmt) -> tuple[int, int]:
    """First and last line (1-based) of a statement, decorators included."""
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(d.lineno for d in decorators)]), node.end_lineno or node.lineno


def indented(text: str, by: str = "    ") -> str:
    """The program text moved to the right; the inner lines of texts that span lines stay as they are."""
    tree = parse(text)
    inner: set[int] = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
            inner.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    lines = text.splitlines()
    return "\n".join(line if n in inner or not line.strip() else by + line for n, line in enumerate(lines, 1))


def source_of(script: str, node: ast.expr | ast.stmt) -> str:
    """The text of a node, exactly as written."""
    return ast.get_source_segment(script, node) or ast.unparse(node)


def last_expression(tree: ast.Module) -> ast.expr | None:
    """The expression that a trailing expression statement evaluates, None when the program ends in anything else."""
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        return tree.body[-1].value
    return None


def is_print(node: ast.AST) -> bool:
    """Whether a node is a call of `print` or `pprint`."""
    if isinstance(node, ast.Expr):
        node = node.value
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"print", "pprint"}


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return tree


def fingerprint(script: str) -> str:
    """A digest that is equal for scripts that differ only in comments, white space and docstrings."""
    tree = parse(script)
    text = " ".join(script.split()) if tree is None else ast.dump(_without_docstrings(tree), include_attributes=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

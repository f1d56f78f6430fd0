"""Reading one Python file without importing it: its symbols, what it binds and how it can be cut into passages.

Files that do not parse (Python 2, Cython, templates) are read by their `def` and `class` lines.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rebug.ports import Parameter, Symbol

_DOC_LENGTH = 2000
_LOOSE = re.compile(
    r"^([ \t]{0,40})(?:async[ \t]{1,4})?(def|class|cdef[ \t]{1,4}class|cpdef(?:[ \t]{1,4}\w{1,60}){0,2})"
    r"[ \t]{1,4}(\w{1,120})"
    r"[ \t]{0,4}(?:\(([^()\n]{0,500})\)?)?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nested:
    """A function inside a function: no symbol of its own, but frames name it."""

    name: str
    line: int
    end_line: int
    within: str  # the qualname of the symbol around it


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What one file holds. `binds` maps a module-level name to the dotted path it stands for."""

    file: str
    module: str
    symbols: tuple[Symbol, ...]
    nested: tuple[Nested, ...] = ()
    binds: dict[str, str] = field(default_factory=dict)
    stars: tuple[str, ...] = ()  # modules star-imported
    exports: tuple[str, ...] | None = None  # __all__ where it can be read
    parsed: bool = True


def parse(text: str) -> ast.Module | None:
    """The syntax tree, None when the text does not parse in this Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are the subject's affair
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def scan(text: str, file: str, module: str) -> Scanned:
    """Read one file of import name `module`."""
    tree = parse(text)
    if tree is None:
        return _loosely(text, file, module)
    package = module if file.rpartition("/")[2].startswith("__init__.") else module.rpartition(".")[0]
    reader = _Reader(file, module)
    reader.body(tree.body, ())
    whole = _module_symbol(file, module, text.count("\n") + 1, ast.get_docstring(tree) or "")
    binds, stars = _bindings(tree, module, package)
    return Scanned(
        file=file,
        module=module,
        symbols=(whole, *reader.symbols),
        nested=tuple(reader.nested),
        binds=binds,
        stars=stars,
        exports=_exports(tree),
    )


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Module-level statements, those within `if`, `try` and `with` included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.With):
            yield from statements([*statement.body, *getattr(statement, "orelse", [])])
        elif isinstance(statement, ast.Try):
            handlers = [inner for handler in statement.handlers for inner in handler.body]
            yield from statements([*statement.body, *statement.orelse, *statement.finalbody, *handlers])


def bound_names(statement: ast.stmt) -> list[str]:
    """The names that a statement binds at its own level."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import):
        return [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return [alias.asname or alias.name for alias in statement.names]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


class _Reader:
    """Collects the symbols of one file, in order."""

    def __init__(self, file: str, module: str) -> None:
        self._file, self._module = file, module
        self.symbols: list[Symbol] = []
        self.nested: list[Nested] = []

    def body(self, body: Sequence[ast.stmt], within: tuple[str, ...]) -> None:
        for statement in statements(body):
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(statement, within)
            elif isinstance(statement, ast.ClassDef):
                self._class(statement, within)

    def _class(self, node: ast.ClassDef, within: tuple[str, ...]) -> None:
        self.symbols.append(self._symbol(node, within, "class", bases=tuple(_source(base) for base in node.bases)))
        self.body(node.body, (*within, node.name))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, within: tuple[str, ...]) -> None:
        kind = "method" if within else "function"
        self.symbols.append(self._symbol(node, within, kind, parameters=parameters(node.args)))
        qualname = ".".join((*within, node.name))
        for inner in ast.walk(node):
            if inner is not node and isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                end = inner.end_lineno or inner.lineno
                self.nested.append(Nested(name=inner.name, line=inner.lineno, end_line=end, within=qualname))

    def _symbol(
        self,
        node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
        within: tuple[str, ...],
        kind: str,
        *,
        parameters: tuple[Parameter, ...] = (),
        bases: tuple[str, ...] = (),
    ) -> Symbol:
        parts = (*within, node.name)
        return Symbol(
            name=node.name,
            qualname=".".join(parts),
            module=self._module,
            kind=kind,
            file=self._file,
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            parameters=parameters,
            doc=(ast.get_docstring(node) or "")[:_DOC_LENGTH],
            bases=bases,
            decorators=tuple(_source(decorator) for decorator in node.decorator_list),
            is_async=isinstance(node, ast.AsyncFunctionDef),
            public=is_public(self._module, parts),
        )


def is_public(module: str, parts: Sequence[str]) -> bool:
    """True when no component has a leading underscore (special methods aside)."""
    return not any(_private(part) for part in [*module.split("."), *parts])


def _private(part: str) -> bool:
    return part.startswith("_") and not (part.startswith("__") and part.endswith("__"))


def parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    """A signature as written."""
    positional = [(argument, "positional_only") for argument in arguments.posonlyargs]
    positional += [(argument, "positional_or_keyword") for argument in arguments.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    found = [
        _parameter(argument, kind, default)
        for (argument, kind), default in zip(positional, [*missing, *arguments.defaults], strict=True)
    ]
    if arguments.vararg:
        found.append(_parameter(arguments.vararg, "var_positional", None))
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [_parameter(argument, "keyword_only", default) for argument, default in pairs]
    if arguments.kwarg:
        found.append(_parameter(arguments.kwarg, "var_keyword", None))
    return tuple(found)


def _parameter(argument: ast.arg, kind: str, default: ast.expr | None) -> Parameter:
    return Parameter(
        name=argument.arg,
        kind=kind,
        annotation=_source(argument.annotation) if argument.annotation else "",
        default=_source(default) if default is not None else None,
    )


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:300]
    except RecursionError:
        return "..."


def _module_symbol(file: str, module: str, lines: int, doc: str) -> Symbol:
    return Symbol(
        name=module.rpartition(".")[2],
        qualname="",
        module=module,
        kind="module",
        file=file,
        line=1,
        end_line=max(lines, 1),
        doc=doc[:_DOC_LENGTH],
        public=is_public(module, ()),
        exported_as=module,
    )


def _bindings(tree: ast.Module, module: str, package: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Module-level names → dotted paths, and the modules imported whole by `*`."""
    binds: dict[str, str] = {}
    stars: list[str] = []
    for statement in statements(tree.body):
        if isinstance(statement, ast.ImportFrom):
            origin = _origin(statement, package)
            stars += [origin for alias in statement.names if alias.name == "*"]
            binds.update({a.asname or a.name: f"{origin}.{a.name}" for a in statement.names if a.name != "*"})
        elif isinstance(statement, ast.Import):
            binds.update({alias.asname: alias.name for alias in statement.names if alias.asname})
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name | ast.Attribute):
            value = _source(statement.value)
            root, _, rest = value.partition(".")
            target = binds.get(root, f"{module}.{root}") + (f".{rest}" if rest else "")
            binds.update({name.id: target for name in statement.targets if isinstance(name, ast.Name)})
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            binds[statement.name] = f"{module}.{statement.name}"
    return binds, tuple(stars)


def _origin(statement: ast.ImportFrom, package: str) -> str:
    if not statement.level:
        return statement.module or ""
    above = package.split(".") if package else []
    base = above[: len(above) - statement.level + 1] if statement.level > 1 else above
    return ".".join([*base, *([statement.module] if statement.module else [])])


def _exports(tree: ast.Module) -> tuple[str, ...] | None:
    """`__all__` where it is built from literal lists, None otherwise."""
    names: list[str] | None = None
    for statement in statements(tree.body):
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign) or statement.value is None:
            continue
        if "__all__" not in bound_names(statement):
            continue
        literals = [
            n.value for n in ast.walk(statement.value) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        ]
        names = [*(names or []), *literals] if isinstance(statement, ast.AugAssign) else literals
    return tuple(names) if names else None


def _loosely(text: str, file: str, module: str) -> Scanned:
    lines = text.count("\n") + 1
    found = list(_LOOSE.finditer(text))
    symbols = [_module_symbol(file, module, lines, "")]
    around: list[tuple[int, str, bool]] = []  # indentation, name, is a class
    line, read = 1, 0
    for match in found:
        line += text.count("\n", read, match.start())
        read = match.start()
        indent, is_class = len(match.group(1).expandtabs()), "class" in match.group(2)
        around = [entry for entry in around if entry[0] < indent]
        if all(entry[2] for entry in around):
            parts = (*(entry[1] for entry in around), match.group(3))
            symbols.append(_loose_symbol(match, parts, file=file, module=module, line=line))
        around.append((indent, match.group(3), is_class))
    return Scanned(
        file=file,
        module=module,
        symbols=tuple(_with_ends(symbols, lines)),
        binds={symbol.name: f"{module}.{symbol.name}" for symbol in symbols[1:] if "." not in symbol.qualname},
        parsed=False,
    )


def _loose_symbol(match: re.Match[str], parts: tuple[str, ...], *, file: str, module: str, line: int) -> Symbol:
    is_class = "class" in match.group(2)
    inside = [piece.strip() for piece in (match.group(4) or "").split(",") if piece.strip()]
    names = [re.match(r"\*{0,2}(?:\w{1,60} )?(\w{1,60})", piece) for piece in inside]
    return Symbol(
        name=parts[-1],
        qualname=".".join(parts),
        module=module,
        kind="class" if is_class else "method" if len(parts) > 1 else "function",
        file=file,
        line=line,
        end_line=line,
        parameters=() if is_class else tuple(Parameter(name=name.group(1)) for name in names if name),
        bases=tuple(inside) if is_class else (),
        public=is_public(module, parts),
    )


def _with_ends(symbols: list[Symbol], lines: int) -> Iterator[Symbol]:
    """A symbol read loosely ends where the next one that is not inside it begins."""
    yield symbols[0]
    for place, symbol in enumerate(symbols[1:], 1):
        inside = f"{symbol.qualname}."
        after = (other.line - 1 for other in symbols[place + 1 : place + 200] if not other.qualname.startswith(inside))
        yield replace(symbol, end_line=max(symbol.line, next(after, lines)))

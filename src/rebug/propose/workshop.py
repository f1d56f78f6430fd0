"""Puts a program together around a few lines: imports, instances and values for every name the lines leave open."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rebug.model import BlockKind
from rebug.ports import Parameter, Situation, Symbol
from rebug.propose.code import add_imports, bound_names, import_line_for, import_line_for_symbol, parse, undefined_names
from rebug.propose.known import is_stdlib
from rebug.propose.literals import Literals, literals
from rebug.propose.synthesis import FOLDER, Made, merged, named, required, values

_OPEN_NAMES = 16  # names that are filled in before a program is given up
_CALL_TEXT = 400  # characters of an example call
_CODE = (BlockKind.PYTHON, BlockKind.REPL, BlockKind.SHELL, BlockKind.OTHER)


@dataclass(slots=True)
class Workshop:
    """What a proposer needs to know of one situation, read once and kept for the time of one `propose`."""

    situation: Situation
    known: Literals = field(init=False)
    _examples: dict[str, list[str]] = field(default_factory=dict)
    _classes: dict[str, list[Symbol]] | None = None
    _bound: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = literals(self.situation.report, self.situation.symptom)

    # -------------------------------------------------------------------------------------------------------- programs

    def program(
        self, lines: Sequence[str], given: Sequence[Made] = (), objects: dict[str, Symbol] | None = None
    ) -> str:
        """A program that ends in the lines, "" when it cannot be completed.

        `given` are values the lines already use; `objects` says of which class a name is an instance.
        """
        start = merged(given)
        body, imports = [*start.setup, *lines], list(start.imports)
        for _ in range(_OPEN_NAMES):
            tree = parse("\n".join(body))
            if tree is None:
                return ""
            bound = {line.split()[-1] for line in imports}
            names = [name for name in undefined_names(tree) if name not in bound and f"import {name}" not in imports]
            if not names:
                return add_imports(_awaited(body, tree), imports)
            made = self.fill(names[0], tree, objects or {})
            if made is None:
                return ""
            imports += [line for line in made.imports if line not in imports]
            shared = [line for line in FOLDER if line in made.setup]
            body = [*made.setup, *(line for line in body if line not in shared)]
        return ""

    def fill(self, name: str, tree: ast.Module, objects: dict[str, Symbol]) -> Made | None:
        """What defines an open name: an import, an instance, an assignment seen elsewhere, or a made-up value."""
        if exported := self.exported(name):
            return Made(expression=name, imports=(exported,))
        if name in objects and (made := next(self.instances(objects[name]), None)):
            return named(made, name)
        if assigned := self.assignment(name):
            return Made(expression="", setup=(assigned,))
        line = import_line_for(name, self.situation.index)
        if line and not (is_stdlib(name) and not _has_attribute(tree, name)):
            return Made(expression=name, imports=(line,))
        if name[:1].isupper() and not name.isupper():
            return None  # somebody's class: nothing can be made up for it
        if by_use := _by_use(name, tree):
            return named(by_use, name)
        return named(values(Parameter(name=name), self.known)[0], name)

    def exported(self, name: str) -> str:
        """The import of a name that a top-level package of the subject binds (also variables); "" when none does."""
        index = self.situation.index
        if name in index.modules:
            return f"import {name}"
        return next((f"from {module} import {name}" for module in index.modules if name in self.bound(module)), "")

    def bound(self, module: str) -> set[str]:
        """The names that a top-level module of the subject binds or lists in `__all__`."""
        if module not in self._bound:
            index = self.situation.index
            package = next((s for s in index.find(module) if s.kind == "module" and s.module == module), None)
            tree = parse(index.text(package.file)) if package else None
            listed = _listed(tree) if tree else set()
            self._bound[module] = (bound_names(tree.body) if tree else set()) | listed
        return self._bound[module]

    def assignment(self, name: str) -> str:
        """`name = …` as seen in the report's code, the subject's tests or docstrings, its right side made of names
        that can be resolved; "" when there is none."""
        pattern = re.compile(rf"^\s*(?:>>>\s*)?({re.escape(name)}\s*=\s*[^=\n][^\n]{{0,300}})$", re.MULTILINE)
        for text in self._texts(name):
            for found in pattern.finditer(text):
                tree = parse(found[1])
                if tree is not None and len(tree.body) == 1 and self._usable(tree, name):
                    return found[1].strip()
        return ""

    def _texts(self, name: str) -> Iterator[str]:
        yield from (b.text for b in self.situation.report.blocks if b.kind in _CODE and name in b.text)
        seen = 0
        for test in self.situation.index.nearest_tests(self.query(), 40):
            if f"{name} =" in test.source or f"{name}=" in test.source:
                seen += 1
                yield test.source
            if seen > 12:
                return

    def _usable(self, tree: ast.Module, name: str) -> bool:
        """Whether the names in an assignment can be had: the subject takes part and nothing is a test's own."""
        value = tree.body[0].value if isinstance(tree.body[0], ast.Assign) else None
        if value is None or name in {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}:
            return False
        for inner in undefined_names(ast.Module(body=[ast.Expr(value=value)], type_ignores=[])):
            if not (self.exported(inner) or import_line_for(inner, self.situation.index)):
                return False
        return any(isinstance(n, ast.Call) for n in ast.walk(value))

    def query(self) -> str:
        """Words for retrieval: functions of the stack, suspects, the title and the message."""
        symptom = self.situation.symptom
        failure = symptom.failure
        functions = [f.function for f in failure.frames] if failure else []
        message = failure.message[:300] if failure else ""
        return " ".join(
            [*symptom.suspects, *functions, *self.known.names[:20], self.situation.report.title[:300], message]
        )

    # ------------------------------------------------------------------------------------------------ calls, instances

    def instances(self, symbol: Symbol) -> Iterator[Made]:
        """Ways to make an instance of a class: as tests and docstrings make one, then by its constructor."""
        line = import_line_for_symbol(symbol)
        imports = (line,) if line else ()
        for example in self.examples(symbol.name)[:2]:
            yield Made(expression=example, imports=imports)
        for arguments in self.arguments(self.constructor(symbol)):
            made = merged(arguments[1])
            yield Made(expression=f"{symbol.name}({arguments[0]})", setup=made.setup, imports=(*made.imports, *imports))

    def constructor(self, symbol: Symbol) -> Sequence[Parameter]:
        """The parameters of a class: its own, else those of the nearest base that has an `__init__`."""
        seen: set[str] = set()
        waiting = [symbol]
        while waiting and len(seen) < 12:
            current = waiting.pop(0)
            if current.qualname in seen:
                continue
            seen.add(current.qualname)
            init = self.method(current, "__init__") or self.method(current, "__new__")
            if init is not None:
                return init.parameters
            if current.parameters:
                return current.parameters
            waiting += [s for base in current.bases for s in self.classes().get(base.rpartition(".")[2], [])[:1]]
        return ()

    def abstract(self, symbol: Symbol) -> bool:
        """Whether a class itself declares abstract methods."""
        members = self.situation.index.symbols
        inside = f"{symbol.qualname}."
        return any(
            s.module == symbol.module and s.qualname.startswith(inside) and any("abstract" in d for d in s.decorators)
            for s in members
        )

    def method(self, symbol: Symbol, name: str) -> Symbol | None:
        wanted = f"{symbol.qualname}.{name}"
        return next((s for s in self.situation.index.find(wanted) if s.module == symbol.module), None)

    def classes(self) -> dict[str, list[Symbol]]:
        """Every class of the subject by its name."""
        if self._classes is None:
            self._classes = {}
            for symbol in self.situation.index.symbols:
                if symbol.kind == "class":
                    self._classes.setdefault(symbol.name, []).append(symbol)
        return self._classes

    def arguments(self, parameters: Sequence[Parameter]) -> Iterator[tuple[str, list[Made]]]:
        """Argument lists, likely ones first: the required ones with their first values, then one varied at a time."""
        needed = required(parameters)
        choices = [list(self.choices(p)) for p in needed]
        first = [options[0] for options in choices]
        yield _written(needed, first), first
        for position, options in enumerate(choices):
            for other in options[1:4]:
                varied = [*first[:position], other, *first[position + 1 :]]
                yield _written(needed, varied), varied

    def choices(self, parameter: Parameter) -> Iterator[Made]:
        """Values for a parameter; an instance first where the annotation names a class of the subject."""
        own = re.findall(r"[A-Za-z_]\w*", parameter.annotation)[:6]
        for name in own:
            for symbol in self.classes().get(name, [])[:1]:
                simple = not required(self.constructor(symbol)) and not self.abstract(symbol)
                line = import_line_for_symbol(symbol)
                if simple and line:
                    yield Made(expression=f"{name}()", imports=(line,))
        yield from values(parameter, self.known)

    def examples(self, name: str) -> list[str]:
        """Calls `name(…)` in docstrings and tests whose arguments are literals, the shortest of each source first."""
        if name not in self._examples:
            found: list[str] = []
            index = self.situation.index
            texts = [symbol.doc for symbol in index.find(name) if symbol.doc]
            texts += [t.source for t in index.nearest_tests(f"{name} {self.query()}", 30) if f"{name}(" in t.source]
            for text in texts[:24]:
                found += _literal_calls(text, name)
            self._examples[name] = list(dict.fromkeys(found))[:12]
        return self._examples[name]


def _written(parameters: Sequence[Parameter], made: Sequence[Made]) -> str:
    """An argument list; keyword-only parameters by name."""
    pairs = zip(parameters, made, strict=True)
    return ", ".join(f"{p.name}={m.expression}" if p.kind == "keyword_only" else m.expression for p, m in pairs)


def _literal_calls(text: str, name: str) -> list[str]:
    """Calls of a name in a text that is mostly Python, whose arguments are literals."""
    found = []
    for start in re.finditer(rf"(?<![\w.]){re.escape(name)}\(", text[:50_000]):
        call = _balanced(text, start.start())
        tree = parse(call) if call else None
        if tree is None or not isinstance(tree.body[0], ast.Expr) or not isinstance(tree.body[0].value, ast.Call):
            continue
        value = tree.body[0].value
        if all(_literal(a) for a in value.args) and all(k.arg and _literal(k.value) for k in value.keywords):
            found.append(call)
    return found


def _literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    return True


def _balanced(text: str, start: int) -> str:
    """The call that begins at `start`, "" when it is longer than an example should be."""
    depth, quote = 0, ""
    for position in range(start, min(len(text), start + _CALL_TEXT)):
        char = text[position]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return text[start : position + 1]
    return ""


_METHODS: tuple[tuple[frozenset[str], Made], ...] = (
    (frozenset({"write", "writelines", "getvalue"}), Made(expression="io.StringIO()", imports=("import io",))),
    (frozenset({"append", "extend", "insert"}), Made(expression="[]")),
    (frozenset({"update", "setdefault"}), Made(expression="{}")),
    (
        frozenset({"result", "set_result"}),
        Made(expression="concurrent.futures.Future()", imports=("import concurrent.futures",)),
    ),
)


def _by_use(name: str, tree: ast.Module) -> Made | None:
    """A value with the methods that are called on a name, or one that can be called."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if any(isinstance(f, ast.Name) and f.id == name for f in calls):
        return Made(expression="lambda *args, **kwargs: args[0] if args else None")
    used = {
        f.attr for f in calls if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == name
    }
    return next((made for methods, made in _METHODS if used & methods), None)


def _listed(tree: ast.Module) -> set[str]:
    """The texts in an assignment to `__all__`."""
    nodes = [n for n in tree.body if isinstance(n, ast.Assign) and any(ast.unparse(t) == "__all__" for t in n.targets)]
    found = [inner.value for node in nodes for inner in ast.walk(node.value) if isinstance(inner, ast.Constant)]
    return {value for value in found if isinstance(value, str)}


def _has_attribute(tree: ast.Module, name: str) -> bool:
    """Whether a name is used as a module is: with an attribute."""
    return any(
        isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name for n in ast.walk(tree)
    )


def _awaited(body: Sequence[str], tree: ast.Module) -> str:
    """The program's text; put into a coroutine and run when it awaits at its top level."""
    waits = any(isinstance(node, (ast.AsyncWith, ast.AsyncFor)) for node in tree.body) or any(
        isinstance(node, ast.Await)
        for statement in tree.body
        if not isinstance(statement, (ast.AsyncFunctionDef, ast.FunctionDef, ast.ClassDef))
        for node in ast.walk(statement)
    )
    text = "\n".join(body)
    if not waits:
        return text + "\n"
    inner = "\n".join(f"    {line}" if line.strip() else line for line in text.splitlines())
    return f"import asyncio\n\n\nasync def main():\n{inner}\n\n\nasyncio.run(main())\n"

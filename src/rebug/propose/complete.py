"""What a program from a report lacks to run by itself: imports, definitions, files, and somebody to call it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rebug.model import Block, Environment
from rebug.ports import Index, Symbol
from rebug.propose.code import (
    add_imports,
    bound_names,
    import_line_for,
    import_line_for_symbol,
    imported_modules,
    indented,
    parse,
    statement_lines,
    undefined_names,
)
from rebug.propose.known import THIRD_PARTY, distribution_for, is_stdlib
from rebug.propose.tests_called import calls_for_tests

_LOCAL = re.compile(
    r"(?:my|your|our|some|foo|bar|example|test|demo|sample|repro|script|main|app|apps|config|settings|models?|utils?|"
    r"helpers?|common|module|project|conftest|lib|core|service|tasks|views|schemas?)(?:_\w*|[a-z]{0,8}\d*)?\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A program that may run by itself, and what had to be added."""

    script: str
    requirements: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()  # names whose definition had to be made up


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a program of a report can draw on."""

    index: Index
    environment: Environment
    blocks: Sequence[Block] = ()


def complete(program: str, around: Surroundings) -> Completed:
    """The program with imports, definitions, calls and an event loop added where they are missing."""
    script = _without_foreign_imports(program, around)
    script, guessed = define_missing(script, around)
    script = calls_for_tests(script)
    script = call_entry_point(script)
    script = wrap_awaits(script)
    return Completed(script=script, requirements=requirements_of(script, around), undefined=guessed)


# -------------------------------------------------------------------------------------------------------------- imports


def requirements_of(script: str, around: Surroundings) -> tuple[str, ...]:
    """Distributions beside the subject and what is installed that the script imports."""
    tree = parse(script)
    if tree is None:
        return ()
    own = {*around.index.modules, *around.environment.modules}
    found: dict[str, None] = {}
    for module in sorted(imported_modules(tree)):
        name = "" if module in own or is_stdlib(module) else distribution_for(module)
        normal = re.sub(r"[-_.]+", "-", name).lower()
        if name and normal not in around.environment.packages and normal != around.environment.package:
            found[name] = None
    return tuple(found)


def _is_foreign(module: str, around: Surroundings) -> bool:
    """Whether an import names a module of the reporter's own project."""
    top = module.partition(".")[0]
    own = {*around.index.modules, *around.environment.modules}
    return top not in own and not is_stdlib(top) and bool(_LOCAL.match(top)) and top not in around.environment.packages


def _without_foreign_imports(program: str, around: Surroundings) -> str:
    """The program without imports of the reporter's own modules and relative imports."""
    tree = parse(program)
    if tree is None:
        return program
    lines = program.splitlines()
    for node in tree.body:
        relative = isinstance(node, ast.ImportFrom) and (node.level or _is_foreign(node.module or "", around))
        plain = isinstance(node, ast.Import) and all(_is_foreign(alias.name, around) for alias in node.names)
        if (relative or plain) and not _is_given(node, around.blocks):
            first, last = statement_lines(node)
            lines[first - 1 : last] = [""] * (last - first + 1)
    text = "\n".join(lines).strip("\n") + "\n"
    return text if parse(text) is not None and text.strip() else program


def _is_given(node: ast.stmt, blocks: Sequence[Block]) -> bool:
    names = {node.module or ""} if isinstance(node, ast.ImportFrom) else set()
    if isinstance(node, ast.Import):
        names = {alias.name for alias in node.names}
    return bool(names & modules_given(blocks))


def modules_given(blocks: Sequence[Block]) -> set[str]:
    """Module names for which a block of the report is the file."""
    return {b.filename.rpartition("/")[2][:-3] for b in blocks if b.filename.endswith(".py")}


# ---------------------------------------------------------------------------------------------------------- definitions


def define_missing(script: str, around: Surroundings) -> tuple[str, tuple[str, ...]]:
    """The script with an import or a plausible definition for every undefined name; the names that were made up."""
    tree = parse(script)
    if tree is None:
        return script, ()
    imports: list[str] = []
    definitions: list[str] = []
    guessed: list[str] = []
    for name in undefined_names(tree)[:30]:
        line = _guided_import(name, tree, around.index) or _namesake(name, tree, around.index)
        line = line or import_line_for(name, around.index)
        line = line or installed_import(name, around.environment)
        if line:
            imports.append(line)
            continue
        definition = plausible(name, tree, around.index)
        if definition:
            guessed.append(name)
            definitions.append(definition)
            helper = parse(definition)
            for used in undefined_names(helper) if helper else ():
                extra = import_line_for(used, around.index)
                imports.extend([extra] if extra else [])
    return _put_definitions(add_imports(script, imports), definitions), tuple(guessed)


def _guided_import(name: str, tree: ast.Module, index: Index) -> str | None:
    """An import from a module that the program imports other names from already."""
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module and not n.level}
    for symbol in index.find(name):
        if symbol.name == name and symbol.kind != "method" and symbol.module in modules and symbol.qualname == name:
            return f"from {symbol.module} import {name}"
    return None


def _namesake(name: str, tree: ast.Module, index: Index) -> str | None:
    """An import of the function or class that has the name of its module, when the name is called."""
    if name not in index.modules or "called" not in _uses(name, tree):
        return None
    own = [s for s in index.find(name) if s.qualname == name and s.module.partition(".")[0] == name]
    return f"from {name} import {name}" if own else None


def installed_import(name: str, environment: Environment) -> str:
    """An import of a name from something that is installed beside the subject, "" when none is known."""
    if name.lower().replace("_", "-") in environment.packages and name.islower():
        return f"import {name}"
    module = THIRD_PARTY.get(name, "")
    return f"from {module} import {name}" if module else ""


def _put_definitions(script: str, definitions: Sequence[str]) -> str:
    """The script with definitions put below its leading imports."""
    tree = parse(script)
    if not definitions or tree is None:
        return script
    at = 0
    for position, node in enumerate(tree.body):
        docstring = position == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (isinstance(node, ast.Import | ast.ImportFrom) or docstring):
            break
        at = node.end_lineno or at
    lines = script.splitlines()
    return "\n".join([*lines[:at], *definitions, *lines[at:]]) + "\n"


def plausible(name: str, tree: ast.Module, index: Index) -> str:
    """A definition for a name that nothing defines, judged by its use and its spelling; "" when it must stay open."""
    if name in {"self", "cls"}:
        return f"{name} = __import__('types').SimpleNamespace()"
    uses = _uses(name, tree)
    if "base" in uses:
        return f"class {name}:\n    pass\n"
    instance = _instance_of_subject(name, index)
    if instance:
        return f"{name} = {instance}"
    if "decorator" in uses:
        return f"def {name}(function):\n    return function\n"
    if "called" in uses:
        if name[:1].isupper():
            return f"class {name}:\n    def __init__(self, *args, **values):\n        self.__dict__.update(values)\n"
        return f"def {name}(*args, **values):\n    return args[0] if args else None\n"
    by_type = _argument_type(name, tree, index)
    return f"{name} = {by_type or _by_spelling(name, uses)}"


def _uses(name: str, tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(bases=bases) if any(isinstance(b, ast.Name) and b.id == name for b in bases):
                found.add("base")
            case ast.Call(func=ast.Name(id=called)) if called == name:
                found.add("called")
            case ast.For(iter=ast.Name(id=looped)) | ast.comprehension(iter=ast.Name(id=looped)) if looped == name:
                found.add("iterated")
            case ast.Attribute(value=ast.Name(id=owner)) if owner == name:
                found.add("attribute")
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str())) if owner == name:
                found.add("mapping")
        decorators = getattr(node, "decorator_list", ())
        if any(isinstance(d, ast.Name) and d.id == name for d in decorators):
            found.add("decorator")
    return found


def _instance_of_subject(name: str, index: Index) -> str:
    """An instance of the subject's class whose name is the variable's, when it can be made without arguments."""
    wanted = name.replace("_", "").lower()
    for symbol in index.symbols:
        named = symbol.kind == "class" and symbol.public and symbol.name.lower() == wanted
        if named and _no_arguments(symbol, index) and import_line_for_symbol(symbol):
            return f"{symbol.name}()"
    return ""


def _no_arguments(symbol: Symbol, index: Index) -> bool:
    initialiser = next(
        (s for s in index.find(f"{symbol.qualname}.__init__") if s.module == symbol.module and s.kind == "method"), None
    )
    parameters = initialiser.parameters if initialiser else symbol.parameters
    required = [p for p in parameters if p.default is None and p.name not in {"self", "cls"} and "var_" not in p.kind]
    return not required


_BY_TYPE = {"str": "'text'", "bytes": "b'data'", "int": "1", "float": "1.5", "bool": "True", "dict": "{}", "list": "[]"}


def _argument_type(name: str, tree: ast.Module, index: Index) -> str:
    """A value of the type that the subject's function, to which the name is passed, is annotated with."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        places = [n for n, a in enumerate(node.args) if isinstance(a, ast.Name) and a.id == name]
        keywords = {k.arg for k in node.keywords if isinstance(k.value, ast.Name) and k.value.id == name}
        if not (places or keywords) or not called:
            continue
        for symbol in list(index.find(called))[:3]:
            parameters = [p for p in symbol.parameters if p.name not in {"self", "cls"}]
            for position, parameter in enumerate(parameters):
                if position in places or parameter.name in keywords:
                    value = _BY_TYPE.get(re.split(r"[\[ |]", parameter.annotation.strip())[0].lower())
                    if value:
                        return value
    return ""


def _by_spelling(name: str, uses: Iterable[str]) -> str:
    low = name.lower()
    if "mapping" in uses:
        return "{}"
    for words, value in (
        (("path", "file", "filename", "fname", "dest", "src"), "'example.txt'"),
        (("url", "uri", "endpoint"), "'http://127.0.0.1/'"),
        (("host",), "'127.0.0.1'"),
        (("port", "count", "size", "num", "number", "index", "limit", "timeout", "width", "n", "i", "k", "id"), "1"),
        (("data", "payload", "body", "content", "buf", "raw"), "b'data'"),
        (("items", "rows", "values", "lines", "names", "list"), "['a', 'b', 'c']"),
    ):
        if any(low == word or low.endswith("_" + word) for word in words):
            return value
    return "['a', 'b', 'c']" if "iterated" in uses else f"'{low}'"


# ---------------------------------------------------------------------------------------------------------------- calls


def call_entry_point(script: str) -> str:
    """A script that only defines things gets its `main` (or its last function without arguments) called."""
    tree = parse(script)
    if tree is None or not tree.body or not all(_only_defines(node) for node in tree.body):
        return script
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    callable_ones = [f for f in functions if not _required(f) and not f.decorator_list]
    named = [f for f in callable_ones if f.name in {"main", "run", "repro", "reproduce", "demo", "test", "_main"}]
    chosen = (named or callable_ones)[-1:]
    if not chosen:
        return script
    call = f"{chosen[0].name}()"
    if isinstance(chosen[0], ast.AsyncFunctionDef):
        return add_imports(f"{script.rstrip()}\n\n\nasyncio.run({call})\n", ["import asyncio"])
    return f"{script.rstrip()}\n\n\n{call}\n"


def _required(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    a = function.args
    return len(a.posonlyargs) + len(a.args) - len(a.defaults) + sum(default is None for default in a.kw_defaults)


def _only_defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not any(isinstance(n, ast.Await) for n in ast.walk(node))
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
    return constant or definition


_ASYNC = ast.Await | ast.AsyncFor | ast.AsyncWith


def wrap_awaits(script: str) -> str:
    """A program with `await` at its top level, put into a coroutine that asyncio runs."""
    tree = parse(script)
    if tree is None or not any(_awaits(node) for node in tree.body):
        return script
    first = next(n for n, node in enumerate(tree.body) if _awaits(node))
    head_end = statement_lines(tree.body[first])[0] - 1
    lines, rest = script.splitlines(), "\n".join(script.splitlines()[head_end:])
    shared = sorted(bound_names(tree.body[:first]) & bound_names(tree.body[first:]) - _imported(tree.body))
    body = [f"    global {', '.join(shared)}"] if shared else []
    body += indented(rest).splitlines()
    text = "\n".join([*lines[:head_end], "", "", "async def _program():", *body, "", "", "asyncio.run(_program())"])
    wrapped = add_imports(text + "\n", ["import asyncio"])
    return wrapped if parse(wrapped) is not None else script


def _imported(body: Sequence[ast.stmt]) -> set[str]:
    return bound_names([n for n in body if isinstance(n, ast.Import | ast.ImportFrom)])


def _awaits(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    return isinstance(node, _ASYNC) or any(_awaits(child) for child in ast.iter_child_nodes(node))

"""Existing uses of the subject as plain programs to build on: tests taken apart, examples, the reporter's line.

Unlike in `neighbour_tests` what a test asserts is of no interest here, only what it does.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rebug.model import Failure
from rebug.ports import ExistingTest, Symbol
from rebug.propose.code import add_imports, parse, undefined_names, used_names
from rebug.propose.entry_points import owner_class
from rebug.propose.frames import chain, entries, free_of_self, is_stdlib, places, statement, subject_places
from rebug.propose.prune import pruned, without_unknown_imports
from rebug.propose.tests_called import FIXTURES
from rebug.propose.transcript import entries as session_entries
from rebug.propose.transcript import is_session
from rebug.propose.workshop import Workshop

_EXAMPLES = 6
_THROUGH = 6
_FENCE = re.compile(r"^(```|~~~)\w{0,20}[ \t]*\n(.{1,4000}?)\n\1[ \t]*$", re.DOTALL | re.MULTILINE)
_CHECKS = re.compile(r"^(self\.)?(assert|fail)(?!Raises|_raises)\w*$")


# --------------------------------------------------------------------------------------------------------------- tests


def inlined(test: ExistingTest, workshop: Workshop) -> str:
    """A test as plain statements, what it asserts evaluated but not required; "" when it cannot be taken apart.

    Fixtures that need no test runner and the first set of parameters are assigned; `self` becomes a plain namespace
    that `setUp` fills; a block that expects an exception may end in it.
    """
    tree = parse(test.source)
    function = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(function, ast.FunctionDef) or any(
        isinstance(n, (ast.Return, ast.Yield)) for n in ast.walk(function)
    ):
        return ""
    given = _given(function)
    if given is None:
        return ""
    preamble, setup = _without_class(test)
    body = _Eased().visit(ast.Module(body=[*setup, *function.body], type_ignores=[]))
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in _on_own_state(body.body))
    if re.search(r"\bself\b", text):
        given = [("self = types.SimpleNamespace()", ("import types",)), *given]
    lines = [line for line, _ in given]
    script = without_idle_pytest("\n".join([preamble.rstrip(), *lines, text]) + "\n")
    script = add_imports(script, [line for _, imports in given for line in imports])
    situation = workshop.situation
    script = pruned(without_unknown_imports(script, situation.environment, situation.index.modules))
    tree = parse(script)
    if tree is None or "pytest" in used_names(tree):
        return ""
    return workshop.program(script.splitlines()) if undefined_names(tree) else script


def _on_own_state(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements without those that use an attribute of `self` before any of them sets it: helpers of the class."""
    kept: list[ast.stmt] = []
    given: set[str] = set()
    for node in body:
        own = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "self"]
        stored = {n.attr for n in own if isinstance(n.ctx, ast.Store)}
        if all(n.attr in given | stored for n in own):
            kept.append(node)
            given |= stored
    return kept


def _given(function: ast.FunctionDef) -> list[tuple[str, Sequence[str]]] | None:
    """(assignment, imports) for each parameter of a test, None when one cannot be given."""
    lines: list[tuple[str, Sequence[str]]] = []
    for decorator in function.decorator_list:
        first = _first_set(decorator)
        if first:
            lines.append((first, ()))
    assigned = " ".join(line.partition(" = ")[0] for line, _ in lines)
    for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]:
        name = argument.arg
        if name == "self" or re.search(rf"\b{re.escape(name)}\b", assigned):
            continue
        expression, imports = FIXTURES.get(name, ("", ()))
        if not expression or expression.startswith("_"):
            return None
        lines.append((f"{name} = {expression}", imports))
    return lines


def _first_set(decorator: ast.expr) -> str:
    """The assignment of the first parameter set of a `parametrize` decorator; "" for other decorators."""
    match decorator:
        case ast.Call(
            func=ast.Attribute(attr="parametrize"),
            args=[names, ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]), *_],
        ):
            if isinstance(names, ast.Constant) and isinstance(names.value, str):
                many = "," in names.value
                target = f"({names.value})" if many else names.value
                return f"{target} = {ast.unparse(first)}"
    return ""


def _without_class(test: ExistingTest) -> tuple[str, list[ast.stmt]]:
    """The preamble without the skeleton of the test's class, and what the class sets up for a test, as statements."""
    if "." not in test.qualname:
        return test.preamble, []
    cls = test.qualname.partition(".")[0]
    head, found, skeleton = test.preamble.rpartition(f"\nclass {cls}")
    if not found:
        head, skeleton = ("", test.preamble) if test.preamble.startswith(f"class {cls}") else (test.preamble, "")
    tree = parse(f"class {cls}{skeleton}" if found else skeleton)
    methods = [n for node in (tree.body if tree else ()) if isinstance(node, ast.ClassDef) for n in node.body]
    shared = [m for m in methods if isinstance(m, ast.Assign) and isinstance(m.targets[0], ast.Name)]
    setups = [m for m in methods if isinstance(m, ast.FunctionDef) and m.name in {"setUp", "setup_method", "setup"}]
    used = set(re.findall(r"\bself\.(\w+)", test.source))
    shared = [m for m in shared if ast.unparse(m.targets[0]) in used]
    state = [ast.parse(f"self.{ast.unparse(assignment)}").body[0] for assignment in shared]
    return head, [*state, *(node for setup in setups for node in setup.body)]


class _Eased(ast.NodeTransformer):
    """Turns `assert x == y` and `self.assertEqual(x, y)` into `x`, and what expects an exception into try/except."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | None:
        tested = node.test.left if isinstance(node.test, ast.Compare) else node.test
        return _evaluated([tested])

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        if isinstance(node.value, ast.Constant):
            return None
        if not isinstance(node.value, ast.Call):
            return node
        name = ast.unparse(node.value.func)
        if re.search(r"(assertRaises|assert_raises|\braises)$", name) and len(node.value.args) > 1:
            expected, called, *arguments = node.value.args
            call = ast.Call(func=called, args=arguments, keywords=node.value.keywords)
            return _tolerant([ast.Expr(value=call)], expected)
        return _evaluated(node.value.args) if _CHECKS.match(name) else node

    def visit_With(self, node: ast.With) -> ast.stmt:
        self.generic_visit(node)
        call = node.items[0].context_expr
        if isinstance(call, ast.Call) and call.args and re.search(r"raises$", ast.unparse(call.func), re.IGNORECASE):
            return _tolerant(node.body, call.args[0])
        return ast.With(items=node.items, body=node.body or [ast.Pass()])


def _evaluated(expressions: Sequence[ast.expr]) -> ast.stmt | None:
    calls = [e for e in expressions if any(isinstance(inner, ast.Call) for inner in ast.walk(e))]
    return ast.Expr(value=calls[0]) if calls else ast.Pass()


def _tolerant(body: list[ast.stmt], expected: ast.expr) -> ast.stmt:
    handler = ast.ExceptHandler(type=expected, name=None, body=[ast.Pass()])
    return ast.Try(body=body or [ast.Pass()], handlers=[handler], orelse=[], finalbody=[])


def without_idle_pytest(script: str) -> str:
    """The script without the import of pytest that nothing uses any more."""
    tree = parse(script)
    if tree is None or "pytest" in used_names(tree):
        return script
    return re.sub(r"^import pytest[ \t]*$\n?", "", script, flags=re.MULTILINE)


def uses_through(workshop: Workshop) -> list[str]:
    """Tests that name the classes and functions of the stack, as plain programs: the more and the rarer the better."""
    index = workshop.situation.index
    names: list[str] = []
    for failure in chain(workshop.situation.symptom)[:2]:
        for place in subject_places(places(failure, index)):
            owner = owner_class(index, place.symbol) if place.symbol else None
            names += [n for n in (owner.name if owner else "", place.frame.function) if n and not n.startswith("_")]
    words = {name: re.compile(rf"\b{re.escape(name)}\b") for name in dict.fromkeys(names)}
    texts = [(test, {n for n, word in words.items() if word.search(test.source)}) for test in index.tests[:3000]]
    count = Counter(name for _, found in texts for name in found)
    ranked = sorted(texts, key=lambda pair: -sum(1 / (4 + count[name]) for name in pair[1]))
    best = (inlined(test, workshop) for test, found in ranked[:40] if found)
    return list(dict.fromkeys(text for text in best if text))[:_THROUGH]


# ------------------------------------------------------------------------------------------------------- documentation


def documented(workshop: Workshop) -> list[str]:
    """Programs in docstrings, README and documentation near the report, nearest first."""
    index = workshop.situation.index
    texts = [symbol.doc for symbol in _reached(workshop) if symbol.doc]
    texts += [p.text for p in index.retrieve(workshop.query(), 40) if p.file.endswith((".md", ".rst", ".txt"))]
    found: list[str] = []
    for text in texts[:24]:
        found += [script for code in _codes(text) if (script := workshop.program(code.splitlines()))]
    return list(dict.fromkeys(found))[:_EXAMPLES]


def _reached(workshop: Workshop) -> list[Symbol]:
    """The symbols of the stack and those the report names, with the classes of methods."""
    situation = workshop.situation
    found: list[Symbol] = []
    for failure in chain(situation.symptom):
        for place in places(failure, situation.index):
            if place.symbol is not None:
                owner = owner_class(situation.index, place.symbol)
                found += [place.symbol, *([owner] if owner else [])]
    for name in situation.symptom.suspects[:8]:
        found += situation.index.find(name)[:1]
    return list(dict.fromkeys(found))


def _codes(text: str) -> Iterator[str]:
    """Pieces of Python in a text: sessions, fences, then indented blocks."""
    if is_session(text):
        yield "\n".join(entry.source for entry in session_entries(textwrap.dedent(text)))
    fenced = [found[2] for found in _FENCE.finditer(text)]
    indented = re.findall(r"(?:^(?: {4}|\t).*\n|^[ \t]*\n){2,60}", text + "\n", re.MULTILINE)
    for code in (*fenced, *indented):
        plain = textwrap.dedent(code).strip("\n")
        if is_session(plain):
            yield "\n".join(entry.source for entry in session_entries(plain))
        elif parse(plain) is not None and re.search(r"\w\(", plain):
            yield plain + "\n"


def examples_with_line(workshop: Workshop) -> Iterator[str]:
    """Examples and nearby tests that make an object of the class the stack enters, ended by the reporter's own line."""
    index = workshop.situation.index
    for failure in chain(workshop.situation.symptom):
        for caller, entry in entries(places(failure, index)):
            owner = owner_class(index, entry.symbol) if entry.symbol else None
            line = free_of_self(statement(caller.frame.code)) if caller else ""
            if owner is None:
                continue
            near = index.nearest_tests(f"{owner.name} {workshop.query()}", 40)
            programs = [*documented(workshop), *(text for test in near if (text := inlined(test, workshop)))]
            yield from _ended(programs, owner, line or use_of(entry.symbol, owner))
        if not subject_places(places(failure, index)):
            yield from _called_in_line(workshop, failure)


def _called_in_line(workshop: Workshop, failure: Failure) -> Iterator[str]:
    """Where the failing line itself is the reporter's: tests that call the same method, ended by that line on their
    own object."""
    index = workshop.situation.index
    own = [frame for frame in failure.frames if not is_stdlib(frame.file)]
    line = free_of_self(statement(own[-1].code)) if own else ""
    tree = parse(line)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)] if tree else []
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if not any(symbol.kind == "method" for symbol in index.find(name)):
            continue
        uses = re.compile(rf"^\s*[^#\n]{{0,200}}\b([a-z_]\w*)\.{re.escape(name)}\(", re.MULTILINE)
        for test in index.nearest_tests(f"{name} {line} {workshop.query()}", 30):
            text = inlined(test, workshop) if f".{name}(" in test.source else ""
            receivers = dict.fromkeys(uses.findall(text))
            for receiver in list(receivers)[:2]:
                ended = _with_receiver(line, name, receiver)
                if program := workshop.program([*text.splitlines(), *ended.splitlines()]):
                    yield program


def _with_receiver(line: str, method: str, receiver: str) -> str:
    """The line with the object of a method call replaced by a plain name."""
    tree = parse(line)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            node.func.value = ast.Name(id=receiver, ctx=ast.Load())
    return ast.unparse(tree) if tree else ""


def entered_classes(workshop: Workshop) -> Iterator[tuple[Symbol, str]]:
    """(class, statement on `it`) for every class whose method the stack enters first."""
    index = workshop.situation.index
    for failure in chain(workshop.situation.symptom):
        for caller, entry in entries(places(failure, index)):
            owner = owner_class(index, entry.symbol) if entry.symbol else None
            if owner is None:
                continue
            line = free_of_self(statement(caller.frame.code)) if caller else ""
            shown = [
                ended for name in _variables(line) if (ended := _only_call(re.sub(rf"\b{name}\b", "it", line), "it"))
            ]
            yield owner, next(iter(shown), use_of(entry.symbol, owner))


def _variables(line: str) -> list[str]:
    """Names in a line that may stand for an object."""
    tree = parse(line)
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)] if tree else []
    return [n for n in dict.fromkeys(names) if (not n[:1].isupper() or n.isupper()) and n not in dir(builtins)]


def use_of(symbol: Symbol | None, owner: Symbol) -> str:
    """How a method without required arguments is called on an object `it`."""
    plain = {"__str__": "str(it)", "__repr__": "repr(it)", "__iter__": "list(it)", "__len__": "len(it)"}
    if symbol is None or symbol == owner:
        return ""
    return plain.get(symbol.name, f"it.{symbol.name}()")


def _ended(programs: Iterable[str], owner: Symbol, line: str) -> Iterator[str]:
    for program in programs:
        made = re.search(rf"^([a-z_]\w*) = (?:[\w.]+\.)?{re.escape(owner.name)}\(", program, re.MULTILINE)
        if made is None:
            continue
        for name in _variables(line):
            ended = _only_call(re.sub(rf"\b{re.escape(name)}\b", made[1], line), made[1])
            if ended:
                yield f"{program.rstrip()}\n{ended}\n"


def _only_call(line: str, name: str) -> str:
    """The innermost call of a line that takes the object: `page.write(str(table))` becomes `str(table)`."""
    tree = parse(line)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
    direct = [c for c in calls if any(isinstance(n, ast.Name) and n.id == name for n in (*c.args, _root(c.func)))]
    closed = [c for c in direct if _variables(ast.unparse(c)) == [name]]
    return ast.unparse(closed[-1]) if closed else ""


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node

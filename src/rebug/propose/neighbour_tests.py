"""The subject's own tests and documented examples as programs: as they stand, and with the report's values in them."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterable, Iterator

from rebug.model import Candidate, Hypothesis
from rebug.ports import ExistingTest, Situation, Symbol
from rebug.propose.code import parse, used_names
from rebug.propose.entry_points import owner_class
from rebug.propose.frames import chain, entries, free_of_self, places, statement
from rebug.propose.literals import Literals
from rebug.propose.templates import filled, template_of
from rebug.propose.tests_called import FIXTURES, calls_for_tests
from rebug.propose.transcript import entries as session_entries
from rebug.propose.transcript import is_session
from rebug.propose.workshop import Workshop

_TESTS = 8
_EXAMPLES = 6
_MOST = 20
_FENCE = re.compile(r"^(```|~~~)\w{0,20}[ \t]*\n(.{1,4000}?)\n\1[ \t]*$", re.DOTALL | re.MULTILINE)


class NeighbourTests:
    """Existing tests and examples nearest to the report."""

    name = "neighbour-tests"
    reactive = False

    def propose(self, situation: Situation) -> Iterable[Candidate]:
        if situation.round > 1:
            return
        workshop = Workshop(situation)
        seen: set[str] = set()
        for script, claim in _scripts(workshop):
            if script and script not in seen and len(seen) < _MOST:
                seen.add(script)
                needs = ("pytest",) if re.search(r"^(import|from) pytest\b", script, re.MULTILINE) else ()
                yield Candidate(
                    script=script,
                    proposer=self.name,
                    requirements=needs,
                    hypothesis=Hypothesis(claim=claim, prediction="it fails as reported"),
                )


def _scripts(workshop: Workshop) -> Iterator[tuple[str, str]]:
    tests = [t for t in workshop.situation.index.nearest_tests(workshop.query(), 3 * _TESTS) if runnable(t)][:_TESTS]
    programs = [(script_of(test), f"the existing test {test.qualname}") for test in tests]
    programs += [(text, "an example of the documentation") for text in documented(workshop)]
    for script, words in programs:
        for changed, value in with_values(script, workshop.known):
            yield changed, f"The situation of {words}, with the report's {value[:60]!r}, shows the bug."
    for script, words in programs[:4]:
        yield script, f"{words[:1].upper()}{words[1:]} shows the bug as it stands."


# --------------------------------------------------------------------------------------------------------------- tests


def runnable(test: ExistingTest) -> bool:
    """Whether all that a test is given can be given without its test runner."""
    text = f"{test.preamble}\n{test.source}"
    return all(
        name in FIXTURES or re.search(rf"def {re.escape(name)}\(", test.preamble) or _parametrised(name, test.source)
        for name in test.fixtures
    ) and not re.search(r"\b(mocker|respx|requests_mock|freezegun|subprocess)\b", text)


def _parametrised(name: str, source: str) -> bool:
    return bool(re.search(rf"parametrize\(\s*[\[(]?[^)]{{0,200}}\b{re.escape(name)}\b", source))


def script_of(test: ExistingTest) -> str:
    """A test as a program that runs it; "" when it cannot be made one."""
    source = textwrap.indent(test.source, "    ") if "." in test.qualname else test.source
    script = f"{test.preamble.rstrip()}\n{source}\n"
    if parse(script) is None:
        return ""
    called = calls_for_tests(script)
    if re.search(r"def setup_method\(self\)", script):
        called = called.replace("_case.setup_method(None)", "_case.setup_method()")
    return _without_idle_pytest(called)


def _without_idle_pytest(script: str) -> str:
    """The script without the import of pytest that nothing uses any more."""
    tree = parse(script)
    if tree is None or "pytest" in used_names(tree):
        return script
    return re.sub(r"^import pytest[ \t]*$\n?", "", script, flags=re.MULTILINE)


def inlined(test: ExistingTest) -> str:
    """A test without parameters as plain statements, its assertions evaluated but not required; "" for others."""
    tree = parse(test.source)
    function = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(function, ast.FunctionDef) or function.args.args or function.decorator_list:
        return ""
    if any(isinstance(node, (ast.Return, ast.Yield)) for node in ast.walk(function)):
        return ""
    body = "\n".join(ast.unparse(node) for node in _eased(function.body))
    script = _without_idle_pytest(f"{test.preamble.rstrip()}\n{body}\n")
    return script if parse(script) is not None else ""


def _eased(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements with `assert x == y` turned into `x`, and blocks that expect an exception into their bodies."""
    for node in body:
        if isinstance(node, ast.Assert):
            tested = node.test.left if isinstance(node.test, ast.Compare) else node.test
            if any(isinstance(inner, ast.Call) for inner in ast.walk(tested)):
                yield ast.Expr(value=tested)
        elif isinstance(node, ast.With) and "raises" in ast.unparse(node.items[0].context_expr):
            continue
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield node


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
            programs = [*documented(workshop), *(text for test in near if (text := inlined(test)))]
            yield from _ended(programs, owner, line or use_of(entry.symbol, owner))


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
    return [n for n in dict.fromkeys(names) if not n[:1].isupper() and n not in dir(builtins)]


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


# --------------------------------------------------------------------------------------------------------------- values


def with_values(script: str, known: Literals) -> Iterator[tuple[str, str]]:
    """The program with one literal at a time replaced by one of the report's of the same kind (at most six)."""
    template = template_of(script) if script else None
    if template is None:
        return
    texts = [
        *known.data[:2],
        *known.quoted[:3],
        *(s for s in known.spans[:6] if not re.fullmatch(r"[\w.]+(\(.*\))?", s)),
    ]
    given = 0
    for position, value in enumerate(template.values):
        if value[:1] in "\"'" or value[:2] in {"r'", 'r"'}:
            others = [repr(text) for text in texts if _alike(text, value)]
        elif re.fullmatch(r"-?\d+(\.\d+)?", value):
            others = [number for number in known.numbers[:3] if number != value]
        else:
            others = []
        for other in others[:2]:
            changed = filled(template.text, [*template.values[:position], other, *template.values[position + 1 :]])
            if changed and given < 6:
                given += 1
                yield changed, other


def _alike(text: str, value: str) -> bool:
    """Whether a text is of the same kind as a literal: both long, both with the same marks, or both plain words."""
    if "\n" in text or "\\n" in value:
        return "\n" in text and ("\\n" in value or '"""' in value or "'''" in value)
    marks = set(re.findall(r"[^\w\s\"']", text)), set(re.findall(r"[^\w\s\"'\\]", value))
    return marks[0] == marks[1] or bool(marks[0] & marks[1])

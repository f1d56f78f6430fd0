"""The subject's own tests and documented examples as programs: as they stand, and with the report's values in them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import islice

from rebug.model import Candidate, Hypothesis
from rebug.ports import ExistingTest, Situation
from rebug.propose.code import parse
from rebug.propose.examples import documented, examples_with_line, inlined, without_idle_pytest
from rebug.propose.literals import Literals
from rebug.propose.prune import without_unknown_imports
from rebug.propose.templates import filled, template_of
from rebug.propose.tests_called import FIXTURES, calls_for_tests
from rebug.propose.workshop import Workshop

_TESTS = 8
_EXAMPLES = 4
_MOST = 20


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
    programs = [(_program(test, workshop), f"the existing test {test.qualname}") for test in tests]
    programs += [(text, "an example of the documentation") for text in documented(workshop)]
    for script in islice(examples_with_line(workshop), _EXAMPLES):
        yield script, "An example of the project, ended by the reporter's own line, is enough."
    for script, words in programs:
        for changed, value in with_values(script, workshop.known):
            yield changed, f"The situation of {words}, with the report's {value[:60]!r}, shows the bug."
    for script, words in programs[:4]:
        yield script, f"{words[:1].upper()}{words[1:]} shows the bug as it stands."


def _program(test: ExistingTest, workshop: Workshop) -> str:
    """The test as it stands; taken apart where it needs helpers of its suite that nobody has here."""
    script, situation = script_of(test), workshop.situation
    foreign = without_unknown_imports(script, situation.environment, situation.index.modules).split() != script.split()
    return inlined(test, workshop) if foreign else script


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
    return without_idle_pytest(called)


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

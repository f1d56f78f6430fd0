"""Leaks: what the report's code, or a call of what it names, does once is done over and over, and measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from rebug.instruments import inline
from rebug.intake.leaks import resources
from rebug.model import Basis, Candidate, Hypothesis, SymptomKind
from rebug.ports import Situation
from rebug.propose.acts import with_act
from rebug.propose.code import bound_names, parse
from rebug.propose.entry_points import EntryPoints
from rebug.propose.lifetimes import different, lifetimes
from rebug.propose.neighbour_tests import NeighbourTests
from rebug.propose.snippet import Snippet
from rebug.propose.turns import in_turn
from rebug.propose.workshop import Workshop

_OWN = 6
_OTHERS = 14
"""Candidates from the report's own programs, and from calls and tests of what it names: each takes some seconds."""

_SPECIAL = ("cycles", "unclosed")
"""Resources that sound programs use up as well, so that they are measured only where the report names them."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A program whose repetition may show the leak."""

    script: str
    claim: str
    requirements: tuple[str, ...] = ()
    conditions: str = ""


class Repetition:
    """Repeats, and measures what is kept."""

    name = "repetition"
    reactive = False

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.round > 1 or situation.symptom.kind is not SymptomKind.LEAK:
            return
        title = resources([situation.report.title]) - {"memory"}
        asked = [name for name in _SPECIAL if name in (title or resources([situation.report.body[:50_000]]))]
        seen: set[str] = set()
        for part in _parts(situation):
            for resource in (*asked, ""):
                candidate = _measured(part, resource)
                if candidate.script not in seen:
                    seen.add(candidate.script)
                    yield candidate


def _parts(situation: Situation) -> Iterator[_Part]:
    yield from islice(_from(Snippet().propose(situation), "The code of the report"), _OWN)
    workshop = Workshop(situation)
    made = (_Part(body, claim) for body, claim in (*different(workshop), *lifetimes(workshop)))
    others = _from(EntryPoints().propose(situation), "A call of what the report names", tolerant=True)
    tests = _from(NeighbourTests().propose(situation), "A test of what the report names")
    yield from islice(in_turn(made, others, tests), _OTHERS)


def _from(candidates: Iterable[Candidate], what: str, *, tolerant: bool = False) -> Iterator[_Part]:
    """The candidates' programs taken apart; `tolerant`: what the repeated calls raise does not end the program."""
    tree = parse(inline("leak"))
    taken = sorted(bound_names(tree.body)) if tree else []
    for candidate in candidates:
        for body in islice(with_act(candidate.script, "leak", taken, tolerant=tolerant), 2):
            yield _Part(
                body,
                f"{what} keeps something each time it runs.",
                candidate.requirements,
                candidate.hypothesis.conditions,
            )


def _measured(part: _Part, resource: str) -> Candidate:
    body = part.script
    if resource:
        body = body.replace("leak(act)", f"leak(act, {resource!r})").replace(
            "leak_async(act)", f"leak_async(act, {resource!r})"
        )
    return Candidate(
        script=f"{inline('leak')}\n\n{body}",
        hypothesis=Hypothesis(
            claim=part.claim,
            conditions=part.conditions,
            prediction="what the process holds grows with every call and does not level off",
        ),
        proposer=Repetition.name,
        basis=Basis.MEASURED,
        requirements=part.requirements,
    )

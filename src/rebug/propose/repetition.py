"""Leaks: what the report's code, or a call of what it names, does once is done over and over, and measured."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rebug.instruments import inline
from rebug.model import Basis, Candidate, Hypothesis, SymptomKind
from rebug.ports import Situation
from rebug.propose.acts import with_act
from rebug.propose.code import bound_names, parse
from rebug.propose.entry_points import EntryPoints
from rebug.propose.neighbour_tests import NeighbourTests
from rebug.propose.snippet import Snippet

_OWN = 6
_OTHERS = 10
"""Candidates from the report's own programs, and from calls and tests of what it names: each takes some seconds."""


class Repetition:
    """Repeats, and measures what is kept."""

    name = "repetition"
    reactive = False

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.round > 1 or situation.symptom.kind is not SymptomKind.LEAK:
            return
        yield from islice(_measured(Snippet().propose(situation), "The code of the report"), _OWN)
        others = [*EntryPoints().propose(situation), *NeighbourTests().propose(situation)]
        yield from islice(_measured(iter(others), "A call of what the report names"), _OTHERS)


def _measured(candidates: Iterator[Candidate], what: str) -> Iterator[Candidate]:
    code = inline("leak")
    tree = parse(code)
    taken = sorted(bound_names(tree.body)) if tree else []
    seen: set[str] = set()
    for candidate in candidates:
        for body in islice(with_act(candidate.script, "leak", taken), 2):
            if body in seen:
                continue
            seen.add(body)
            yield Candidate(
                script=f"{code}\n\n{body}",
                hypothesis=Hypothesis(
                    claim=f"{what} keeps something each time it runs.",
                    conditions=candidate.hypothesis.conditions,
                    prediction="what the process holds grows with every call and does not level off",
                ),
                proposer=Repetition.name,
                basis=Basis.MEASURED,
                requirements=candidate.requirements,
            )

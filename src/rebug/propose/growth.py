"""Slowness: the calls that a report speaks of, with inputs that grow, and an instrument that measures how.

Programs of the report become attempts at once. For what it only names, a probe first times many calls for a moment,
and those that seem to grow too fast become attempts.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from rebug.instruments import inline
from rebug.intake.shapes import described, multiplied
from rebug.model import Basis, Candidate, Hypothesis, Role, SymptomKind
from rebug.ports import Situation
from rebug.propose import growth_prober
from rebug.propose.code import add_imports, parse
from rebug.propose.entry_points import stated_requirements
from rebug.propose.growth_calls import Act, acts
from rebug.propose.growth_snippets import snippet_acts
from rebug.propose.workshop import Workshop

SECONDS = 7.0
"""Wall time of one probe; the limit of a run is about twice that."""

_OWN = 6  # attempts from the report's programs
_ACTS = 700  # in one probe
_PROBES = 3
_ENOUGH = 8  # hits after which a probe ends
_HITS = 4  # of one probe that become attempts
_FUTURE = "from __future__ import annotations\n"
_SOURCE = inspect.getsource(growth_prober).partition(_FUTURE)[2]


class Growth:
    """Measures how time grows with the size of the input."""

    name = "growth"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        if situation.symptom.kind is not SymptomKind.SLOW:
            return
        yield from _found(situation)
        asked = any(trial.candidate.proposer == self.name for trial in situation.trials)
        if situation.round > 1 or asked:
            return
        workshop = Workshop(situation)
        for act in islice(snippet_acts(workshop), _OWN):
            yield attempt(situation, act)
        waiting = acts(workshop)
        for _ in range(_PROBES):
            batch = list(islice(waiting, _ACTS))
            if batch:
                yield _probe(situation, batch)


def attempt(situation: Situation, act: Act, parents: tuple[str, ...] = ()) -> Candidate:
    """The script that measures an act."""
    lines = act.setup.splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    setup = "\n".join(line for line in lines if line not in imports)
    body = "\n".join(f"    {line}" for line in act.body.splitlines())
    parts = [setup, inline("growth"), f"\ndef act(n):\n{body}\n\n\ngrowth(act)\n"]
    return Candidate(
        script=add_imports("\n".join(part for part in parts if part), imports),
        proposer=Growth.name,
        basis=Basis.MEASURED,
        parents=parents,
        requirements=stated_requirements(situation),
        hypothesis=Hypothesis(
            claim=act.claim,
            conditions="an input that is doubled again and again",
            prediction="the time grows with the square of the input's size, or faster",
        ),
    )


def _probe(situation: Situation, batch: Sequence[Act]) -> Candidate:
    setups = list(dict.fromkeys(act.setup for act in batch))
    numbers = {setup: number for number, setup in enumerate(setups)}
    plan = {"setups": setups, "acts": [(numbers[act.setup], act.body) for act in batch]}
    plan |= {"seconds": SECONDS, "enough": _ENOUGH}
    return Candidate(
        script=f"{_FUTURE}{_SOURCE}\n\nmain({plan!r})\n",
        proposer=Growth.name,
        role=Role.PROBE,
        requirements=stated_requirements(situation),
        hypothesis=Hypothesis(
            claim="Some call that the report names takes far longer for some kind of growing input.",
            conditions=f"about {SECONDS:.0f} seconds of short measurements",
            prediction="calls whose time grows faster than their input",
        ),
    )


# -------------------------------------------------------------------------------------------------------------- harvest


def _found(situation: Situation) -> Iterator[Candidate]:
    for trial in situation.trials:
        if trial.candidate.role is Role.PROBE and trial.candidate.proposer == Growth.name:
            found = acts_named(trial.candidate.script, trial.observation.stdout)
            told = f"{situation.report.title}\n{situation.report.body[:50_000]}"
            for act in sorted(found, key=lambda act: not _spoken_of(act, told))[:_HITS]:
                yield attempt(situation, act, (trial.candidate.id,))


def acts_named(script: str, stdout: str) -> list[Act]:
    """The acts of a probe's script that its run named, worst first."""
    plan = plan_of(script) or {}
    setups, pairs = plan.get("setups"), plan.get("acts")
    if not isinstance(setups, list) or not isinstance(pairs, list):
        return []
    chosen = [pairs[hit] for hit in hits_of(stdout) if 0 <= hit < len(pairs)]
    return [Act(setup=setups[number], body=body, claim=_claim(body)) for number, body in chosen]


def _claim(body: str) -> str:
    """What an act does, in words."""
    lines = body.splitlines()
    repeated = any(line.startswith("for i in range(n)") for line in lines)
    shown = f"`{lines[-1].strip()[:160]}`"
    return (
        f"Every further {shown} takes longer than the one before."
        if repeated
        else f"{shown} takes ever longer as n grows."
    )


_AGAIN = re.compile(
    r"\bloops?\b|\brepeat\w*|\bagain and again\b|\bcall(?:s|ing|ed)\b|\bone by one\b|\bincremental\w*|\bbyte by byte\b|"
    r"\bmany times\b|\bsame (?:name|key|header|object)|\bfurther\b|"
    r"\beach (?:call|time)|\b(?:small|tiny|single-?byte) \w+",
    re.IGNORECASE,
)


def _spoken_of(act: Act, told: str) -> bool:
    tree = parse(act.body)
    pieces = multiplied(tree, "n") if tree is not None else []
    if not pieces and "in range(n):" in act.body:
        return bool(_AGAIN.search(told))
    return not pieces or any(described(piece, told) for piece in pieces)


def plan_of(script: str) -> dict[str, object] | None:
    """The plan of a probe's script, None when it is not one."""
    last = script.rstrip("\n").rpartition("\n")[2]
    if not last.startswith("main(") or growth_prober.PREFIX not in script:
        return None
    try:
        plan = ast.literal_eval(last[5:-1])
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return plan if isinstance(plan, dict) else None


def hits_of(stdout: str) -> list[int]:
    """Numbers of the acts that a probe printed; those that were slow with the smallest input first, then the steepest.
    A run's output is not to be trusted."""
    for line in reversed(stdout.splitlines()):
        if line.startswith(growth_prober.PREFIX):
            try:
                record = json.loads(line.removeprefix(growth_prober.PREFIX))
            except (ValueError, RecursionError):
                return []
            hits = record.get("hits") if isinstance(record, dict) else None
            found = [_hit(hit) for hit in hits if isinstance(hit, dict)] if isinstance(hits, list) else []
            return [act for _, _, act in sorted(hit for hit in found if hit is not None)]
    return []


def _hit(hit: dict[str, object]) -> tuple[int, float, int] | None:
    size, order, act = hit.get("size"), hit.get("order"), hit.get("act")
    if type(size) is not int or type(act) is not int or not isinstance(order, int | float):
        return None
    return size, -order, act

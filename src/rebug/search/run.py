"""The search: rounds of proposing, running and judging until a trial is accepted or a limit is reached.

Invariant: decisions depend on the seed, the proposers and what was observed, never on the clock or on the number of
cores; the clock only decides when to stop. Everything decided is in the journal before it takes effect.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, zip_longest

from rebug.errors import EnvironmentFailed
from rebug.model import (
    Candidate,
    Ended,
    Environment,
    Observation,
    Report,
    Stage,
    Symptom,
    Trial,
    Variation,
    Verdict,
)
from rebug.ports import Engine, Environments, Index, Job, Journal, Judge, Limits, Narrator, Proposer, Situation
from rebug.search.novelty import fingerprint
from rebug.search.select import parents, rank

BATCH = 4
"""Candidates run between two looks at the results. Fixed, so that a run does not depend on the number of cores."""

PATIENCE = 3
"""Rounds without improvement after which the search gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How far the search may go. `None` means no limit."""

    rounds: int = 4
    population: int = 24  # candidates a round
    keep: int = 3
    seed: int = 0
    max_seconds: float | None = None  # wall seconds from the start of the run
    max_candidates: int | None = None


@dataclass(slots=True)
class Counts:
    proposed: int = 0
    duplicates: int = 0
    run: int = 0
    environment_failures: int = 0
    rounds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a search found. `stopped`: reproduced, stalled, rounds, seconds, candidates or interrupted."""

    trials: tuple[Trial, ...]
    ranked: tuple[Trial, ...]
    accepted: Trial | None
    counts: Counts
    stopped: str
    seconds: Mapping[str, float]


class _Stop(Exception):  # noqa: N818 - a signal, not an error
    """Ends the rounds; caught in `Search.run` only."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(kw_only=True)
class Search:
    """One search. `accept` is asked of every trial that matches, best first (it confirms): "" ends the search, anything
    else says why the trial does not count after all."""

    report: Report
    symptom: Symptom
    index: Index
    environments: Environments
    proposers: Sequence[Proposer]
    engine: Engine
    judge: Judge
    journal: Journal
    plan: Plan = field(default_factory=Plan)
    limits: Limits = field(default_factory=Limits)
    accept: Callable[[Trial], str] = lambda _: ""
    clock: Callable[[], float] = time.monotonic
    narrate: Narrator = lambda _: None

    _trials: list[Trial] = field(default_factory=list, init=False)
    _known: set[str] = field(default_factory=set, init=False)
    _counts: Counts = field(default_factory=Counts, init=False)
    _accepted: Trial | None = field(default=None, init=False)
    _spent: dict[str, float] = field(
        default_factory=lambda: {"environment": 0.0, "proposing": 0.0, "running": 0.0, "judging": 0.0}, init=False
    )
    _started: float = field(default=0.0, init=False)
    _environment: Environment = field(init=False)

    def run(self, started: float | None = None) -> Outcome:
        """Search until something is accepted or a limit is met. `started` is when the whole run began, on `clock`.

        Raises EnvironmentFailed when the subject's own environment cannot be built. KeyboardInterrupt ends the search
        with what was found so far.
        """
        self._started = self.clock() if started is None else started
        with self._time("environment"):
            self._environment = self.environments.build(Variation())
        self.journal.append("plan", {**asdict(self.plan), "proposers": [p.name for p in self.proposers]})
        try:
            stopped = self._rounds()
        except _Stop as stop:
            stopped = stop.why
        except KeyboardInterrupt:
            stopped = "interrupted"
        self.journal.append("stopped", {"why": stopped})
        return Outcome(
            trials=tuple(self._trials),
            ranked=rank(self._trials),
            accepted=self._accepted,
            counts=self._counts,
            stopped=stopped,
            seconds=dict(self._spent),
        )

    # ---------------------------------------------------------------------------------------------------------- rounds

    def _rounds(self) -> str:
        best, idle = 1.0, 0
        for number in range(1, self.plan.rounds + 1):
            self._counts.rounds = number
            ran = self._round(number)
            loss = min((trial.loss.total for trial in rank(self._trials)), default=1.0)
            idle = 0 if loss < best else idle + 1
            best = min(best, loss)
            self.journal.append("round", {"number": number, "best": best})
            self.narrate(f"round {number}: {len(self._trials)} run, best score {round(100 * (1 - best))}")
            if idle >= PATIENCE or (number > 1 and not ran):
                return "stalled"
        return "rounds"

    def _round(self, number: int) -> int:
        """Run one round's candidates in small batches; reactive proposers see each batch's trials at once."""
        rng = random.Random(f"{self.plan.seed}:{number}")  # noqa: S311 - reproducible choices, not secrets
        kept = parents(self._trials, self.plan.keep)
        queue = deque(self._draw(self._situation(number, kept, rng), reactive=None))
        room, ran = self.plan.population, 0
        while queue and ran < room:
            batch = [queue.popleft() for _ in range(min(BATCH, len(queue), room - ran))]
            self._try(batch, number)
            ran += len(batch)
            situation = self._situation(number, parents(self._trials, self.plan.keep), rng)
            fresh = list(self._draw(situation, reactive=True))
            queue.extendleft(reversed(fresh))
            room += len(fresh) if room < 2 * self.plan.population else 0
        return ran

    def _situation(self, number: int, kept: Sequence[Trial], rng: random.Random) -> Situation:
        return Situation(
            report=self.report,
            symptom=self.symptom,
            index=self.index,
            environment=self._environment,
            round=number,
            releases=self.environments.releases(),
            trials=tuple(self._trials),
            parents=kept,
            rng=rng,
        )

    def _draw(self, situation: Situation, *, reactive: bool | None) -> Iterator[Candidate]:
        """New candidates, one from each proposer in turn; at most a population of them."""
        asked = [p for p in self.proposers if reactive is None or p.reactive == reactive]
        with self._time("proposing"):
            offers = [list(islice(proposer.propose(situation), self.plan.population)) for proposer in asked]
        drawn = 0
        for candidate in (c for turn in zip_longest(*offers) for c in turn if c is not None):
            self._counts.proposed += 1
            mark = fingerprint(candidate)
            if mark in self._known:
                self._counts.duplicates += 1
            elif drawn < self.plan.population:
                self._known.add(mark)
                drawn += 1
                yield candidate

    # ----------------------------------------------------------------------------------------------------------- batch

    def _try(self, batch: Sequence[Candidate], number: int) -> None:
        """Run and judge a batch; offer what matches to `accept`."""
        self._check_caps(len(batch))
        numbered = [
            replace(candidate, id=f"c{self._counts.run + offset:04d}", round=number)
            for offset, candidate in enumerate(batch, 1)
        ]
        for candidate in numbered:
            self.journal.append("candidate", asdict(candidate))
        self._counts.run += len(numbered)
        observations = self._observe(numbered)
        with self._time("judging"):
            situation = self._situation(number, (), random.Random(0))  # noqa: S311
            fresh = [
                self.judge.judge(candidate, observation, situation)
                for candidate, observation in zip(numbered, observations, strict=True)
            ]
        for trial in fresh:
            self._trials.append(trial)
            self.journal.append("trial", asdict(trial))
        self._offer(fresh)

    def _offer(self, fresh: Sequence[Trial]) -> None:
        matching = [trial for trial in rank(fresh) if trial.loss.stage in {Stage.MATCH, Stage.PROVEN}]
        for trial in matching:
            self.narrate(f"{trial.candidate.id} ({trial.candidate.proposer}) matches the report: confirming")
            refusal = self.accept(trial)
            self.journal.append("confirmation", {"candidate": trial.candidate.id, "refusal": refusal})
            if not refusal:
                self._accepted = trial
                raise _Stop("reproduced")
            self._trials[self._trials.index(trial)] = _demoted(trial, refusal)

    def _observe(self, batch: Sequence[Candidate]) -> list[Observation]:
        observations: list[Observation | None] = [None] * len(batch)
        jobs: list[tuple[int, Job]] = []
        with self._time("environment"):
            for position, candidate in enumerate(batch):
                try:
                    environment = self._environment_of(candidate)
                except EnvironmentFailed as failure:
                    self._counts.environment_failures += 1
                    observations[position] = Observation(ended=Ended.REFUSED, limit=str(failure))
                else:
                    jobs.append((position, Job(candidate=candidate, environment=environment, limits=self.limits)))
        with self._time("running"):
            results = self.engine.run([job for _, job in jobs], deadline=self._deadline())
        for (position, _), observation in zip(jobs, results, strict=True):
            observations[position] = observation
        return [observation for observation in observations if observation is not None]

    def _environment_of(self, candidate: Candidate) -> Environment:
        wanted = replace(
            candidate.variation,
            requirements=tuple(dict.fromkeys((*candidate.variation.requirements, *candidate.requirements))),
            variables=(),
            flags=(),
        )
        return self._environment if wanted.plain else self.environments.build(wanted)

    # ------------------------------------------------------------------------------------------------------------ caps

    def _deadline(self) -> float | None:
        return None if self.plan.max_seconds is None else self._started + self.plan.max_seconds

    def _check_caps(self, wanted: int) -> None:
        deadline = self._deadline()
        if deadline is not None and self.clock() >= deadline:
            raise _Stop("seconds")
        most = self.plan.max_candidates
        if most is not None and self._counts.run + wanted > most:
            raise _Stop("candidates")

    def _time(self, what: str) -> _Timer:
        return _Timer(self._spent, what, self.clock)


def _demoted(trial: Trial, refusal: str) -> Trial:
    """A trial that its confirmation contradicts is at most of the right kind."""
    loss = replace(
        trial.loss, total=max(trial.loss.total, 0.1), stage=Stage.KIND, reasons=(*trial.loss.reasons, refusal)
    )
    return replace(trial, loss=loss, signature=trial.signature + "|unconfirmed", verdict=Verdict.INCONCLUSIVE)


class _Timer:
    """Adds the time spent inside a `with` block to one entry of a table, in seconds."""

    def __init__(self, table: dict[str, float], what: str, clock: Callable[[], float]) -> None:
        self._table, self._what, self._clock, self._from = table, what, clock, 0.0

    def __enter__(self) -> None:
        self._from = self._clock()

    def __exit__(self, *_: object) -> None:
        self._table[self._what] += self._clock() - self._from

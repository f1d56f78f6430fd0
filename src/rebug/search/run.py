"""The search: rounds of proposing, running and judging until a trial is accepted or a limit is reached.

Invariant: decisions depend on the seed, the proposers and what was observed, never on the clock or on the number of
cores; the clock only decides when to stop. Everything decided is in the journal before it takes effect.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice

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
from rebug.ports import Critic, Engine, Environments, Index, Job, Journal, Judge, Limits, Narrator, Proposer, Situation
from rebug.search.novelty import fingerprint
from rebug.search.outcome import Counts, Outcome, Plan, Timer
from rebug.search.select import parents, rank

BATCH = 4
"""Candidates run between two looks at the results. Fixed, so that a run does not depend on the number of cores."""

PATIENCE = 3
"""Rounds without improvement after which the search gives up."""


class _Stop(Exception):
    """Ends the rounds; caught in `Search.run` only."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(kw_only=True)
class Search:
    """One search. `accept` is asked of every trial that matches, best first, with all trials so far (it confirms): ""
    ends the search, anything else says why the trial does not count after all."""

    report: Report
    symptom: Symptom
    index: Index
    environments: Environments
    proposers: Sequence[Proposer]
    paid: Sequence[Proposer] = ()  # asked in a round only when the others' candidates have not solved it
    critic: Critic | None = None
    engine: Engine
    judge: Judge
    journal: Journal
    plan: Plan = field(default_factory=Plan)
    limits: Limits = field(default_factory=Limits)
    accept: Callable[[Trial, Sequence[Trial]], str] = lambda _trial, _all: ""
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
        self.journal.append("plan", {**asdict(self.plan), "proposers": [p.name for p in (*self.proposers, *self.paid)]})
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
        """One round: what costs nothing first, then, still unsolved, what a model proposes, then a second look."""
        rng = random.Random(f"{self.plan.seed}:{number}")  # noqa: S311 - reproducible choices, not secrets
        before = len(self._trials)
        for proposers in (self.proposers, self.paid):
            situation = self._situation(number, parents(self._trials, self.plan.keep), rng)
            self._run_through(self._draw(situation, proposers), number, rng)
        self._review(self._trials[before:], number, rng)
        return len(self._trials) - before

    def _run_through(self, offers: Iterator[Candidate], number: int, rng: random.Random) -> None:
        """Run candidates in small batches; reactive proposers see each batch's trials at once.

        The very first candidate, which is the report's own code where there is any, runs alone and before anything
        else is thought up: most bugs that come with code need no more.
        """
        reactive = [proposer for proposer in self.proposers if proposer.reactive]
        urgent: deque[Candidate] = deque()
        room, ran = self.plan.population, 0
        while ran < room:
            size = min(BATCH if self._trials else 1, room - ran)
            with self._time("proposing"):
                batch = list(islice(chain(_drained(urgent), offers), size))
            if not batch:
                return
            self._try(batch, number)
            ran += len(batch)
            situation = self._situation(number, parents(self._trials, self.plan.keep), rng)
            with self._time("proposing"):
                fresh = list(islice(self._draw(situation, reactive), self.plan.population))
            urgent.extendleft(reversed(fresh))
            room += len(fresh) if room < 2 * self.plan.population else 0

    def _review(self, fresh: Sequence[Trial], number: int, rng: random.Random) -> None:
        """Let the critic, if there is one, have its say on a round's trials."""
        if self.critic is None or not fresh:
            return
        self._check_caps(0)
        with self._time("judging"):
            reviewed = self.critic.review(fresh, self._situation(number, (), rng))
        for position, trial in enumerate(self._trials):
            review = reviewed.get(trial.candidate.id)
            if review is not None and review.loss.stage is trial.loss.stage:
                self.journal.append(
                    "review",
                    {"candidate": trial.candidate.id, "loss": review.loss.total, "critique": asdict(review.critique)},
                )
                self._trials[position] = review

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

    def _draw(self, situation: Situation, asked: Sequence[Proposer]) -> Iterator[Candidate]:
        """New candidates, one from each proposer in turn, each thought up only when it is its turn."""
        offers = deque(self._offers(proposer, situation) for proposer in asked)
        while offers:
            offer = offers.popleft()
            candidate = next(offer, None)
            if candidate is None:
                continue
            offers.append(offer)
            self._counts.proposed += 1
            mark = fingerprint(candidate)
            if mark in self._known:
                self._counts.duplicates += 1
                continue
            self._known.add(mark)
            yield candidate

    def _offers(self, proposer: Proposer, situation: Situation) -> Iterator[Candidate]:
        """A proposer's candidates, up to its first fault: proposers read strangers' texts and may be strangers' code,
        and what the others find must not be lost with one of them."""
        try:
            yield from proposer.propose(situation)
        except Exception as fault:  # noqa: BLE001 - a bulkhead; the fault is journaled and said
            self.journal.append("proposer_failed", {"proposer": proposer.name, "fault": repr(fault)[:500]})
            self.narrate(f"the proposer {proposer.name} failed and is left out of this turn: {fault!r}"[:200])

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
            refusal = self.accept(trial, tuple(self._trials))
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

    def _time(self, what: str) -> Timer:
        return Timer(self._spent, what, self.clock)


def _drained(queue: deque[Candidate]) -> Iterator[Candidate]:
    while queue:
        yield queue.popleft()


def _demoted(trial: Trial, refusal: str) -> Trial:
    """A trial that its confirmation contradicts is at most of the right kind."""
    loss = replace(
        trial.loss, total=max(trial.loss.total, 0.1), stage=Stage.KIND, reasons=(*trial.loss.reasons, refusal)
    )
    return replace(trial, loss=loss, signature=trial.signature + "|unconfirmed", verdict=Verdict.INCONCLUSIVE)

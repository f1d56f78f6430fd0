"""The main job, wired: report and source in, a run's directory out."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import rebug
from rebug.app import modelling, wiring
from rebug.app.options import Options, cache_directory, check, good_version, source_of
from rebug.app.resume import interrupted
from rebug.confirm import Confirmer
from rebug.errors import EnvironmentFailed, InputError
from rebug.execute import LocalEngine, choose_sandbox
from rebug.execute.replay import ReplayEngine
from rebug.intake import find_symptom, load_report, with_cores
from rebug.judge import StagedJudge, reached
from rebug.model import Environment, Finding, Observation, Report, Stage, Status, Symptom, SymptomKind, Trial, Variation
from rebug.model_api import ModelRun
from rebug.ports import Critic, Journal, Narrator, Proposer, Sandbox
from rebug.propose import free_proposers
from rebug.propose.written import Author
from rebug.report import JOURNAL, RESULT, Result, Run, prepare, read_result, write
from rebug.report.schema import CostPart, CountsPart, SecondsPart, SubjectPart
from rebug.search import Outcome, Search
from rebug.store import SqliteJournal, encode
from rebug.subject import Source, build_index, open_source, with_sites

_CAPS = {"seconds", "candidates", "interrupted"}
EXIT_STATUS = {
    Status.REPRODUCED: 0,
    Status.PARTIAL: 1,
    Status.NOT_REPRODUCED: 1,
    Status.CAPPED: 3,
    Status.ENVIRONMENT_FAILED: 4,
}
"""The exit status of `rebug reproduce`, by what the run concluded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A finished run: its result, and the directory that holds everything."""

    result: Result
    out: Path


def _silent(_line: str) -> None:
    """Narrate nothing."""


def reproduce(options: Options, *, narrate: Narrator = _silent, clock: Callable[[], float] = time.monotonic) -> Done:
    """Searches for a script that shows the reported bug and writes the run's directory.

    Raises InputError and SandboxUnavailable before anything is built; an environment that cannot be built is a result
    of its own. Ctrl-C ends the search, and what was found until then is the result.
    """
    started = clock()
    check(options)
    if not options.report and options.resume is None:
        raise InputError("which report? Give a file, a directory or - for stdin; see `rebug reproduce --help`")
    observed: Mapping[tuple[str, str, str], Observation] = {}
    if options.resume is not None:
        earlier = interrupted(options.resume, options)
        options, observed = earlier.options, earlier.observed
        narrate(f"going on with {options.resume}: {len(observed)} candidates were run already")
    source_spec = source_of(options)
    sandbox = choose_sandbox(options.sandbox)
    report = with_cores(load_report(options.report, options.attach, sys.stdin.buffer), sandbox)
    for note in report.notes:
        narrate(note)
    out = _directory(options.out, report.title)
    if options.resume is None:
        prepare(out)
    narrate(f"report: {report.title}")
    with SqliteJournal(out / JOURNAL) as journal:
        run_id = _run_id()
        journal.append("run", {"id": run_id, "rebug": rebug.__version__, **_recorded(options)})
        job = _Job(
            run_id=run_id,
            options=options,
            spec=source_spec,
            report=report,
            sandbox=sandbox,
            journal=journal,
            narrate=narrate,
            clock=clock,
            started=started,
            observed=observed,
        )
        with modelling.opened(options, out, journal, narrate=narrate, clock=clock, started=started) as job.model:
            result = write(out, job.run())
        journal.append("result", {"status": result.status, "score": result.score})
    return Done(result=result, out=out)


def read_run(directory: Path) -> Result:
    """The result in a run's directory. Raises InputError, which tells how far a run without one came."""
    if (directory / RESULT).is_file():
        return read_result(directory / RESULT)
    if not (directory / JOURNAL).is_file():
        raise InputError(f"{directory}: is not a run of rebug: there is no {RESULT} in it")
    with SqliteJournal(directory / JOURNAL) as journal:
        ran = sum(kind == "trial" for _, kind, _ in journal.events())
    raise InputError(f"{directory}: this run has no result (yet): {ran} candidates ran; the journal has them")


def _recorded(options: Options) -> Mapping[str, object]:
    """The options for the journal, without the values of variables: some are secrets."""
    return encode(replace(options, variables=tuple((name, "...") for name, _ in options.variables)))


def _directory(given: Path | None, title: str) -> Path:
    """The directory of the run: the one given, else a new one named after the report, short enough for a terminal."""
    if given is not None:
        return given
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:32].rstrip("-") or "report"
    base = Path("rebug-runs")
    return next(path for n in range(1, 10_000) if not (path := base / (slug if n == 1 else f"{slug}-{n}")).exists())


def _run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


@dataclass(kw_only=True)
class _Job:
    """One run in progress. It fills in what is learned, so that an early end still knows it."""

    run_id: str
    options: Options
    spec: str
    report: Report
    sandbox: Sandbox
    journal: Journal
    narrate: Narrator
    clock: Callable[[], float]
    started: float
    source: Source | None = None
    symptom: Symptom = field(default_factory=lambda: Symptom(kind=SymptomKind.UNKNOWN))
    environment: Environment | None = None
    outcome: Outcome | None = None
    findings: list[Finding] = field(default_factory=list)
    confirming: float = 0.0
    model: ModelRun | None = None
    author: Author | None = None
    observed: Mapping[tuple[str, str, str], Observation] = field(default_factory=dict)

    def run(self) -> Run:
        try:
            self._search()
        except EnvironmentFailed as failure:
            detail = "\n".join(failure.detail.splitlines()[-12:])
            return self._conclude(Status.ENVIRONMENT_FAILED, f"{failure}\n{detail}".strip())
        except KeyboardInterrupt:
            if self.outcome is not None:
                self.outcome = replace(self.outcome, stopped="interrupted")
        if self.outcome is None:
            return self._conclude(Status.CAPPED, "interrupted before the search began")
        status = decide(self.outcome, self.findings)
        if status is not Status.REPRODUCED and self.author is not None and self.author.capped:
            status = Status.CAPPED
        return self._conclude(status)

    def _search(self) -> None:
        options, narrate = self.options, self.narrate
        self.source = source = open_source(self.spec, cache_directory(), as_of=options.as_of, narrate=narrate)
        good = good_version(options, source.package)
        environments = wiring.environments(options, source, narrate, python_hint=self.report.python)
        self.environment = environment = environments.build(Variation())
        index = build_index(source.root, environment.modules, source.package)
        symptom = find_symptom(self.report, source.package, environment.modules)
        self.symptom = symptom = with_sites(symptom, self.report, index)
        self.journal.append("symptom", encode(symptom))
        narrate(f"symptom: {symptom.kind}" + (f": {symptom.quote}" if symptom.quote else ""))
        local = LocalEngine(self.sandbox, workers=options.workers)
        engine = ReplayEngine(engine=local, observed=self.observed) if self.observed else local
        confirmer = Confirmer(
            report=self.report,
            symptom=symptom,
            source=wiring.script_source(options, self.report, source, environment),
            index=index,
            environments=environments,
            plain_environment=wiring.plain_environment(options, source, environments, environment, narrate),
            engine=engine,
            judge=StagedJudge(),
            runs=options.repeat,
            good_versions=(good,) if good else (),
            narrate=narrate,
        )
        confirm = partial(self._confirm, confirmer)
        author, critic = self._modelled(
            modelling.Subject(report=self.report, symptom=symptom, index=index, environment=environment)
        )
        self.outcome = Search(
            report=self.report,
            symptom=symptom,
            index=index,
            environments=environments,
            proposers=free_proposers(),
            paid=author,
            critic=critic,
            engine=engine,
            judge=StagedJudge(),
            journal=self.journal,
            plan=wiring.plan(options),
            accept=confirm,
            clock=self.clock,
            narrate=narrate,
        ).run(self.started)
        self._consider(self.outcome, confirm)

    def _modelled(self, subject: modelling.Subject) -> tuple[tuple[Proposer, ...], Critic | None]:
        if self.model is None:
            return (), None
        self.author, critic = modelling.workers(self.options, self.model, subject, self.narrate)
        return (self.author,), critic

    def _confirm(self, confirmer: Confirmer, trial: Trial, trials: Sequence[Trial]) -> str:
        """ "" when the trial is a reproduction, else why it is not."""
        began = self.clock()
        limit = self.options.max_seconds
        finding = confirmer.confirm(trial, trials, None if limit is None else self.started + limit)
        self.confirming += self.clock() - began
        self.journal.append("finding", encode(finding))
        self.findings.append(finding)
        if finding.confirmed:
            return ""
        doubt = "; ".join(finding.doubts) or "it was not confirmed"
        self.narrate(f"not confirmed: {doubt}")
        return doubt

    def _consider(self, outcome: Outcome, confirm: Callable[[Trial, Sequence[Trial]], str]) -> None:
        """Makes a stand-alone script of the best trial where confirmation was not asked for it: near, but no match."""
        known = {finding.trial.candidate.id for finding in self.findings}
        best = outcome.ranked[0] if outcome.ranked else None
        if not best or outcome.accepted or best.candidate.id in known or not reached(best.loss.stage, Stage.KIND):
            return
        self.narrate(f"nothing matches; making a script of what came nearest, {best.candidate.id}")
        confirm(best, outcome.trials)

    def _conclude(self, status: Status, error: str = "") -> Run:
        outcome, source, environment = self.outcome, self.source, self.environment
        spent = dict(outcome.seconds) if outcome else {}
        return Run(
            run_id=self.run_id,
            status=status,
            report=self.report,
            symptom=self.symptom,
            subject=SubjectPart(
                source=str(source.root) if source and source.kind == "directory" else self.spec,
                version=(environment.version if environment else "") or (source.version if source else ""),
                python=environment.python_version if environment else self.options.python,
                commit=source.commit if source else "",
                package=source.package if source else "",
            ),
            ranked=outcome.ranked if outcome else (),
            trials=outcome.trials if outcome else (),
            findings=sorted(self.findings, key=lambda one: (not one.confirmed, one.trial.loss.total)),
            counts=CountsPart.model_validate(asdict(outcome.counts)) if outcome else CountsPart(),
            seconds=SecondsPart(total=self.clock() - self.started, confirming=self.confirming, **spent),
            stopped=outcome.stopped if outcome else "",
            cost=_cost(self.model),
            error=error,
            top=self.options.top,
            version=rebug.__version__,
        )


def _cost(model: ModelRun | None) -> CostPart:
    if model is None:
        return CostPart()
    return CostPart.model_validate({**asdict(model.cost()), "prompts": modelling.prompt_versions()})


def decide(outcome: Outcome, findings: Sequence[Finding]) -> Status:
    """What a search that ended says. Only a confirmed finding is a reproduction; a cap outweighs a partial result."""
    if any(finding.confirmed for finding in findings):
        return Status.REPRODUCED
    if outcome.stopped in _CAPS:
        return Status.CAPPED
    if outcome.ranked and reached(outcome.ranked[0].loss.stage, Stage.KIND):
        return Status.PARTIAL
    return Status.NOT_REPRODUCED

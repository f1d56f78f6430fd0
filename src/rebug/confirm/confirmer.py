"""Confirmation: the last word on whether a trial is a reproduction.

The stand-alone script is run as its user would run it: plain interpreter, nothing of rebug loaded, in a clean
environment built from what its own header names, several times. If those runs disagree with the search, it is no
reproduction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rebug.confirm.explain import explanation
from rebug.confirm.header import ScriptSource
from rebug.confirm.standalone import requirements, standalone
from rebug.confirm.statistics import more_runs, repeats, stable
from rebug.errors import EnvironmentFailed
from rebug.judge import reached
from rebug.model import (
    Candidate,
    Ended,
    Environment,
    Finding,
    Observation,
    Repeats,
    Report,
    Stage,
    Symptom,
    SymptomKind,
    Trial,
    Variation,
)
from rebug.ports import Engine, Environments, Index, Job, Judge, Limits, Narrator, Situation

REPEATING_SECONDS = 30.0
"""Seconds that the repeated runs may take, summed over all of them; on several cores it takes less."""

MOST_GOOD_VERSIONS = 2
"""Stated good versions that are tried; each may need an environment of its own."""


@dataclass(kw_only=True)
class Confirmer:
    """Turns a trial into a finding. `plain_environment` builds an environment from requirements alone."""

    report: Report
    symptom: Symptom
    source: ScriptSource
    index: Index
    environments: Environments
    plain_environment: Callable[[Sequence[str]], Environment]
    engine: Engine
    judge: Judge
    limits: Limits = field(default_factory=Limits)
    runs: int = 4  # detection repeats
    good_versions: Sequence[str] = ()  # by the user's word; before the report's
    narrate: Narrator = lambda _: None

    def confirm(self, trial: Trial, trials: Sequence[Trial] = (), deadline: float | None = None) -> Finding:
        """The finding, confirmed or with the doubts that speak against it. Does not raise for a failed environment.

        `trials` are all of the search so far: what a script's assertion rests on may stand in its ancestors.
        """
        try:
            environment = self.plain_environment(self._requirements(trial.candidate))
        except EnvironmentFailed as failure:
            return self._unconfirmed(trial, f"its clean environment could not be built: {failure}")
        script, repeated = "", repeats(0, 0)
        doubts: tuple[str, ...] = ("it was not run",)
        for cut in (True, False):
            script = standalone(trial, self.symptom, self.source, environment, modules=self.index.modules, cut=cut)
            repeated, doubts = self._repeat(trial.candidate, script, environment, trials, deadline)
            if not doubts or repeated.failures:
                break
        last_good = ""
        if not doubts:
            last_good, doubts = self._discriminate(trial.candidate, script, deadline)
        proven = replace(trial.loss, total=0.02, stage=Stage.PROVEN) if last_good else trial.loss
        return Finding(
            trial=replace(trial, loss=proven) if not doubts else trial,
            script=script,
            test="",
            repeats=repeated,
            confirmed=not doubts,
            explanation=explanation(trial, self.symptom, repeated, last_good),
            last_good=last_good,
            lines_before=len(trial.candidate.script.splitlines()),
            doubts=doubts,
        )

    def _requirements(self, candidate: Candidate) -> tuple[str, ...]:
        base = self.environments.build(Variation())
        wanted = (*candidate.variation.requirements, *candidate.requirements)
        seen_with = self.environments.build(Variation(requirements=wanted)) if wanted else base
        return requirements(candidate, self.source, seen_with)

    def _unconfirmed(self, trial: Trial, doubt: str) -> Finding:
        return Finding(
            trial=trial,
            script=trial.candidate.script,
            test="",
            repeats=repeats(0, 0),
            confirmed=False,
            explanation=explanation(trial, self.symptom),
            doubts=(doubt,),
        )

    # ---------------------------------------------------------------------------------------------------------- repeats

    def _repeat(
        self,
        candidate: Candidate,
        script: str,
        environment: Environment,
        trials: Sequence[Trial],
        deadline: float | None,
    ) -> tuple[Repeats, tuple[str, ...]]:
        """Run the script `runs` times, more often when it comes and goes; no doubts when it is stable and fails for the
        reported reason."""
        situation = Situation(
            report=self.report,
            symptom=self.symptom,
            index=self.index,
            environment=environment,
            round=0,
            trials=trials,
        )
        standing = replace(candidate, script=script)
        verdicts: list[str] = []
        fickle, batch, seconds = self.symptom.kind is SymptomKind.RACE, self.runs, 0.0
        while True:
            seen = self._run(standing, environment, batch, deadline)
            verdicts += [self._disagreement(candidate, script, observation, situation) for observation in seen]
            seconds += sum(observation.seconds for observation in seen)
            failures, batch = sum(not verdict for verdict in verdicts), 4
            spent = seconds > REPEATING_SECONDS or any(observation.limit == "deadline" for observation in seen)
            if spent or not more_runs(failures, len(verdicts), fickle=fickle):
                break
        repeated = repeats(failures, len(verdicts))
        if stable(failures, len(verdicts)):
            return repeated, ()
        doubts = tuple(dict.fromkeys(verdict for verdict in verdicts if verdict))
        if failures:
            doubts = (f"it fails in {failures} of {len(verdicts)} runs only", *doubts)
        return repeated, doubts

    def _run(
        self, candidate: Candidate, environment: Environment, times: int, deadline: float | None
    ) -> list[Observation]:
        plain = replace(candidate, variation=Variation())
        job = Job(candidate=plain, environment=environment, limits=self.limits, harness=False)
        return self.engine.run([job] * times, deadline=deadline)

    def _disagreement(self, candidate: Candidate, script: str, observation: Observation, situation: Situation) -> str:
        """Why a plain run of the stand-alone script is not the reported failure; "" when it is."""
        if observation.ended is Ended.REFUSED:
            return f"its plain run was not possible: {observation.limit}"
        if observation.ended is Ended.EXITED and observation.exit == 0:
            return "its plain run exits 0 in a clean environment"
        if observation.ended is Ended.EXITED and observation.exit == 125:
            return "its plain run fails for another reason (exit 125)"
        trial = self.judge.judge(replace(candidate, script=script), observation, situation)
        if reached(trial.loss.stage, Stage.MATCH):
            return ""
        return f"its plain run shows something else: {trial.critique.shows} {trial.critique.differs}".strip()

    # -------------------------------------------------------------------------------------------------- good versions

    def _discriminate(self, candidate: Candidate, script: str, deadline: float | None) -> tuple[str, tuple[str, ...]]:
        """The first good version in which the script exits 0; a doubt when it fails in one said to be good."""
        for version in (*self.good_versions, *self.symptom.good_versions)[:MOST_GOOD_VERSIONS]:
            variation = Variation(subject_version=version, requirements=candidate.requirements)
            try:
                environment = self.environments.build(variation)
            except EnvironmentFailed as failure:
                self.narrate(f"version {version} could not be built to compare with: {failure}")
                continue
            observation = self._run(replace(candidate, script=script), environment, 1, deadline)[0]
            if observation.ended is Ended.EXITED and observation.exit == 0:
                return version, ()
            if observation.ended is Ended.EXITED and observation.exit not in {0, 125}:
                return "", (f"it fails in {version} too, which is said to be free of the bug",)
        return "", ()

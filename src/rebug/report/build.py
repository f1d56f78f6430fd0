"""From the values of a run to its `Result`. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from rebug.instruments import readings
from rebug.intake.logs import lines_of
from rebug.model import Basis, Failure, Finding, Frame, Observation, Repeats, Report, Status, Symptom, Trial, Variation
from rebug.report import schema
from rebug.store import decode, encode

T = TypeVar("T")

_TAIL = 2000  # characters of a candidate's output kept in result.json; all of it is in candidates/NN/observation.json
_FRAMES = 30
_FIGURES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All that is known at the end of a run, or at the moment it was stopped."""

    run_id: str
    status: Status
    report: Report
    symptom: Symptom
    subject: schema.SubjectPart
    ranked: Sequence[Trial] = ()  # best first, distinct
    trials: Sequence[Trial] = ()  # everything that ran
    findings: Sequence[Finding] = ()  # what confirmation made of some of them, the chosen one first
    counts: schema.CountsPart = field(default_factory=schema.CountsPart)
    seconds: schema.SecondsPart = field(default_factory=schema.SecondsPart)
    cost: schema.CostPart = field(default_factory=schema.CostPart)
    stopped: str = ""
    error: str = ""
    top: int = 5
    version: str = ""


def build(run: Run) -> schema.Result:
    """The result of a run; its candidates are `order(run)`."""
    run = replace(run, report=_valid(run.report), symptom=_valid(run.symptom), findings=[*map(_valid, run.findings)])
    findings = {finding.trial.candidate.id: finding for finding in run.findings}
    ranked = [_valid(trial) for trial in order(run)]
    chosen = run.findings[0] if run.findings else None
    reproduced = run.status is Status.REPRODUCED
    return schema.Result(
        run_id=run.run_id,
        status=run.status,
        score=ranked[0].loss.score if ranked else 0,
        report=schema.ReportPart(
            title=run.report.title, url=run.report.url, date=run.report.date, logs=_logs(run.report)
        ),
        subject=run.subject,
        symptom=_symptom(run.symptom),
        candidates=tuple(
            _candidate(rank, trial, findings.get(trial.candidate.id), run.subject.python)
            for rank, trial in enumerate(ranked, start=1)
        ),
        best=_best(chosen) if chosen else None,
        missing_information=() if reproduced else run.symptom.missing,
        cost=run.cost,
        counts=run.counts,
        seconds=run.seconds,
        stopped=run.stopped,
        doubts=chosen.doubts if chosen else (),
        tried=dict(Counter(trial.candidate.proposer for trial in run.trials)),
        measured=() if reproduced else _measured(run.trials),
        rebug_version=run.version,
        error=run.error,
    )


def _measured(trials: Sequence[Trial]) -> tuple[str, ...]:
    """What the instruments of scripts that exit 0 say, in order, at most `_FIGURES` sentences."""
    told = (
        reading.sentence
        for trial in map(_valid, trials)
        if trial.candidate.basis is Basis.MEASURED and trial.observation.exit == 0
        for reading in readings(trial.observation.stdout)
    )
    return tuple(dict.fromkeys(told))[:_FIGURES]


def order(run: Run) -> list[Trial]:
    """The trials to show, best first: the chosen finding's, then the ranking's, `top` in all.

    A finding's trial carries the loss after confirmation, so it stands for the ranked trial it was made from.
    """
    confirmed = {finding.trial.candidate.id: finding.trial for finding in run.findings}
    first = [run.findings[0].trial] if run.findings else []
    rest = [confirmed.get(trial.candidate.id, trial) for trial in run.ranked]
    chosen = first[0].candidate.id if first else None
    return [*first, *(trial for trial in rest if trial.candidate.id != chosen)][: run.top]


def _candidate(rank: int, trial: Trial, finding: Finding | None, python: str) -> schema.CandidatePart:
    candidate, loss = trial.candidate, trial.loss
    return schema.CandidatePart(
        rank=rank,
        id=candidate.id,
        round=candidate.round,
        parents=candidate.parents,
        proposer=candidate.proposer,
        score=loss.score,
        loss=schema.LossPart(total=loss.total, stage=loss.stage, parts=dict(loss.parts), reasons=loss.reasons),
        verdict=trial.verdict,
        hypothesis=schema.HypothesisPart.model_validate(encode(candidate.hypothesis)),
        script=script_path(rank),
        environment=schema.EnvironmentPart(
            python=candidate.variation.python or python,
            variation=_variation(candidate.variation),
            requirements=candidate.requirements,
        ),
        explanation=finding.explanation if finding else "",
        critique=_sentences(trial.critique.shows, trial.critique.differs, trial.critique.next),
        repeats=_repeats(finding.repeats) if finding else None,
        observation=_observation(trial.observation),
    )


def _valid(value: T) -> T:
    """The value with text that UTF-8 can hold: what a candidate printed may be any bytes."""
    return decode(type(value), encode(value))


def script_path(rank: int) -> str:
    """Where the script of the candidate of that rank lies below the run's directory."""
    return f"candidates/{rank:02d}/repro.py"


def _sentences(*texts: str) -> str:
    """Non-empty texts as one text, each ended by a full stop."""
    return " ".join(text if text.endswith((".", "!", "?")) else f"{text}." for text in map(str.strip, texts) if text)


def _best(finding: Finding) -> schema.BestPart:
    return schema.BestPart(
        minimized_from_lines=finding.lines_before,
        lines=len(finding.script.splitlines()),
        versions=schema.VersionsPart(last_good=finding.last_good),
        confirmed=finding.confirmed,
    )


def _repeats(repeats: Repeats) -> schema.RepeatsPart | None:
    return schema.RepeatsPart.model_validate(encode(repeats)) if repeats.runs else None


def _variation(variation: Variation) -> schema.VariationPart:
    return schema.VariationPart(
        subject_version=variation.subject_version,
        requirements=variation.requirements,
        python=variation.python,
        variables=dict(variation.variables),
        flags=variation.flags,
    )


def _symptom(symptom: Symptom) -> schema.SymptomPart:
    failure = symptom.failure
    return schema.SymptomPart(
        kind=symptom.kind,
        exception=failure.type if failure else "",
        message=failure.message if failure else next((value.text for value in symptom.messages), ""),
        actual=tuple(value.text for value in symptom.actual),
        expected=tuple(value.text for value in symptom.expected),
        signal=symptom.signal,
        quote=symptom.quote,
        line=symptom.line,
    )


def _logs(report: Report) -> tuple[str, ...]:
    """What stands out in the logs that came with the report; what the report itself shows needs no repetition."""
    digest = report.log_digest
    return tuple(lines_of(digest, 3000)) if digest is not None and report.attachments else ()


def _observation(seen: Observation) -> schema.ObservationPart:
    failure = seen.failures[0] if seen.failures else None
    frames = failure.frames if failure else next((stack for _, stack in seen.stacks), ())
    return schema.ObservationPart(
        ended=seen.ended.value,
        exit=seen.exit,
        signal=seen.signal,
        limit=seen.limit,
        exception=_exception(failure),
        frames=tuple(map(_frame, frames[-_FRAMES:])),
        seconds=seen.seconds,
        cpu_seconds=seen.cpu_seconds,
        peak_rss=seen.peak_rss,
        stdout=seen.stdout[-_TAIL:],
        stderr=seen.stderr[-_TAIL:],
    )


def _exception(failure: Failure | None) -> schema.ExceptionPart | None:
    return schema.ExceptionPart(type=failure.type, message=failure.message) if failure else None


def _frame(frame: Frame) -> schema.FramePart:
    return schema.FramePart(file=frame.file, line=frame.line, function=frame.function, code=frame.code)

"""Values that the tests of the report share."""

from dataclasses import replace

from rebug.model import (
    Candidate,
    Critique,
    Ended,
    Failure,
    Finding,
    Frame,
    Hypothesis,
    Loss,
    Observation,
    Repeats,
    Report,
    Stage,
    Status,
    Symptom,
    SymptomKind,
    Trial,
    Value,
    Verdict,
)
from rebug.report import Run
from rebug.report.schema import CountsPart, SecondsPart, SubjectPart

SCRIPT = "import pkg\n\npkg.fail()\n"


def trial(number: int, *, total: float = 0.05, stage: Stage = Stage.MATCH, claim: str = "fail() fails") -> Trial:
    return Trial(
        candidate=Candidate(
            script=SCRIPT, hypothesis=Hypothesis(claim=claim), proposer="snippet", id=f"c{number:04d}", round=1
        ),
        observation=Observation(
            ended=Ended.EXITED,
            exit=1,
            failures=(
                Failure(type="KeyError", message="'1000'", frames=(Frame(file="pkg/a.py", line=3, function="fail"),)),
            ),
            stderr="Traceback …\nKeyError: '1000'\n",
            seconds=0.25,
            peak_rss=1 << 24,
        ),
        loss=Loss(total=total, stage=stage, parts={"type": 0.0}, reasons=("another message",)),
        verdict=Verdict.SUPPORTED,
        critique=Critique(shows="It raises KeyError", differs="the message differs"),
    )


def finding(of: Trial, *, confirmed: bool = True) -> Finding:
    return Finding(
        trial=replace(of, loss=Loss(total=0.02, stage=Stage.PROVEN)) if confirmed else of,
        script="# fail() fails\n" + SCRIPT,
        test="",
        repeats=Repeats(runs=4, failures=4 if confirmed else 1, rate=1.0 if confirmed else 0.25, interval=(0.51, 1.0)),
        confirmed=confirmed,
        explanation="fail() fails.",
        last_good="1.9" if confirmed else "",
        lines_before=7,
        doubts=() if confirmed else ("it fails in 1 of 4 runs only",),
    )


def run(status: Status = Status.REPRODUCED, *, trials: int = 3, confirmed: bool = True) -> Run:
    ranked = [trial(n, total=0.05 + n / 10, stage=Stage.KIND if n else Stage.MATCH) for n in range(trials)]
    return Run(
        run_id="20260102-030405-abcdef",
        status=status,
        report=Report(title="fail() fails", body="…", url="https://example.org/issues/1", date="2026-01-02"),
        symptom=Symptom(
            kind=SymptomKind.EXCEPTION,
            failure=Failure(type="KeyError", message="'1000'"),
            actual=(Value(text="x"),),
            missing=("Which version is it?",),
            quote="KeyError: '1000'",
            line=12,
        ),
        subject=SubjectPart(source="pypi:pkg==2.0", version="2.0", python="3.11.7", package="pkg"),
        ranked=ranked,
        trials=ranked,
        findings=[finding(ranked[0], confirmed=confirmed)] if ranked else [],
        counts=CountsPart(proposed=5, duplicates=1, run=3, rounds=1),
        seconds=SecondsPart(total=12.5),
        stopped="reproduced" if status is Status.REPRODUCED else "stalled",
        version="0.1.0",
    )

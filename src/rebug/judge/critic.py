"""Verdict, signature and critique of a trial, from its evidence and loss. Pure; no model."""

from __future__ import annotations

from rebug.judge.stages import reached
from rebug.model import Critique, Ended, Failure, Loss, Observation, Stage, Symptom, SymptomKind, Verdict


def verdict(loss: Loss) -> Verdict:
    """What the run says of the hypothesis."""
    if loss.stage is Stage.UNRUNNABLE:
        return Verdict.UNTESTED
    if loss.stage is Stage.ENVIRONMENT:
        return Verdict.INCONCLUSIVE
    return Verdict.SUPPORTED if reached(loss.stage, Stage.MATCH) else Verdict.REFUTED


def signature(observation: Observation, loss: Loss) -> str:
    """What makes two failures the same for the search: how it ended, exception type, innermost frame, stage."""
    failure = observation.failures[0] if observation.failures else None
    frame = failure.frames[-1] if failure and failure.frames else None
    place = f"{frame.file}:{frame.function}" if frame else ""
    kind = failure.name if failure else f"{observation.ended.value}:{observation.exit}"
    return f"{loss.stage.value}|{kind}|{place}"


def critique(observation: Observation, loss: Loss, symptom: Symptom) -> Critique:
    """What the candidate shows, what still differs, what to try next."""
    return Critique(shows=shows(observation), differs="; ".join(loss.reasons), next=_next(loss, symptom))


def shows(observation: Observation) -> str:
    """One sentence on what the run did."""
    if observation.ended is Ended.REFUSED:
        return f"It did not run: {observation.limit or 'refused'}."
    if observation.ended is Ended.TIMED_OUT:
        return f"It was still running after {observation.seconds:.0f} s."
    if observation.ended is Ended.LIMITED:
        return f"It was stopped by the {observation.limit} limit."
    if observation.ended is Ended.SIGNALLED:
        return f"It was killed by {observation.signal}."
    if observation.failures:
        return f"{_described(observation.failures[0])} (exit {observation.exit})."
    last = observation.stdout.strip().splitlines()[-1:] or [""]
    return f"It exits {observation.exit}" + (
        f"; its last line is {last[0][:100]!r}." if last[0] else ", printing nothing."
    )


def _described(failure: Failure) -> str:
    text = f"{failure.name}: {failure.message.splitlines()[0][:160]}" if failure.message else failure.name
    frame = failure.frames[-1] if failure.frames else None
    return f"{text} in {frame.function} ({frame.file})" if frame else text


_NEXT = {
    Stage.UNRUNNABLE: "Mend the script so that it parses.",
    Stage.ENVIRONMENT: "Supply what it misses (dependency, file, name, service) and run it again.",
    Stage.OUTSIDE: "Call the software under test.",
    Stage.INSIDE: "Reach the functions the report points to.",
    Stage.NEAR: "Vary the input or the environment: the place is reached, the symptom is not there.",
    Stage.KIND: "Bring the details in line with the report.",
    Stage.MATCH: "Repeat it in fresh interpreters and run it where the bug is absent.",
    Stage.PROVEN: "",
}


def _next(loss: Loss, symptom: Symptom) -> str:
    if loss.stage is Stage.NEAR and symptom.kind is SymptomKind.WRONG_OUTPUT and not symptom.expected:
        return "Learn from the report, or from a version without the bug, which value is right."
    return _NEXT[loss.stage]

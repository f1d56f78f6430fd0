"""What an observation shows of the symptom, kind by kind. Each function is pure and returns an Evidence.

`distance` runs from 0 (everything checkable matches) to 1 (only the kind is right); `shown` says that the symptom's
kind was observed at all; `failing` that the script itself ends non-zero because of it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from rebug.judge import gate, traces
from rebug.judge.crash import crash
from rebug.judge.exhibit import NOTHING, TOLERANCE, Evidence, Exhibit, fails
from rebug.judge.hang import hang
from rebug.judge.leak import leak
from rebug.judge.log import exit_status, log, warning
from rebug.judge.messages import message_distance, normal, seen_in
from rebug.judge.provenance import telling_value
from rebug.judge.slow import slow
from rebug.judge.stall import stall
from rebug.model import Basis, Candidate, Ended, Failure, Frame, Observation, SymptomKind, Value


def exception(exhibit: Exhibit) -> Evidence:
    """The reported exception: type, message, frames of the subject in order."""
    reported = exhibit.symptom.failure
    if reported is None or not reported.type:
        return NOTHING
    compared = (
        _compare(reported, link, exhibit.observation, exhibit.tree, exhibit.modules)
        for failure in exhibit.observation.failures
        for link in traces.chain(failure)
        if link.name == reported.name
    )
    options = [option for option in compared if option is not None]
    best = min(options, key=lambda evidence: evidence.distance, default=None)
    if best is not None:
        return best
    return _asserted_text(exhibit.candidate, exhibit.observation, reported)


def _compare(
    reported: Failure, seen: Failure, observation: Observation, tree: ast.Module, modules: Sequence[str]
) -> Evidence | None:
    if gate.raised_by_script(seen, tree, modules):
        return None
    elsewhere = seen.where in {"printed", "child", "logged"}
    if not elsewhere and not gate.touches_subject(seen, tree, modules) and seen.where == "raised":
        return None
    wanted, got = traces.subject_frames(reported, modules), traces.subject_frames(seen, modules)
    message = message_distance(reported.message, seen.message)
    trace = traces.trace_distance(wanted, got)
    place = 0.0 if traces.innermost_met(wanted, got) or _place_unknown(reported, got) else 1.0
    reasons = []
    if message > 0:
        reasons.append(f"its message is {seen.message[:120]!r}, reported was {reported.message[:120]!r}")
    if place > 0:
        reasons.append(f"it is raised in {_name(got)}, the report has {_name(wanted)}")
    if not fails(observation):
        reasons.append("it shows itself, but the script exits 0")
    return Evidence(
        shown=True,
        failing=fails(observation),
        distance=max(message, min(1.0, 0.5 * trace + 0.3 * place)),
        parts={"exception": 0.0, "message": round(message, 3), "trace": round(trace, 3), "place": place},
        reasons=tuple(reasons),
        failure=seen,
    )


def _place_unknown(reported: Failure, got: Sequence[Frame]) -> bool:
    """Where it was raised cannot be compared: the report's stack is cut off, or exhaustion hits any frame."""
    if reported.name in {"RecursionError", "MemoryError"}:
        return True
    return not reported.complete and any(traces.same_place(reported.frames[-1], frame) for frame in got)


def _asserted_text(candidate: Candidate, observation: Observation, reported: Failure) -> Evidence:
    """A script may find the exception's last line in the output of a child process and exit 1 because of it."""
    last = f"{reported.name}: {reported.message.splitlines()[0]}" if reported.message else ""
    if not last or candidate.basis is Basis.NONE or not fails(observation):
        return NOTHING
    if not seen_in(last, observation.stdout + "\n" + observation.stderr):
        return NOTHING
    return Evidence(shown=True, failing=True, distance=0.2, parts={"exception": 0.0, "message": 0.0, "trace": 0.5})


def _name(frames: Sequence[Frame]) -> str:
    return f"{frames[-1].file}:{frames[-1].function}" if frames else "no frame of the subject"


def wrong_output(exhibit: Exhibit) -> Evidence:
    """The wrong value: asserted by the script on a basis that is not its own invention, or at least printed."""
    first = exhibit.observation.failures[0] if exhibit.observation.failures else None
    asserted = (
        exhibit.candidate.basis is not Basis.NONE
        and fails(exhibit.observation)
        and exhibit.observation.ended is Ended.EXITED
    )
    if asserted and (first is None or gate.asserted_by_script(first) or first.where in {"printed", "child"}):
        return _asserted_value(exhibit, first)
    seen = [
        value for value in exhibit.symptom.actual if value.exact and seen_in(value.text, exhibit.observation.stdout)
    ]
    right = [
        value for value in exhibit.symptom.expected if value.exact and seen_in(value.text, exhibit.observation.stdout)
    ]
    if seen and not right:
        return Evidence(
            shown=True,
            distance=0.1,
            parts={"actual": 0.0, "expected": 0.0},
            reasons=(f"it prints the wrong value {seen[0].text[:80]!r}, but the script exits 0",),
        )
    return NOTHING


def _asserted_value(exhibit: Exhibit, failure: Failure | None) -> Evidence:
    candidate, observation, symptom = exhibit.candidate, exhibit.observation, exhibit.symptom
    if candidate.basis is Basis.MODEL and not gate.uses_subject(exhibit.tree, exhibit.modules):
        return NOTHING
    shown = "\n".join([observation.stdout, observation.stderr, failure.message if failure else "", candidate.actual])
    told = any(_tells(value, shown) for value in symptom.actual)
    wanted = any(_tells(value, candidate.expected) for value in symptom.expected)
    particular = any(value.exact and telling_value(value.text) and _tells(value, shown) for value in symptom.actual)
    trusted = exhibit.own or particular  # else any input that gives so common a value would do
    another = not told and any(value.exact for value in symptom.actual)  # wrong, but not the wrong value reported
    distance = {
        Basis.REPORT: 0.4 if another or not trusted else 0.0 if told or wanted else 0.25,
        Basis.SCRIPT: 0.05,
        Basis.REGRESSION: (0.0 if told else 0.1) if symptom.good_versions else 0.2 if exhibit.tells_of_change else 0.5,
        Basis.MODEL: 0.1 if told else 0.6,
    }.get(candidate.basis, 1.0)
    doubt = "only the script says that the value is wrong"
    if another:
        doubt = "the wrong value is not the one reported"
    elif not trusted:
        doubt = "the value is a common one, and the inputs are not the reporter's"
    reasons = () if distance <= TOLERANCE else (doubt,)
    return Evidence(
        shown=True,
        failing=True,
        distance=distance,
        parts={"actual": 0.0 if told else 0.5, "expected": 0.0 if wanted else 0.5},
        reasons=reasons,
        failure=failure,
    )


def _tells(value: Value, text: str) -> bool:
    return bool(value.text) and (seen_in(value.text, text) or normal(value.text) in normal(text))


def hanging(exhibit: Exhibit) -> Evidence:
    """Stuck where the report says; what is reported as a hang may also end in a time-out's exception."""
    if exhibit.symptom.failure is not None and exhibit.symptom.failure.type:
        ended = exception(exhibit)
        if ended.matches:
            return ended
    return hang(exhibit)


def race(exhibit: Exhibit) -> Evidence:
    """What comes and goes is an exception, a wrong value or a hang like any other."""
    shown = (exception(exhibit), wrong_output(exhibit), hanging(exhibit))
    return min(shown, key=lambda evidence: (not evidence.matches, not evidence.shown, evidence.distance))


def slowness(exhibit: Exhibit) -> Evidence:
    """Time that grows with the input, or a step or an answer that takes longer under load."""
    return min(slow(exhibit), stall(exhibit), key=lambda evidence: (not evidence.shown, evidence.distance))


BY_KIND = {
    SymptomKind.EXCEPTION: exception,
    SymptomKind.RACE: race,
    SymptomKind.WRONG_OUTPUT: wrong_output,
    SymptomKind.WARNING: warning,
    SymptomKind.LOG: log,
    SymptomKind.EXIT: exit_status,
    SymptomKind.HANG: hanging,
    SymptomKind.CRASH: crash,
    SymptomKind.LEAK: leak,
    SymptomKind.SLOW: slowness,
}
"""Unknown symptoms have no evidence here: such candidates stay below `kind`."""

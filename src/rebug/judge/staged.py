"""The staged judge: puts each trial into the furthest stage that its evidence allows."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from rebug.judge import critic, gate, traces
from rebug.judge.evidence import BY_KIND
from rebug.judge.exhibit import NOTHING, Evidence, Exhibit
from rebug.judge.gate import asserted_by_script, in_script
from rebug.judge.provenance import refused_at_the_door, reporters_own
from rebug.judge.stages import place
from rebug.model import Candidate, Ended, Loss, Observation, Report, Stage, Symptom, Trial
from rebug.ports import Situation


class StagedJudge:
    """Implements `rebug.ports.Judge` for symptoms that one run can show. Pure."""

    def judge(self, candidate: Candidate, observation: Observation, situation: Situation) -> Trial:
        loss = measure(candidate, observation, situation)
        return Trial(
            candidate=candidate,
            observation=observation,
            loss=loss,
            verdict=critic.verdict(loss),
            critique=critic.critique(observation, loss, situation.symptom),
            signature=critic.signature(observation, loss),
        )


def measure(candidate: Candidate, observation: Observation, situation: Situation) -> Loss:
    """The staged loss of one run."""
    symptom, modules = situation.symptom, tuple(situation.index.modules)
    tree = gate.parse(candidate.script)
    if tree is None:
        return place(Stage.UNRUNNABLE, 1.0, reasons=("the script does not parse",))
    banned = gate.forbidden(tree, situation.index)
    if banned:
        return place(Stage.UNRUNNABLE, 1.0, reasons=(banned,))
    own = reporters_own(candidate, situation.trials, situation.report)
    evidence = BY_KIND.get(symptom.kind, _none)(
        Exhibit(
            candidate=candidate,
            observation=observation,
            symptom=symptom,
            tree=tree,
            modules=modules,
            own=own,
            tells_of_change=tells_of_change(situation.report),
            logged="\n".join(one.text[-50_000:] for one in situation.report.attachments),
            told=f"{situation.report.title}\n{situation.report.body[:50_000]}",
        )
    )
    around = gate.surroundings(observation, symptom)
    if around and not evidence.shown:
        return place(Stage.ENVIRONMENT, 0.0 if observation.reached else 0.5, reasons=(around,))
    if evidence.shown:
        vague = not own and not specific(symptom, modules)
        if not own and _may_be_proper(evidence, observation, tree, modules):
            doubt = "input that the report does not show may be refused with this exception quite rightly"
            evidence = replace(evidence, distance=max(evidence.distance, 0.3), reasons=(*evidence.reasons, doubt))
        return _symptomatic(replace(evidence, distance=max(evidence.distance, 0.5)) if vague else evidence)
    loss = _reaching(observation, symptom, tree, modules)
    return replace(loss, reasons=(*evidence.reasons, *loss.reasons))


def _may_be_proper(evidence: Evidence, observation: Observation, tree: ast.Module, modules: Sequence[str]) -> bool:
    failure = evidence.failure
    if failure is None or asserted_by_script(failure):
        return False
    lines = [frame.line for frame in failure.frames if in_script(frame)]
    line = lines[-1] if lines else observation.script_line
    return refused_at_the_door(failure, line, tree, gate.names_of_subject(tree, modules))


def specific(symptom: Symptom, modules: Sequence[str]) -> bool:
    """Whether the symptom says enough to be recognised in a script that is not the reporter's own: an exception type
    alone fits too many faults."""
    if symptom.failure is None or not symptom.failure.type:
        return True
    words = re.findall(r"\w{2,}", symptom.failure.message)
    return len(words) >= 2 or bool(traces.subject_frames(symptom.failure, modules))


_CHANGE = re.compile(
    r"\b(?:upgrad|updat|bump|regress|used to|no longer|any ?more|broke|since|new(?:er|est)? (?:release|version)|"
    r"(?:after|when) (?:moving|switching|going) to)",
    re.IGNORECASE,
)


def tells_of_change(report: Report) -> bool:
    """Whether the report says that something changed with a version of the software."""
    return bool(_CHANGE.search(report.title + "\n" + report.body[:20_000])) and bool(report.versions)


def _none(_: Exhibit) -> Evidence:
    return NOTHING


def _symptomatic(evidence: Evidence) -> Loss:
    if evidence.matches:
        return place(Stage.MATCH, evidence.distance, evidence.parts, evidence.reasons)
    return place(Stage.KIND, 0.1 + 0.9 * evidence.distance, evidence.parts, evidence.reasons)


def _reaching(observation: Observation, symptom: Symptom, tree: ast.Module, modules: Sequence[str]) -> Loss:
    """The symptom did not show: how near did the run come to the place it should show at?"""
    reached = (*observation.reached, *_on_stacks(observation, modules))
    if not reached and not gate.names_of_subject(tree, modules):
        return place(Stage.OUTSIDE, 0.5, reasons=("it never entered the software under test",))
    wanted = suspected_functions(symptom, modules)
    missed = traces.unreached(wanted, reached)
    parts = {"reach": round(missed, 3)}
    if not wanted or (missed and _innermost(wanted) not in _functions(reached)):
        distance = traces.crash_distance(missed or 1.0, 1.0, 1.0)
        return place(Stage.INSIDE, distance if reached else 1.0, parts, _missing(wanted, reached))
    distance = 0.5 + 0.5 * missed
    if observation.ended is Ended.EXITED and observation.failures and symptom.failure is not None:
        distance -= 0.2  # it fails at least, if otherwise
    return place(Stage.NEAR, distance, parts, ("it reaches the place the report points to, without the symptom",))


def suspected_functions(symptom: Symptom, modules: Sequence[str]) -> tuple[str, ...]:
    """Functions that a reproduction has to enter: the subject's frames of the report, else the names it mentions."""
    frames = traces.subject_frames(symptom.failure, modules)
    names = [frame.function for frame in frames if frame.function and not frame.function.startswith("<")]
    if not names:
        names = [name.rpartition(".")[2].rstrip("()") for name in symptom.suspects[:3]]
    return tuple(dict.fromkeys(names))


def _innermost(wanted: Sequence[str]) -> str:
    return wanted[-1].rpartition(".")[2]


def _functions(reached: Sequence[str]) -> set[str]:
    return {entry.rpartition(":")[2].rpartition(".")[2] for entry in reached}


def _missing(wanted: Sequence[str], reached: Sequence[str]) -> tuple[str, ...]:
    entered = _functions(reached)
    missed = [name for name in wanted if name.rpartition(".")[2] not in entered]
    if missed:
        return (f"it does not reach {', '.join(missed[:4])}",)
    return ("the report names no place to reach",) if not wanted else ()


def _on_stacks(observation: Observation, modules: Sequence[str]) -> tuple[str, ...]:
    frames = [frame for failure in observation.failures for frame in failure.frames]
    frames += [frame for _, stack in observation.stacks for frame in stack]
    return tuple(f"{frame.file}:{frame.function}" for frame in frames if traces.in_subject(frame, modules))

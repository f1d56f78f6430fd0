"""Hangs: what is stuck, and whether it is stuck where the report says. Pure.

A reading of the watchdog tells of each thread and task by which calls it was in throughout some seconds, and whether
anything in it moved. A stack taken once, at the time limit or by faulthandler, says less: it shows where a run was.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebug.instruments import Reading, genuine, readings
from rebug.judge import acts, gate, traces
from rebug.judge.exhibit import NOTHING, Evidence, Exhibit, fails, said
from rebug.model import Ended, Failure, Frame

_IDLE = re.compile(
    r"_*(?:a?(?:recv|receive|read|readline|readexactly|get|accept|wait|poll|select|listen|serve|consume|iter|next)"
    r"|recv_into|serve_forever|run_forever|run_until_complete|run|run_app|start_serving|wait_closed|wait_for_\w+|mainloop"
    r"|__iter__|__next__|__anext__|recv_events|read_loop|watch|subscribe|get_message|loop|main|sleep|join)_*"
)
"""Calls that wait by their nature, for as long as nobody gives them anything."""


_LARGE = 10**6


@dataclass(frozen=True, slots=True)
class Strand:
    """A thread or task that did not end: the calls that it was in, outermost first."""

    frames: tuple[Frame, ...]
    who: str = "thread"  # main | thread | task
    waits: bool = True  # nothing in it moved; else its innermost call goes round


def hang(exhibit: Exhibit) -> Evidence:
    """Stuck at the reported place; failing where the script itself ends because of it."""
    found = [reading for reading in readings(said(exhibit.observation)) if reading.kind == "hang"]
    if found and fails(exhibit.observation):
        sound = genuine(exhibit.tree, "watchdog") and _watches_subject(exhibit)
        return _evidence(strands_of(found[0]), exhibit, failing=True) if sound else NOTHING
    watchdog = "Timeout (" in exhibit.observation.stderr and fails(exhibit.observation)
    if not watchdog and exhibit.observation.ended is not Ended.TIMED_OUT:
        return NOTHING
    stacks = [frames for _, frames in exhibit.observation.stacks]
    stacks += [failure.frames for failure in exhibit.observation.failures if not failure.type]
    return _evidence([Strand(frames, waits=False) for frames in stacks], exhibit, failing=watchdog)


def strands_of(reading: Reading) -> list[Strand]:
    """The strands in a reading: `strand_a=main,waits,innermost,…,outermost`."""
    found = []
    for name, text in reading.figures.items():
        who, _, rest = text.partition(",")
        how, *names = rest.split(",")
        if name.startswith("strand_") and names:
            frames = [Frame(file=n.rpartition(":")[0], line=None, function=n.rpartition(":")[2]) for n in names]
            found.append(Strand(tuple(frames[::-1]), who, how == "waits"))
    return found


def _watches_subject(exhibit: Exhibit) -> bool:
    """Whether the function that the watchdog is given, or else the program that it watches, uses the subject."""
    act = acts.act_of(exhibit.tree, "hang")
    if act is not None:
        return acts.calls_subject(act, exhibit.tree, exhibit.modules)
    return gate.uses_subject(exhibit.tree, exhibit.modules)


def _evidence(strands: Sequence[Strand], exhibit: Exhibit, *, failing: bool) -> Evidence:
    inside = [strand for strand in strands if _inside(strand.frames, exhibit.modules)]
    reported = list(reported_stacks(exhibit.symptom.failure))
    with_place = [stack for stack in reported if _inside(stack, exhibit.modules)]
    if with_place:
        distance = min((_nearness(s, w, exhibit) for s in inside for w in with_place), default=1.0)
        doubt = "it is stuck at another place than reported"
    elif led := [frame for stack in reported if (frame := _led_to(stack)) is not None]:
        distance = 0.1 if any(_waits_in(strand, led, exhibit) for strand in strands) else 0.5
        doubt = "it does not wait in the call in which the reported program waits"
    else:
        distance = min((_named(strand, exhibit) for strand in inside), default=1.0)
        doubt = "nothing shows that this is the reported place, and it may wait rightly"
    if not inside and distance > 0.25:
        return NOTHING
    reasons = [doubt] if distance > 0.25 else []
    reasons += [] if failing else ["it hangs, but the script has no time limit of its own"]
    return Evidence(shown=True, failing=failing, distance=distance, parts={"place": distance}, reasons=tuple(reasons))


def _inside(frames: Sequence[Frame], modules: Sequence[str]) -> list[Frame]:
    return [
        frame
        for frame in frames
        if traces.in_subject(frame, modules) and not frame.file.startswith(("std:", "script")) and not _std(frame)
    ]


def _std(frame: Frame) -> bool:
    path = frame.file.replace("\\", "/")
    if not path.startswith(("/", "<")) and ":" not in path:  # as py-spy shortens them
        return path.partition("/")[0].removesuffix(".py") in sys.stdlib_module_names
    return "-packages/" not in path and bool(re.search(r"/lib(?:64)?/python3|^<frozen", path))


def reported_stacks(failure: Failure | None) -> Iterator[Sequence[Frame]]:
    """The stacks that the report shows of what hangs: of a dump all threads', of a time-out's exception its causes'."""
    waiting = [failure] if failure is not None else []
    for _ in range(20):
        if waiting:
            current = waiting.pop(0)
            waiting += [*current.members, *([current.cause] if current.cause is not None else [])]
            if current.frames:
                yield current.frames


def _nearness(strand: Strand, reported: Sequence[Frame], exhibit: Exhibit) -> float:
    """How far a strand is from a reported stack that shows the subject: 0 at its innermost place."""
    wanted, seen = _inside(reported, exhibit.modules), _inside(strand.frames, exhibit.modules)
    if traces.same_place(wanted[-1], seen[-1]):
        distance = 0.2 * traces.trace_distance(wanted[-4:], seen)
    elif not strand.waits and (
        any(traces.same_place(frame, seen[-1]) for frame in wanted)
        or any(traces.same_place(frame, wanted[-1]) for frame in seen)
    ):
        distance = 0.2  # in a loop, one look catches one of its turns
    else:
        return 0.4 + 0.4 * traces.trace_distance(wanted, seen)
    return max(distance, 0.3) if _rightly(strand, exhibit) and not exhibit.own else distance


def _rightly(strand: Strand, exhibit: Exhibit) -> bool:
    """Whether a strand may wait rightly: all that it does in the subject is to wait for something to be given."""
    names = [frame.function for frame in _inside(strand.frames, exhibit.modules)]
    return bool(names) and all(_IDLE.fullmatch(name.rpartition(".")[2]) for name in (names[0], names[-1]))


def _led_to(frames: Sequence[Frame]) -> Frame | None:
    """Where the stack ends in the standard library: the call that led there."""
    inner = None
    for frame in reversed(frames):
        if not _std(frame):
            break
        inner = frame
    return inner


def _waits_in(strand: Strand, led: Sequence[Frame], exhibit: Exhibit) -> bool:
    """Whether a strand waits in one of these calls of the standard library, made on an object of the subject."""
    last = strand.frames[-1]
    if not last.file.startswith("std:") or not strand.waits:
        return False
    met = [f for f in led if f.function == last.function and f.file.rpartition("/")[2] == last.file[4:]]
    names = gate.names_of_subject(exhibit.tree, exhibit.modules)
    calls = [node.func for node in ast.walk(exhibit.tree) if isinstance(node, ast.Call)]
    return any(
        isinstance(func, ast.Attribute)
        and func.attr == frame.function
        and any(isinstance(leaf, ast.Name) and leaf.id in names for leaf in ast.walk(func))
        for frame in met
        for func in calls
    )


def _named(strand: Strand, exhibit: Exhibit) -> float:
    """How far a strand is from a report that shows no stack: by the names on the way."""
    names = {frame.function.rpartition(".")[2] for frame in _inside(strand.frames, exhibit.modules)}
    told = {name.rpartition(".")[2] for name in exhibit.symptom.suspects}
    told |= set(re.findall(r"[A-Za-z_]\w{2,60}", exhibit.told.partition("\n")[0]))
    idle = _rightly(strand, exhibit)
    if exhibit.own:
        return 0.4 if idle and not names & told else 0.15
    if not names & told:
        return 0.6
    if idle or (not strand.waits and _large(exhibit.tree)):
        return 0.35
    asked = strand.who == "main" and acts.act_of(exhibit.tree, "hang") is not None
    return 0.2 if asked or exhibit.symptom.good_versions else 0.35


def _large(tree: ast.Module) -> bool:
    """Whether the script has a number so large that sound code may count up to it for hours."""
    numbers = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    powers = any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) for node in ast.walk(tree))
    return powers or any(isinstance(number, int | float) and abs(number) >= _LARGE for number in numbers)

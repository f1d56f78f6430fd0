"""Slowness: time that grows faster than the input, or out of proportion to a control, spent in the subject. Pure."""

from __future__ import annotations

import ast
import re

from rebug.instruments import Reading, genuine, readings
from rebug.intake.shapes import described, multiplied
from rebug.judge import acts, gate, traces
from rebug.judge.exhibit import NOTHING, Evidence, Exhibit, fails, said
from rebug.model import Basis, Frame

_LEAST_ORDER = 1.6
_LEAST_SHARE = 0.5


def slow(exhibit: Exhibit) -> Evidence:
    """A genuine reading of growth whose time is spent in the subject, under a function that the report names, with an
    input that the report speaks of."""
    measured = exhibit.candidate.basis is Basis.MEASURED and fails(exhibit.observation)
    found = [reading for reading in readings(said(exhibit.observation)) if reading.kind == "slow"]
    if not found or not measured or not genuine(exhibit.tree, "growth"):
        return NOTHING
    reading, act = found[0], acts.act_of(exhibit.tree, "growth")
    if act is None or not acts.calls_subject(act, exhibit.tree, exhibit.modules):
        return NOTHING
    if reading.number("order") < _LEAST_ORDER or reading.number("share") < _LEAST_SHARE:
        return NOTHING
    if not in_the_subject(reading, exhibit):
        reason = f"the time is spent in {reading.figures.get('place', '')}, outside the software under test"
        return Evidence(shown=True, distance=1.0, reasons=(reason,))
    place, shape = _place_distance(reading, act, exhibit), _shape_distance(act, exhibit)
    reasons = []
    if place > 0.25:
        reasons.append(f"the time is spent in {reading.figures['place']}, which the report does not speak of")
    if shape > 0.25:
        reasons.append("the input that makes it slow is not one that the report speaks of")
    return Evidence(
        shown=True,
        failing=True,
        distance=max(place, shape),
        parts={"place": place, "shape": shape},
        reasons=tuple(reasons),
    )


def in_the_subject(reading: Reading, exhibit: Exhibit) -> bool:
    """Whether the function in which the time is spent is the subject's; for compiled code, which leaves no frame,
    whether the script's line that takes the time calls the subject."""
    file, _, function = reading.figures.get("place", "").rpartition(":")
    if file != "script":
        return bool(file) and traces.in_subject(Frame(file=file, line=None, function=function), exhibit.modules)
    names = gate.names_of_subject(exhibit.tree, exhibit.modules)
    line = int(function) if function.isdigit() else 0
    calls = [
        node
        for node in ast.walk(exhibit.tree)
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return any(isinstance(leaf, ast.Name) and leaf.id in names for call in calls for leaf in ast.walk(call.func))


def names_on_path(reading: Reading) -> set[str]:
    """The functions and classes that are on the stack while the time is spent."""
    entries = [reading.figures.get("place", ""), *reading.figures.get("via", "").split(">")]
    return {name for entry in entries for name in re.findall(r"[A-Za-z_]\w*", entry.rpartition(":")[2])} - {
        "locals",
        "genexpr",
        "listcomp",
        "lambda",
    }


def _place_distance(reading: Reading, act: acts.Function, exhibit: Exhibit) -> float:
    if exhibit.own:
        return 0.0
    wanted = {part for name in exhibit.symptom.suspects for part in name.split(".")} - set(exhibit.modules)
    frames = traces.subject_frames(exhibit.symptom.failure, exhibit.modules)
    wanted |= {frame.function.rpartition(".")[2] for frame in frames}
    if wanted & names_on_path(reading):
        return 0.0
    told = acts.names_told(act, exhibit.told) - set(exhibit.modules)
    if wanted & told:
        return 0.1
    return 0.2 if told and not wanted else 0.6


def _shape_distance(act: acts.Function, exhibit: Exhibit) -> float:
    if exhibit.own:
        return 0.0
    pieces = multiplied(act, act.args.args[0].arg) if act.args.args else []
    return 0.0 if not pieces or any(described(piece, exhibit.told) for piece in pieces) else 0.5

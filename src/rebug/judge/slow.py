"""Slowness: time that grows faster than the input, or out of proportion to a control, spent in the subject. Pure."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import Any

from rebug.instruments import Reading, genuine, readings
from rebug.intake.factors import factor_said
from rebug.intake.shapes import described
from rebug.judge import acts, gate, traces
from rebug.judge.exhibit import NOTHING, TOLERANCE, Evidence, Exhibit, fails, said
from rebug.model import Basis, Frame

_LEAST_ORDER = 1.6
_LEAST_SHARE = 0.5
_LEAST_RATIO = 3.0
_SMALL = 100  # a number below that is an option rather than a size


def slow(exhibit: Exhibit) -> Evidence:
    """A genuine reading of growth or of a ratio, of time that is the subject's own."""
    if exhibit.candidate.basis is not Basis.MEASURED or not fails(exhibit.observation):
        return NOTHING
    found = [reading for reading in readings(said(exhibit.observation)) if reading.kind == "slow"]
    if found and "ratio" in found[0].figures:
        return slower(found[0], exhibit)
    return grows(found[0], exhibit) if found else NOTHING


def grows(reading: Reading, exhibit: Exhibit) -> Evidence:
    """Time that grows faster than the input, under a function that the report names, with an input that the report
    speaks of."""
    act = acts.act_of(exhibit.tree, "growth") if genuine(exhibit.tree, "growth") else None
    if act is None or not acts.calls_subject(act, exhibit.tree, exhibit.modules):
        return NOTHING
    if reading.number("order") < _LEAST_ORDER or reading.number("share") < _LEAST_SHARE:
        return NOTHING
    if not in_the_subject(reading, exhibit):
        reason = f"the time is spent in {reading.figures.get('place', '')}, outside the software under test"
        return Evidence(shown=True, distance=1.0, reasons=(reason,))
    place, shape = _place_distance(names_on_path(reading), act, exhibit), _shape_distance(act, exhibit)
    reasons = []
    if place > TOLERANCE:
        reasons.append(f"the time is spent in {reading.figures['place']}, which the report does not speak of")
    if shape > TOLERANCE:
        reasons.append("the input that makes it slow is not one that the report speaks of")
    return Evidence(
        shown=True,
        failing=True,
        distance=max(place, shape),
        parts={"place": place, "shape": shape},
        reasons=tuple(reasons),
    )


def slower(reading: Reading, exhibit: Exhibit) -> Evidence:
    """One call that takes many times as long as another that does the same, by a factor of the order reported."""
    pair = handed(exhibit.tree, "ratio") if genuine(exhibit.tree, "ratio") else []
    if len(pair) != 2 or not all(acts.calls_subject(act, exhibit.tree, exhibit.modules) for act in pair):
        return NOTHING
    if min(reading.number("ratio"), reading.number("least")) < _LEAST_RATIO:
        return NOTHING
    reported = factor_said(exhibit.told)
    place = _place_distance(set(), pair[0], exhibit)
    alike = 0.0 if comparable(*pair) else 0.6
    size = 0.5 if reported < _LEAST_RATIO else 0.0 if reading.number("ratio") >= reported**0.5 else 0.4
    reasons = [
        reason
        for distance, reason in (
            (place, "the report does not speak of the call that is slow"),
            (alike, "the control does other work than the call that is slow"),
            (size, f"it is {reading.number('ratio'):.3g} times slower, which is not what is reported"),
        )
        if distance > TOLERANCE
    ]
    parts = {"place": place, "control": alike, "ratio": size}
    return Evidence(shown=True, failing=True, distance=max(parts.values()), parts=parts, reasons=tuple(reasons))


def handed(tree: ast.Module, instrument: str) -> list[acts.Function]:
    """The functions that the script's last call of an instrument is given, by name, each defined once."""
    calls = [node.value for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    own = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == instrument]
    names = [arg.id for call in own[-1:] for arg in call.args if isinstance(arg, ast.Name)]
    found = [[node for node in tree.body if isinstance(node, acts.Function) and node.name == name] for name in names]
    return [nodes[0] for nodes in found if len(nodes) == 1]


def comparable(act: acts.Function, control: acts.Function) -> bool:
    """Whether two functions do the same but for an option: the same calls save one, and data of about one size."""
    mine, theirs = _called(act), _called(control)
    if sum((mine - theirs).values()) > 1 or sum((theirs - mine).values()) > 1:
        return False
    numbers = [{n for n in _constants(one, int | float) if abs(n) >= _SMALL} for one in (act, control)]
    sizes = [1 + sum(map(len, _constants(one, str | bytes))) for one in (act, control)]
    return numbers[0] == numbers[1] and max(sizes) <= 4 * min(sizes) + 40


def _called(function: acts.Function) -> Counter[str]:
    return Counter(ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call))


def _constants(function: acts.Function, kind: Any) -> list[Any]:
    return [n.value for n in ast.walk(function) if isinstance(n, ast.Constant) and isinstance(n.value, kind)]


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


def _place_distance(path: set[str], act: acts.Function, exhibit: Exhibit) -> float:
    if exhibit.own:
        return 0.0
    wanted = {part for name in exhibit.symptom.suspects for part in name.split(".")} - set(exhibit.modules)
    frames = traces.subject_frames(exhibit.symptom.failure, exhibit.modules)
    wanted |= {frame.function.rpartition(".")[2] for frame in frames}
    if wanted & path:
        return 0.0
    told = acts.names_told(act, exhibit.told) - set(exhibit.modules)
    if wanted & told:
        return 0.1
    return 0.2 if told and not wanted else 0.6


def _shape_distance(act: acts.Function, exhibit: Exhibit) -> float:
    if exhibit.own:
        return 0.0
    pieces = grown(act)
    return 0.0 if not pieces or any(described(piece, exhibit.told) for piece in pieces) else 0.5


def grown(act: acts.Function) -> list[str]:
    """The texts that the function multiplies by its size."""
    size = act.args.args[0].arg if act.args.args else ""
    found = []
    for node in ast.walk(act):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            leaves = [leaf for side in (node.left, node.right) for leaf in ast.walk(side)]
            texts = [leaf.value for leaf in leaves if isinstance(leaf, ast.Constant)]
            if any(isinstance(leaf, ast.Name) and leaf.id == size for leaf in leaves):
                found.append("".join(_text(value) for value in texts if isinstance(value, str | bytes)))
    return [piece for piece in found if piece]


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")

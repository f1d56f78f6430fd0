"""Slowness under load: a server's steps or answers, measured with and without what the report says is done meanwhile.

Pure. A reading counts if the instrument is unaltered, the server is the subject's, the load is small enough for sound
software to bear, and what takes the time is the subject's own code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from rebug.instruments import Reading, genuine, readings
from rebug.intake.interaction import kinship
from rebug.judge import acts
from rebug.judge.exhibit import NOTHING, Evidence, Exhibit, fails, said
from rebug.model import Basis

_LEAST_RATIO = 1.5
_LARGEST_LOAD = 4000
"""Characters of a request that a client is said to send ten times a second; a flood slows down anything."""


def stall(exhibit: Exhibit) -> Evidence:
    """A genuine reading of a step or an answer that takes longer under the reported load."""
    found = [reading for reading in readings(said(exhibit.observation)) if reading.kind == "stall"]
    if exhibit.candidate.basis is not Basis.MEASURED or not found:
        return NOTHING
    if not fails(exhibit.observation):
        return Evidence(reasons=(f"measured: {found[0].sentence}",))
    if found[0].number("ratio") < _LEAST_RATIO:
        return NOTHING
    if genuine(exhibit.tree, "stall") and acts.act_of(exhibit.tree, "stall") is not None:
        return _of_loop(found[0], exhibit)
    call = _load_call(exhibit.tree) if genuine(exhibit.tree, "load") else None
    return _of_server(found[0], call, exhibit) if call is not None else NOTHING


def _of_loop(reading: Reading, exhibit: Exhibit) -> Evidence:
    """The event loop stands still while the subject's coroutine runs."""
    act = acts.act_of(exhibit.tree, "stall")
    if act is None or not acts.calls_subject(act, exhibit.tree, exhibit.modules):
        return NOTHING
    outside = _outside(reading, exhibit.modules)
    wanted = {name.rpartition(".")[2] for name in exhibit.symptom.suspects}
    told = acts.names_told(act, exhibit.told) | (_words(reading.figures.get("place", "")) & wanted)
    place = 0.0 if exhibit.own or wanted & told else 0.2 if told and not wanted else 0.6
    return _evidence(reading, {"place": max(place, outside)})


def _of_server(reading: Reading, call: ast.Call, exhibit: Exhibit) -> Evidence:
    target = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if not isinstance(target, str) or re.split(r"[.:]", target)[0] not in exhibit.modules:
        return NOTHING
    top = re.split(r"[.:]", target)[0]
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    act, job = (_plain(given.get(name)) for name in ("act", "job"))
    load = act or job
    strain = exhibit.symptom.strain
    metric, wanted = reading.figures.get("metric", ""), strain.metric if strain else ""
    parts = {
        "metric": 0.4 if wanted and not metric.startswith(wanted) else 0.0,
        "load": 0.3,
        "place": 0.2 if reading.figures.get("place", "-") == "-" else _outside(reading, exhibit.modules),
    }
    if len(load) > _LARGEST_LOAD or not load:
        parts["load"] = 1.0
    elif _mentions(exhibit.tree, f"{top}.py"):
        parts["load"] = 0.5  # it may have written a server of that name itself
    elif strain is not None:
        words = _words(load) | (_words(reading.figures.get("place", "")) if not act else set())
        words |= {"job", "run", "task"} if not act else set()
        parts["load"] = 0.0 if kinship(words, strain.meanwhile) > 0 else 0.3
    return _evidence(reading, parts)


def _evidence(reading: Reading, parts: dict[str, float]) -> Evidence:
    said_of = {
        "metric": "what gets slow is not what the report says gets slow",
        "load": "what is done meanwhile is not what the report speaks of",
        "place": f"the time goes to {reading.figures.get('place', '-')}, not to a place that speaks for the report",
    }
    reasons = tuple(said_of[name] for name, distance in parts.items() if distance > 0.25)
    return Evidence(shown=True, failing=True, distance=max(parts.values()), parts=parts, reasons=reasons)


def _outside(reading: Reading, modules: Sequence[str]) -> float:
    """1 where the place is not in the subject's code; places are paths below its root."""
    places = [reading.figures.get("place", "-"), *reading.figures.get("via", "").split(">")]
    files = [place.partition(":")[0].replace("\\", "/").split("/") for place in places]
    return 0.0 if {part.removesuffix(".py") for file in files for part in file} & set(modules) else 1.0


def _load_call(tree: ast.Module) -> ast.Call | None:
    """The one call of the instrument at the script's top level."""
    calls = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Name) and node.value.func.id == "load"
    ]
    return calls[0] if len(calls) == 1 else None


def _mentions(tree: ast.Module, name: str) -> bool:
    """Whether the script names a file of that name."""
    texts = (leaf.value for leaf in ast.walk(tree) if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str))
    return any(text == name or text.endswith(f"/{name}") for text in texts)


def _plain(node: ast.expr | None) -> str:
    """The text of a request that is written out in the call; what is computed counts as a flood."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return ""
    computed = any(isinstance(leaf, ast.Call | ast.BinOp | ast.Name) for leaf in ast.walk(node))
    return "x" * (_LARGEST_LOAD + 1) if computed else ast.unparse(node)


def _words(text: str) -> set[str]:
    return {word.lower() for name in re.findall(r"[A-Za-z_]{3,60}", text) for word in name.split("_")}

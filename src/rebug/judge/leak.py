"""Leaks: growth with every call, measured by the instrument around a call into the subject. Pure."""

from __future__ import annotations

from rebug.instruments import Reading, genuine, readings
from rebug.intake.leaks import resources
from rebug.judge import acts
from rebug.judge.exhibit import NOTHING, Evidence, Exhibit, fails, said
from rebug.model import Basis

_SAME = {"objects": "memory", "unclosed": "descriptors"}
"""What a reading may stand for in words: objects that are kept are memory, what is not closed holds a descriptor."""

_OPENED = {"descriptors", "threads", "processes", "tasks", "unclosed"}
"""Resources that go on existing until somebody ends them."""


def leak(exhibit: Exhibit) -> Evidence:
    """A genuine reading of growth per call, of the resource reported, around a call of what the report names."""
    found = [reading for reading in readings(said(exhibit.observation)) if reading.kind == "leak"]
    measured = exhibit.candidate.basis is Basis.MEASURED and genuine(exhibit.tree, "leak")
    act = acts.act_of(exhibit.tree, "leak")
    if not found or not measured or act is None or not fails(exhibit.observation):
        return NOTHING
    if not acts.calls_subject(act, exhibit.tree, exhibit.modules):
        return NOTHING
    kept = acts.keeps(act, exhibit.tree)
    if not kept and not exhibit.own and not acts.stands_in(act, exhibit.told):
        kept = acts.fills(act, exhibit.tree)
        if not kept and found[0].figures.get("resource", "") in _OPENED:
            kept = acts.leaves_open(act, exhibit.tree)
    if kept:
        return Evidence(shown=True, failing=False, distance=1.0, reasons=(kept,))
    resource, place = _resource_distance(found[0], exhibit), _place_distance(act, exhibit)
    reasons = []
    if resource:
        reasons.append(f"it keeps {found[0].figures.get('resource', '')}, which is not what is reported to leak")
    if place:
        reasons.append("the calls that are repeated are not those that the report speaks of")
    return Evidence(
        shown=True,
        failing=True,
        distance=max(resource, place),
        parts={"resource": resource, "place": place},
        reasons=tuple(reasons),
    )


def _resource_distance(reading: Reading, exhibit: Exhibit) -> float:
    """Memory goes with whatever else is kept, so that a report of memory is met by any resource; not the reverse.

    Reference cycles and what dies unclosed are found in sound programs, so they count only where they are named.
    """
    title, _, rest = exhibit.told.partition("\n")
    named = resources([title]) or resources([rest])
    resource = reading.figures.get("resource", "")
    if resource in {"cycles", "unclosed"}:
        return 0.0 if resource in resources([exhibit.told]) else 0.6
    if not named or resource in named or _SAME.get(resource) in named:
        return 0.0
    return 0.0 if named <= {"memory", "cycles", "unclosed"} else 0.6


def _place_distance(act: acts.Function, exhibit: Exhibit) -> float:
    if exhibit.own or acts.stands_in(act, exhibit.told):
        return 0.0
    wanted = {name.rpartition(".")[2] for name in exhibit.symptom.suspects}
    told = acts.names_told(act, exhibit.told)
    if wanted & told:
        return 0.0
    return 0.2 if told and not wanted else 0.6

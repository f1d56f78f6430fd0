"""Leaks: growth with every call, measured by the instrument around a call into the subject. Pure."""

from __future__ import annotations

import re

from rebug.instruments import Reading, genuine, readings
from rebug.judge import acts
from rebug.judge.exhibit import NOTHING, Evidence, Exhibit, fails, said
from rebug.model import Basis

_RESOURCES = {
    "descriptors": r"\b(?:descriptor|handle|fd|socket|connection|pipe)s?\b|\btoo many open files\b|\bunclosed\b",
    "threads": r"\bthreads?\b",
    "tasks": r"\btasks?\b|\bcoroutines?\b",
    "processes": r"\b(?:process(?:es)?|zombies?)\b",
    "memory": r"\b(?:memory|mem|RSS|RAM|OOM|heap|garbage|[MG]i?B|objects?)\b|\bref(?:erence)? ?count",
}


def resources_named(text: str) -> set[str]:
    """The resources that a text says something of."""
    return {name for name, pattern in _RESOURCES.items() if re.search(pattern, text, re.IGNORECASE)}


def leak(exhibit: Exhibit) -> Evidence:
    """A genuine reading of growth per call, of the resource reported, around a call of what the report names."""
    found = [reading for reading in readings(said(exhibit.observation)) if reading.kind == "leak"]
    measured = exhibit.candidate.basis is Basis.MEASURED and genuine(exhibit.tree, "leak")
    act = acts.act_of(exhibit.tree, "leak")
    if not found or not measured or act is None or not fails(exhibit.observation):
        return NOTHING
    if not acts.calls_subject(act, exhibit.tree, exhibit.modules):
        return NOTHING
    kept = acts.keeps(act, exhibit.tree, exhibit.modules)
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
    """Memory goes with whatever else is kept, so that a report of memory is met by any resource; not the reverse."""
    title, _, rest = exhibit.told.partition("\n")
    named = resources_named(title) - {"memory"} or resources_named(title) or resources_named(rest)
    resource = reading.figures.get("resource", "")
    return 0.0 if not named or resource in named or named == {"memory"} else 0.6


def _place_distance(act: acts.Function, exhibit: Exhibit) -> float:
    if exhibit.own:
        return 0.0
    wanted = {name.rpartition(".")[2] for name in exhibit.symptom.suspects}
    told = acts.names_told(act, exhibit.told)
    if wanted & told:
        return 0.0
    return 0.2 if told and not wanted else 0.6

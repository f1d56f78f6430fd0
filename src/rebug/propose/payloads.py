"""Values for the keys of a message, by what the handler compares them with, their default, and their name. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebug.subject.messages import Key

Value = str | int | float | bool

_STEPS = re.compile(r"(?:^|_)(?:steps?|iterations?|iters?|epochs?|frames?|rounds?|repeat)$", re.IGNORECASE)
_COUNT = re.compile(
    r"(?:^|_)(?:n|num|count|size|width|height|limit|seed|id|number|index|page|batch\w*|length|duration)$", re.IGNORECASE
)
_NAMED = re.compile(
    r"(?:^|_)(?:node|name|kind|type|class\w*|task|model|op|operation|function|func|job|action|command|cmd|method|"
    r"pipeline|workflow|handler|stage|mode|sampler)$",
    re.IGNORECASE,
)
_TRUTH = re.compile(
    r"(?:^|_)(?:is|has|with|use|enable\w*|show|live|stream\w*|previews?|verbose|force)(?:_|$)", re.IGNORECASE
)
_TEXT = "a photo of a cat in the style of the old masters"


def payload(keys: Sequence[Key], names: Sequence[str], told: str, *, steps: int, variant: int = 0) -> dict[str, Value]:
    """A message with these keys. `names`: what the server knows by name, those told of in the report first; `variant`
    chooses among them. `steps`: how long a job is to take."""
    ranked = sorted(names, key=lambda name: not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", told, re.IGNORECASE))
    name = ranked[variant % len(ranked)] if ranked else ""
    return {key.name: _value(key, name, told, steps) for key in keys[:20]}


def _value(key: Key, name: str, told: str, steps: int) -> Value:
    default = key.values[0] if key.values else None
    if _STEPS.search(key.name):
        return steps
    if isinstance(default, bool) or key.kind == "bool" or (default is None and _TRUTH.search(key.name)):
        mentioned = re.search(rf"\b{re.escape(key.name.rstrip('s')[:12])}", told, re.IGNORECASE)
        return True if mentioned or default is None else bool(default)
    if key.required and default is None and _NAMED.search(key.name) and name:
        return name
    if default is not None:
        return default
    if key.kind in {"int", "float"} or _COUNT.search(key.name):
        return 1
    return _TEXT

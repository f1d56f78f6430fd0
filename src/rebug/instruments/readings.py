"""What an instrument says: `…a sentence for people [KIND key=value key=value …]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_READING = re.compile(r"\[(?P<kind>[a-z]{3,20})(?P<figures>(?: [a-z_]{1,30}=[^\s\]]{1,300}){1,40})\]")
_SENTENCE = 600  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One measurement: its kind (the instrument's name), its figures as text by name, and the sentence before them."""

    kind: str
    figures: Mapping[str, str] = field(default_factory=dict)
    sentence: str = ""

    def number(self, name: str, default: float = 0.0) -> float:
        """The figure `name` as a number, `default` where it is missing or no finite number."""
        try:
            value = float(self.figures.get(name, default))
        except ValueError:
            return default
        return value if abs(value) < float("inf") else default


def readings(text: str) -> tuple[Reading, ...]:
    """All readings in a message or an output, in order. The first 200,000 characters are read."""
    return tuple(
        Reading(
            kind=found["kind"],
            figures=dict(pair.split("=", 1) for pair in found["figures"].split()),
            sentence=text[max(0, found.start() - _SENTENCE) : found.start()].rpartition("\n")[2].strip(),
        )
        for found in _READING.finditer(text[:200_000])
    )

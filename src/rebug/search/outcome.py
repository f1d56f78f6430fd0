"""What a search is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rebug.model import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How far the search may go. `None` means no limit."""

    rounds: int = 4
    population: int = 24  # candidates a round
    keep: int = 3
    seed: int = 0
    max_seconds: float | None = None  # wall seconds from the start of the run
    max_candidates: int | None = None


@dataclass(slots=True)
class Counts:
    proposed: int = 0
    duplicates: int = 0
    run: int = 0
    environment_failures: int = 0
    rounds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a search found. `stopped`: reproduced, stalled, rounds, seconds, candidates or interrupted."""

    trials: tuple[Trial, ...]
    ranked: tuple[Trial, ...]
    accepted: Trial | None
    counts: Counts
    stopped: str
    seconds: Mapping[str, float]


class Timer:
    """Adds the time spent inside a `with` block to one entry of a table, in seconds."""

    def __init__(self, table: dict[str, float], what: str, clock: Callable[[], float]) -> None:
        self._table, self._what, self._clock, self._from = table, what, clock, 0.0

    def __enter__(self) -> None:
        self._from = self._clock()

    def __exit__(self, *_: object) -> None:
        self._table[self._what] += self._clock() - self._from

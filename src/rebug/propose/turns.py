"""Several sources of candidates, each of which is to get its turn before any is used up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def in_turn(*sources: Iterator[T], at_once: int = 1) -> Iterator[T]:
    """`at_once` items of each source, then the next ones of each, until all are at their end. Lazy: a source is asked
    when its turn comes."""
    waiting = list(sources)
    while waiting:
        for source in list(waiting):
            taken = list(islice(source, at_once))
            yield from taken
            if not taken:
                waiting.remove(source)

"""Words of code and prose, and BM25 over passages of both."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}|\d{2,12}")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_COMMON = """
the and for that this with from have has had not are was were you your its our can could would should will when what
which then than there here they them been being just like some only also does did doing use using used out but get got
self cls def return import none true false if in is it to of on or an as at be by do we my so no any all pass else elif
try except raise class lambda yield async await assert
"""
_STOP = frozenset(_COMMON.split())
_MOST_QUERY_WORDS = 3000


def words(text: str) -> list[str]:
    """Lower-case words: identifiers whole and in their parts (camelCase and snake_case), common words left out."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        whole = match.group()
        lowered = whole.lower().strip("_")
        if len(lowered) < 2 or lowered in _STOP:
            continue
        found.append(lowered)
        parts = [part.lower() for part in _HUMP.findall(whole)]
        if len(parts) > 1:
            found += [part for part in parts if len(part) > 1 and part not in _STOP]
    return found


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Documents, as their words, that can be ranked against a query."""

    documents: Sequence[Sequence[str]]

    def best(self, query: str, limit: int) -> list[tuple[int, float]]:
        """(document number, score) of the `limit` nearest, best first; those without a common word are left out."""
        asked = _weighed(words(query))
        if not asked or limit <= 0 or self._index is None:
            return []
        scores = self._index.get_scores(asked).tolist()
        best = heapq.nsmallest(limit, range(len(scores)), key=lambda place: (-scores[place], place))
        return [(place, scores[place]) for place in best if scores[place] > 0]

    @cached_property
    def _index(self) -> _Bm25 | None:
        if not any(self.documents):
            return None
        # Imported when first asked: it costs a second start-up that a report with its own script never needs.
        import bm25s  # type: ignore[import-untyped]  # noqa: PLC0415

        index: _Bm25 = bm25s.BM25()
        index.index([list(document) for document in self.documents], show_progress=False)
        return index


class _Bm25(Protocol):
    """The two calls made of bm25s."""

    def index(self, corpus: list[list[str]], *, show_progress: bool) -> None: ...
    def get_scores(self, query: list[str]) -> _Scores: ...


class _Scores(Protocol):
    def tolist(self) -> list[float]: ...


def _weighed(asked: Iterable[str]) -> list[str]:
    """Each word at most three times: a log repeated a thousand times says no more than a few lines of it."""
    counts: dict[str, int] = {}
    kept: list[str] = []
    for word in asked:
        counts[word] = counts.get(word, 0) + 1
        if counts[word] <= 3:
            kept.append(word)
        if len(kept) >= _MOST_QUERY_WORDS:
            break
    return kept

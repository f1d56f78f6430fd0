"""The longest silences of a log, found by halving: most lines' times are never read."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from rebug.intake.logs.formats import parse_line, unwrapped
from rebug.intake.logs.times import time_at

KEPT = 12
LEAST = 1.0  # seconds; shorter silences are not looked for
MAX_LOOKS = 600
"""Times read in one block. It bounds the work where many silences are about equally long; the longest may then be
missed in favour of one a little shorter."""


def time_of(line: bytes) -> float | None:
    """The time of a log line in seconds (see `time_at`), None when it shows none."""
    text, _, moment = unwrapped(line[:2000].decode("utf-8", "replace"))
    at = time_at(text, 1 if text[:1] in "[(" else 0)
    if at is not None:
        return at[0]
    if text[:1] in ("{", "<") or moment is None:
        record = parse_line(text) if text[:1] in ("{", "<") or "=" in text[:60] else None
        return record.time if record is not None else None
    return moment


@dataclass(slots=True)
class Gaps:
    """The longest silences so far: (seconds, line after it, the line before, the line after)."""

    found: list[tuple[float, int, str, str]] = field(default_factory=list)
    _last: tuple[float, bytes] | None = None
    _looks: int = 0

    @property
    def least(self) -> float:
        return self.found[0][0] if len(self.found) >= KEPT else LEAST

    def feed(self, raw: Sequence[bytes], start: int) -> None:
        """Take in the lines of a block, which follow line `start`."""
        self._looks = 0
        first = self._timed(raw, 0, len(raw))
        if first is None:
            return
        final = self._timed_before(raw, len(raw) - 1, first[0])
        if self._last is not None:
            self._note(first[1] - self._last[0], start + first[0] + 1, self._last[1], raw[first[0]])
        self._halve(raw, start, first, final)
        self._last = (final[1], raw[final[0]])

    def _timed(self, raw: Sequence[bytes], at: int, end: int) -> tuple[int, float] | None:
        """The next line with a time from `at` on, of at most 200."""
        for number in range(at, min(end, at + 200)):
            if raw[number][:1] not in (b" ", b"\t", b""):
                self._looks += 1
                moment = time_of(raw[number])
                if moment is not None:
                    return number, moment
        return None

    def _timed_before(self, raw: Sequence[bytes], at: int, start: int) -> tuple[int, float]:
        for number in range(at, max(start, at - 200), -1):
            moment = time_of(raw[number]) if raw[number][:1] not in (b" ", b"\t", b"") else None
            if moment is not None:
                return number, moment
        found = self._timed(raw, start, start + 1)
        return found if found is not None else (start, 0.0)

    def _halve(self, raw: Sequence[bytes], base: int, first: tuple[int, float], final: tuple[int, float]) -> None:
        """Look where a silence longer than those known may be: between lines whose times are that far apart. Wide
        stretches are looked at first."""
        stretches = [(first[1] - final[1], first, final)]
        while stretches and self._looks < MAX_LOOKS:
            span, left, right = heapq.heappop(stretches)
            if -span <= self.least:
                return
            middle = self._timed(raw, (left[0] + right[0] + 1) // 2, right[0]) if right[0] - left[0] > 1 else None
            if middle is None and right[0] - left[0] > 1:
                nearer = self._timed_before(raw, (left[0] + right[0]) // 2, left[0])
                middle = nearer if nearer[0] > left[0] else None
            if middle is None:
                self._note(-span, base + right[0] + 1, raw[right[0] - 1], raw[right[0]])
                continue
            for one, other in ((left, middle), (middle, right)):
                if other[1] - one[1] > self.least:
                    heapq.heappush(stretches, (one[1] - other[1], one, other))

    def _note(self, seconds: float, line: int, before: bytes, after: bytes) -> None:
        if seconds <= self.least:
            return
        entry = (seconds, line, before[:300].decode("utf-8", "replace"), after[:300].decode("utf-8", "replace"))
        (heapq.heappush if len(self.found) < KEPT else heapq.heappushpop)(self.found, entry)

"""How many tokens a text has, without a tokeniser: tokenisers differ per model and fetch their tables when first used.

Three figures from one pass over the text, in the manner of byte-pair tokenisers, which never join two words:
- `most`: every second letter, every digit, every other mark and every byte of other scripts is a token. What is
  reserved before a call, so that a cap holds; 1.5 times to twice what is counted later for prose and code.
- `likely`: a token per four characters of a word, three digits, one and a half marks. For sizing a context.
- `least`: one token per word or number. A server that counts fewer has not read the whole prompt.

After the first reply the provider's own count of the same prompt corrects all three (`Calibration`).
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import lru_cache

_RUN = re.compile(r"([A-Za-z]+)|([0-9]+)|([ \t]+)|([\r\n]+)|([\x21-\x7e])|([^\x00-\x7f]+)")
_OVERHEAD = 24  # tokens of roles and separators around the two texts


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens of a text: least <= true count <= most, for byte-pair tokenisers; `likely` lies between."""

    least: int
    likely: int
    most: int


def estimate(text: str) -> Estimate:
    """Estimates the tokens of a text, in one pass over it."""
    least, likely, most = 0, 0.0, 0
    for match in _RUN.finditer(text):
        length = match.end() - match.start()
        kind = match.lastindex
        if kind == 1:
            least, likely, most = least + 1, likely + max(1.0, length / 4.6), most + (length + 1) // 2
        elif kind == 2:
            least, likely, most = least + 1, likely + length / 2.2, most + length
        elif kind == 3:
            extra = 0 if length == 1 else 1
            likely, most = likely + extra, most + extra + length // 8
        elif kind == 4:
            likely, most = likely + 0.8, most + length
        elif kind == 5:
            likely, most = likely + 0.7, most + 1
        else:
            size = len(match.group().encode("utf-8", "replace"))
            likely, most = likely + size / 2.5, most + size
    return Estimate(least, max(least, round(likely)), max(most, round(likely)))


def estimate_prompt(prefix: str, suffix: str) -> Estimate:
    """The same for the two parts of a request, with what a chat template adds."""
    first, second = _estimate_prefix(prefix), estimate(suffix)
    return Estimate(
        first.least + second.least,
        first.likely + second.likely + _OVERHEAD,
        first.most + second.most + 2 * _OVERHEAD,
    )


_estimate_prefix = lru_cache(maxsize=8)(estimate)
"""A run asks for its prefix with every call."""


class Calibration:
    """Learns from the provider's counts how far the estimates are off for this run's prompts. Thread-safe."""

    _MARGIN = 1.1  # a suffix of other stuff than the prefix may have a worse ratio than what was seen

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._estimated = 0
        self._most = 0
        self._counted = 0

    def learn(self, guess: Estimate, counted: int) -> None:
        """Takes one call's guess and the provider's count; a count of zero tells nothing."""
        if counted <= 0:
            return
        with self._lock:
            self._estimated += guess.likely
            self._most += guess.most
            self._counted += counted

    def most(self, guess: Estimate) -> int:
        """The bound to reserve: the estimate's own until a count is known, then that corrected, with a margin."""
        with self._lock:
            if not self._counted:
                return guess.most
            ratio = self._counted / self._most
        return max(guess.least, round(guess.most * min(1.5, ratio * self._MARGIN)))

    def likely(self, guess: Estimate) -> int:
        """The expected count."""
        with self._lock:
            if not self._counted:
                return guess.likely
            return round(guess.likely * self._counted / self._estimated)

"""Prefix caches with the providers' rules, over a simple count of tokens."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(r" ?[A-Za-z]{1,6}| ?[0-9]{1,3}|\s+| ?[^\sA-Za-z0-9]{1,2}")
BLOCK = 128  # OpenAI caches in steps of so many tokens


def tokens(text: str) -> list[str]:
    """The tokens of a text: about as many as a real tokeniser's, and at least one for each word."""
    return _TOKEN.findall(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """How a prompt is billed, and the entries it makes readable once its response has begun."""

    prompt_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    entries: tuple[str, ...] = ()


@dataclass(slots=True)
class PrefixCache:
    """Entries by hash, readable from when `open` was called with them, for `life` seconds after their last use."""

    minimum: int
    life: float
    clock: Callable[[], float]
    _until: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, accounting: Accounting) -> None:
        """The response has begun: what was written can be read from now on."""
        with self._lock:
            until = self.clock() + self.life
            self._until.update(dict.fromkeys(accounting.entries, until))

    def automatic(self, space: str, text: str) -> Accounting:
        """OpenAI before 5.6: the longest known beginning, from `minimum` tokens in steps of 128. Writing is free."""
        all_tokens = tokens(text)
        chain = _chain(space, all_tokens)
        hits = self._leading(chain)
        cached = hits * BLOCK if hits * BLOCK >= self.minimum else 0
        keep = chain if len(all_tokens) >= self.minimum else []
        return Accounting(
            prompt_tokens=len(all_tokens), cached_tokens=cached, cache_write_tokens=0, entries=tuple(keep)
        )

    def breakpoints(self, space: str, segments: Sequence[str], rest: str) -> Accounting:
        """Explicit caches: each segment ends at a breakpoint; the longest known run of segments is read, the rest of
        them written."""
        counts, keys = [], []
        digest = hashlib.sha256(space.encode())
        total = 0
        for segment in segments:
            total += len(tokens(segment))
            digest.update(segment.encode("utf-8", "replace") + b"\0")
            counts.append(total)
            keys.append(digest.hexdigest())
        known = [count for count, key in zip(counts, keys, strict=True) if count >= self.minimum and self._fresh(key)]
        cached = max(known, default=0)
        wanted = [(count, key) for count, key in zip(counts, keys, strict=True) if count >= self.minimum]
        written = max((count for count, _ in wanted), default=cached) - cached
        return Accounting(
            prompt_tokens=total + len(tokens(rest)),
            cached_tokens=cached,
            cache_write_tokens=written,
            entries=tuple(key for _, key in wanted),
        )

    def _leading(self, chain: Sequence[str]) -> int:
        for number, key in enumerate(chain):
            if not self._fresh(key):
                return number
        return len(chain)

    def _fresh(self, key: str) -> bool:
        with self._lock:
            now = self.clock()
            if self._until.get(key, now) <= now:
                return False
            self._until[key] = now + self.life
            return True


def _chain(space: str, all_tokens: Sequence[str]) -> list[str]:
    """A hash for each beginning of whole blocks."""
    digest = hashlib.sha256(space.encode())
    chain = []
    for start in range(0, len(all_tokens) - BLOCK + 1, BLOCK):
        digest.update("\0".join(all_tokens[start : start + BLOCK]).encode("utf-8", "replace"))
        chain.append(digest.hexdigest())
    return chain

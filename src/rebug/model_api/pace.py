"""When calls may be made: backoff after failures, rates per cache key, and what is known of a prefix's cache entry."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rebug.model_api.traits import Traits

_MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How failed calls are repeated. Seconds."""

    attempts: int = 5  # in all, for a call that was surely not billed
    billed_attempts: int = 2  # for one that may have been
    first: float = 1.0
    factor: float = 2.0
    longest: float = 60.0
    patience: float = 300.0  # the longest Retry-After that is waited for

    def delay(self, failures: int, retry_after: float | None, rng: random.Random) -> float:
        """Seconds to wait after the n-th failure: what the provider asked, else growing, with jitter against herds."""
        if retry_after is not None:
            return retry_after + rng.uniform(0.0, 0.25)
        return float(min(self.longest, self.first * self.factor ** (failures - 1)) * rng.uniform(0.5, 1.0))


class Pace:
    """Gives each call its earliest moment. Thread-safe; it never sleeps itself."""

    def __init__(self, per_minute: int | None, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._starts: dict[str, deque[float]] = {}

    def hold(self, seconds: float) -> None:
        """No call before so many seconds have passed: a rate limit holds for all of them."""
        with self._lock:
            self._not_before = max(self._not_before, self._clock() + seconds)

    def book(self, key: str) -> float:
        """Books the next free moment for a call with this cache key; returns the seconds until then."""
        with self._lock:
            now = self._clock()
            moment = max(now, self._not_before)
            if self._per_minute is not None:
                starts = self._starts.setdefault(key, deque())
                while starts and starts[0] <= now - _MINUTE:
                    starts.popleft()
                if len(starts) >= self._per_minute:
                    moment = max(moment, starts[-self._per_minute] + _MINUTE)
                starts.append(moment)
            return moment - now


@dataclass(slots=True)
class Warmth:
    """What a run knows of one prefix's cache entry. A prefix is cold until a call was served from it."""

    traits: Traits
    cacheable: bool  # long enough to be cached at all
    warm: bool = False
    misses: int = 0  # in a row
    solo_calls: int = 0  # since it was last cold
    hits: int = 0
    last: float = 0.0

    MOST_MISSES = 2

    def solo(self, now: float) -> bool:
        """Whether the next call has to be made alone, with nothing else in flight."""
        if not self.cacheable or self.traits.cache in {"none", "slot"}:
            return False
        if self.warm and now - self.last > self.traits.life_seconds:
            self._cool()
        return not self.warm and self.solo_calls < self.traits.solo_calls

    def learn(self, cached_tokens: int, now: float) -> None:
        """Takes what one call was served."""
        self.last = now
        if cached_tokens > 0:
            self.warm, self.misses, self.hits = True, 0, self.hits + 1
            return
        self.misses += 1
        if not self.warm:
            self.solo_calls += 1
        elif self.misses >= self.MOST_MISSES:
            self._cool()

    @property
    def hopeless(self) -> bool:
        """The solo calls were made and none was served from cache."""
        return self.cacheable and not self.warm and self.hits == 0 and self.solo_calls >= self.traits.solo_calls > 1

    def _cool(self) -> None:
        self.warm, self.misses, self.solo_calls = False, 0, 0


@dataclass(slots=True)
class Once:
    """Says each thing once."""

    tell: Callable[[str], None]
    _told: set[str] = field(default_factory=set)

    def say(self, topic: str, line: str) -> None:
        """Tells the line unless this topic was told before."""
        if topic not in self._told:
            self._told.add(topic)
            self.tell(line)

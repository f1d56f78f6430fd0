"""The bill of a run, kept before the provider keeps it: the worst case of a call is reserved before it is made."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from rebug.errors import CapReached, InputError
from rebug.model_api.port import Usage
from rebug.model_api.prices import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a run's calls have cost. `usd` is None as soon as one call's price is not known."""

    model: str = "none"
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    usd_without_cache: float | None = 0.0
    usd_uncertain: float = 0.0
    """The worst case of calls that failed in a way that leaves open whether they were billed. Counts toward the cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The worst case of one call, held until it is settled or released."""

    usd: float
    tokens: int


class Ledger:
    """Holds two hard caps over all calls of a run. Thread-safe.

    A cap counts what was settled, what is reserved and what is uncertain. It can be passed only if a provider counts
    more tokens than the bound given to `reserve`, by as much as one call differs; nothing more is granted then.
    """

    def __init__(self, model: str = "none", *, max_usd: float | None = None, max_tokens: int | None = None) -> None:
        """`max_usd` in US dollars, `max_tokens` over input and output together; None: no cap.

        Raises InputError for a negative cap.
        """
        if (max_usd is not None and not max_usd >= 0) or (max_tokens is not None and max_tokens < 0):
            raise InputError("--max-usd and --max-tokens cannot be negative")
        self.max_usd = max_usd
        self.max_tokens = max_tokens
        self._model = model
        self._lock = threading.Lock()
        self._calls = 0
        self._usage = Usage()
        self._usd: float | None = 0.0
        self._without: float | None = 0.0
        self._uncertain_usd = 0.0
        self._uncertain_tokens = 0
        self._reserved_usd = 0.0
        self._reserved_tokens = 0

    def reserve(self, price: Price | None, input_tokens: int, output_tokens: int) -> Reservation:
        """Sets the worst case of a call aside; the tokens are upper bounds.

        Raises CapReached when a cap could be exceeded, InputError when dollars are capped and the price is not known.
        """
        if price is None and self.max_usd is not None:
            raise InputError(
                f"--max-usd cannot be kept: no price is known for {self._model}; say --max-tokens, or another model"
            )
        usd = price.worst(input_tokens, output_tokens) if price else 0.0
        tokens = input_tokens + output_tokens
        with self._lock:
            self._check(usd, tokens)
            self._reserved_usd += usd
            self._reserved_tokens += tokens
        return Reservation(usd=usd, tokens=tokens)

    def settle(self, held: Reservation, usage: Usage, usd: float | None, without_cache: float | None) -> None:
        """Replaces a reservation by what the call did cost."""
        with self._lock:
            self._free(held)
            self._add(usage, usd, without_cache)

    def release(self, held: Reservation, *, billed: bool = False) -> None:
        """Gives back a reservation whose call failed; `billed`: it may be charged all the same."""
        with self._lock:
            self._free(held)
            if billed:
                self._uncertain_usd += held.usd
                self._uncertain_tokens += held.tokens

    def restore(self, usage: Usage, usd: float | None, without_cache: float | None) -> None:
        """Counts a call that an interrupted run has paid for."""
        with self._lock:
            self._add(usage, usd, without_cache)

    def restore_uncertain(self, usd: float, tokens: int) -> None:
        """Counts a call that an interrupted run had sent and whose reply it never saw."""
        with self._lock:
            self._uncertain_usd += usd
            self._uncertain_tokens += tokens

    def cost(self) -> Cost:
        """What was settled up to now."""
        with self._lock:
            return Cost(
                model=self._model,
                calls=self._calls,
                input_tokens=self._usage.input_tokens,
                cached_tokens=self._usage.cached_tokens,
                cache_write_tokens=self._usage.cache_write_tokens,
                output_tokens=self._usage.output_tokens,
                usd=self._usd,
                usd_without_cache=self._without,
                usd_uncertain=self._uncertain_usd,
            )

    def _check(self, usd: float, tokens: int) -> None:
        spent = (self._usd or 0.0) + self._uncertain_usd + self._reserved_usd
        if self.max_usd is not None and spent + usd > self.max_usd:
            raise CapReached(
                f"--max-usd {self.max_usd:g}: {spent:.4f} spent or reserved, and the next call could cost {usd:.4f}"
            )
        used = self._usage.input_tokens + self._usage.output_tokens + self._uncertain_tokens + self._reserved_tokens
        if self.max_tokens is not None and used + tokens > self.max_tokens:
            raise CapReached(
                f"--max-tokens {self.max_tokens}: {used} used or reserved, and the next call could take {tokens}"
            )

    def _free(self, held: Reservation) -> None:
        self._reserved_usd = max(0.0, self._reserved_usd - held.usd)
        self._reserved_tokens -= held.tokens

    def _add(self, usage: Usage, usd: float | None, without_cache: float | None) -> None:
        self._calls += 1
        self._usage = Usage(
            input_tokens=self._usage.input_tokens + usage.input_tokens,
            cached_tokens=self._usage.cached_tokens + usage.cached_tokens,
            cache_write_tokens=self._usage.cache_write_tokens + usage.cache_write_tokens,
            output_tokens=self._usage.output_tokens + usage.output_tokens,
        )
        self._usd = None if usd is None or self._usd is None else self._usd + usd
        self._without = None if without_cache is None or self._without is None else self._without + without_cache

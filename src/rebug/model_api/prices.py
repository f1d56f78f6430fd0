"""What a call costs, by the table of genai-prices. Reading the table takes half a second: only when a model is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

_TABLE = {"bedrock": "aws"}  # where the table's name of a provider is not ours


class Counts(Protocol):
    """The part of a usage that decides a price."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def cached_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens. Prompts longer than `long_from` tokens are billed at `long_factor` as a whole."""

    input: float
    output: float
    cached: float
    cache_write: float
    long_from: int | None = None
    long_factor: float = 1.0

    def usd(self, usage: Counts) -> float:
        """The price of one call."""
        plain = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
        total = (
            max(0, plain) * self.input
            + usage.cached_tokens * self.cached
            + usage.cache_write_tokens * self.cache_write
            + usage.output_tokens * self.output
        )
        return total * self._factor(usage.input_tokens) / 1e6

    def without_cache(self, usage: Counts) -> float:
        """The price of the same call had nothing been cached or written."""
        total = usage.input_tokens * self.input + usage.output_tokens * self.output
        return total * self._factor(usage.input_tokens) / 1e6

    def worst(self, input_tokens: int, output_tokens: int) -> float:
        """The most a call can cost: all of the prompt new, at the dearer of reading and writing it."""
        total = input_tokens * max(self.input, self.cache_write) + output_tokens * self.output
        return total * self._factor(input_tokens) / 1e6

    def _factor(self, input_tokens: int) -> float:
        return self.long_factor if self.long_from is not None and input_tokens > self.long_from else 1.0


FREE = Price(input=0, output=0, cached=0, cache_write=0)
"""The price of a model on one's own machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A model of the price table."""

    provider: str
    model: str
    price: Price
    context_window: int | None
    deprecated: bool


def find(provider: str, model: str) -> Listed | None:
    """The entry of a model, None when the table has none."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, info = get_snapshot().find_provider_model(model, None, _TABLE.get(provider, provider), None)
    except LookupError:
        return None
    return _listed(provider, info)


def listed(provider: str, pattern: re.Pattern[str]) -> Iterator[Listed]:
    """The entries of a provider whose id matches as a whole."""
    from genai_prices.data_snapshot import get_snapshot

    table = _TABLE.get(provider, provider)
    for known in get_snapshot().providers:
        if known.id == table:
            yield from (
                entry for info in known.models if pattern.fullmatch(info.id) and (entry := _listed(provider, info))
            )


def _listed(provider: str, info: ModelInfo) -> Listed | None:
    price = _price(info.get_prices(datetime.now(UTC)))
    if price is None:
        return None
    return Listed(
        provider=provider,
        model=info.id,
        price=price,
        context_window=info.context_window,
        deprecated=bool(info.deprecated),
    )


def _price(row: ModelPrice) -> Price | None:
    """Our plain form of a row: base prices, and the dearest step for long prompts applied to the whole call."""
    base = {name: _base(getattr(row, f"{name}_mtok")) for name in ("input", "output", "cache_read", "cache_write")}
    plain, output = base["input"], base["output"]
    if plain is None or output is None:
        return None
    start, factor = _long(row)
    read, write = base["cache_read"], base["cache_write"]
    return Price(
        input=plain,
        output=output,
        cached=plain if read is None else read,
        cache_write=plain if write is None else write,
        long_from=start,
        long_factor=factor,
    )


def _base(price: object) -> float | None:
    if price is None:
        return None
    number = getattr(price, "base", price)
    return float(number) if isinstance(number, Decimal | int | float) else None


def _long(row: ModelPrice) -> tuple[int | None, float]:
    starts: list[int] = []
    factors = [1.0]
    for name in ("input_mtok", "output_mtok"):
        tiers = getattr(getattr(row, name), "tiers", ())
        base = _base(getattr(row, name))
        for tier in tiers:
            starts.append(int(tier.start))
            factors.append(float(tier.price) / base if base else 1.0)
    return (min(starts), max(factors)) if starts else (None, 1.0)

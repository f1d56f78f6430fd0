"""How each provider caches prompts and how fast it may be asked: facts from their documentation, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What the layout of a prompt and the fan-out of calls depend on."""

    layout: Literal["parts", "system"] = "parts"
    """parts: one user message of [prefix, cache point, suffix]; system: the prefix as system message, the suffix as
    user message, which every chat template of a local server can show."""
    cache: Literal["automatic", "breakpoint", "slot", "none"] = "automatic"
    """slot: a local server keeps the last prompt of each of its slots."""
    minimum_prefix: int = 1024  # tokens below which nothing is cached
    life_seconds: float = 300.0  # after which an unused entry may be gone
    solo_calls: int = 2
    """Calls made one after another before the fan-out at most: the first writes the entry, the others look for it."""
    concurrency: int = 8
    per_minute: int | None = None  # calls with one prefix per minute over which hits become unreliable
    least_timeout: float = 0.0  # seconds; a shorter timeout of a request is raised to it
    local: bool = False
    cache_key: bool = False  # takes a `prompt_cache_key`
    explicit: bool = False  # caches at breakpoints only, when told so


_OPENAI = Traits(cache_key=True, per_minute=15)
_BREAKPOINT = Traits(cache="breakpoint")

_BY_PROVIDER = {
    "openai": _OPENAI,
    "azure": Traits(cache_key=True),
    "anthropic": replace(_BREAKPOINT, minimum_prefix=4096),
    "bedrock": replace(_BREAKPOINT, minimum_prefix=4096, concurrency=4),
    "openrouter": replace(_BREAKPOINT, solo_calls=3),
    "google": Traits(minimum_prefix=2048, concurrency=4),
    # The second call with another suffix still misses, the third hits.
    "deepseek": Traits(layout="system", minimum_prefix=64, life_seconds=3600.0, solo_calls=3),
    "mistral": Traits(layout="system", solo_calls=2, concurrency=4),
    "local": Traits(
        layout="system",
        cache="slot",
        minimum_prefix=0,
        life_seconds=3600.0,
        solo_calls=1,
        concurrency=1,
        least_timeout=600.0,  # a CPU reads some 30 to 100 tokens a second
        local=True,
    ),
}

_OPENAI_BREAKPOINTS = re.compile(r"gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)")


def traits_of(provider: str, model: str) -> Traits:
    """The traits of a model; of an unknown provider those that ask least of it."""
    traits = _BY_PROVIDER.get(provider, Traits(layout="system"))
    if provider == "openai" and _OPENAI_BREAKPOINTS.match(model):
        return replace(traits, cache="breakpoint", explicit=True, life_seconds=1800.0)
    return traits

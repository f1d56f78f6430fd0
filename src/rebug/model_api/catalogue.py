"""Which models are usable here, what they cost, and which one is the default."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rebug.model_api.port import Usage
from rebug.model_api.prices import Listed, Price, listed
from rebug.model_api.providers import PROVIDERS, Provider

_FRESHER = 2.0  # a new generation is taken unless the small model of an older one costs less than half of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the calls of a usual run take, in tokens. The lean plan: see DESIGN.md, section 11."""

    calls: int
    prefix: int
    suffix: int  # per call
    output: int  # per call

    def usages(self, *, writes: bool) -> Iterable[Usage]:
        """The usage of each call when the first writes the cache and all others read it."""
        for number in range(self.calls):
            yield Usage(
                input_tokens=self.prefix + self.suffix,
                cached_tokens=0 if number == 0 else self.prefix,
                cache_write_tokens=self.prefix if number == 0 and writes else 0,
                output_tokens=self.output,
            )


LEAN = Plan(calls=11, prefix=20_000, suffix=700, output=950)
"""24 candidates in three rounds, three to a reply, with one batched critique per round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of `rebug models`."""

    provider: str
    model: str  # as for --model
    usable: bool
    why_not: str  # what is missing, "" when usable
    input: float  # US dollars per million tokens
    cached: float
    output: float
    cents_per_run: float  # of the lean plan
    default: bool


def usable_models(environment: Mapping[str, str] | None = None) -> list[Row]:
    """The small models of every provider by the price table, those that can be used here first.

    `environment`: the variables to look for keys in; None: this process's, and the keyring where one is installed.
    No key is read further than to see that there is one.
    """
    variables = os.environ if environment is None else environment
    chosen = default_spec(variables)
    rows = [
        _row(provider, entry, variables, chosen) for provider in PROVIDERS.values() for entry in small_models(provider)
    ]
    return sorted(rows, key=lambda row: (not row.usable, not row.default, row.cents_per_run))


def default_spec(environment: Mapping[str, str]) -> str | None:
    """The first provider with a key and its library: its cheapest current small model. None without any."""
    for provider in PROVIDERS.values():
        if provider.installed and provider.key(environment)[0] and (entry := cheapest(provider)):
            return f"{provider.name}:{entry.model}"
    return None


def small_models(provider: Provider) -> list[Listed]:
    """The provider's small models that are not deprecated, cheapest first."""
    if provider.small is None:
        return []
    found = [entry for entry in listed(provider.name, provider.small) if not entry.deprecated]
    return sorted(found, key=lambda entry: (cents(entry.price), entry.model))


def cheapest(provider: Provider) -> Listed | None:
    """The default: the cheapest of the newest generation, or of all when that is less than half as dear."""
    found = small_models(provider)
    if not found:
        return None
    newest = max(_generation(provider, entry)[:1] for entry in found)
    fresh = next(entry for entry in found if _generation(provider, entry)[:1] == newest)
    return fresh if cents(fresh.price) <= _FRESHER * cents(found[0].price) else found[0]


def cents(price: Price, plan: Plan = LEAN) -> float:
    """US cents of a run by a plan."""
    return 100 * sum(price.usd(usage) for usage in plan.usages(writes=price.cache_write > price.input))


def _generation(provider: Provider, entry: Listed) -> tuple[int, ...]:
    match = provider.small.fullmatch(entry.model) if provider.small else None
    return tuple(int(group) for group in match.groups() if group is not None) if match else ()


def _row(provider: Provider, entry: Listed, environment: Mapping[str, str], chosen: str | None) -> Row:
    why_not = ""
    if not provider.installed:
        why_not = f'pip install "rebug[{provider.extra}]"'
    elif not provider.key(environment)[0]:
        why_not = f"set {provider.variables[0]}"
    spec = f"{provider.name}:{entry.model}"
    return Row(
        provider=provider.name,
        model=spec,
        usable=not why_not,
        why_not=why_not,
        input=entry.price.input,
        cached=entry.price.cached,
        output=entry.price.output,
        cents_per_run=round(cents(entry.price), 2),
        default=spec == chosen,
    )

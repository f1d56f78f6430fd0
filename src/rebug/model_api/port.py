"""The thin port to a language model: what is asked, what comes back, and what a provider must be able to do."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, Self

from rebug.errors import RebugError
from rebug.model_api.prices import Price
from rebug.model_api.traits import Traits

Finish = Literal["stop", "length", "refusal", "empty", "other"]
"""Why a reply ended: by itself, at `max_output_tokens`, refused by the model or a filter, with no text, otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call. `prefix` is the shared context: byte-identical in all calls of a run, or nothing is served from cache.

    Both texts must be redacted before they get here. A schema for the reply belongs into the suffix as text: in the
    provider's own fields it would stand before the prefix and be part of what is cached.
    """

    prefix: str
    suffix: str
    max_output_tokens: int
    label: str = ""  # who asks, for the journal and the transcript; not sent
    sample: int = 0  # tells apart calls that are meant to be asked more than once; not sent
    temperature: float | None = None  # None: the provider's default
    timeout: float = 120.0  # seconds for one attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call as the provider counted them. `input_tokens` includes cached and written ones."""

    input_tokens: int = 0
    cached_tokens: int = 0  # served from the provider's cache
    cache_write_tokens: int = 0  # written to it at a price of its own
    output_tokens: int = 0  # includes hidden reasoning
    estimated: bool = False  # the provider reported nothing: counted by us


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back from one call. `usd` is None when no price is known: that is not zero."""

    text: str
    usage: Usage
    usd: float | None
    finish: Finish
    seconds: float
    usd_without_cache: float | None = None
    prompt_cut: bool = False  # the server counted far fewer tokens than were sent: it dropped part of the prompt
    replayed: bool = False  # taken from the journal, not paid again


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A call that gave no reply, in the place of one."""

    request: Request
    error: RebugError


class LanguageModel(Protocol):
    """A model at a provider. `complete` blocks and may be called from several threads at once."""

    @property
    def name(self) -> str:
        """As in --model: "openai:gpt-4o-mini"."""
        ...

    @property
    def traits(self) -> Traits: ...
    @property
    def price(self) -> Price | None:
        """None when no price is known. Local servers have one: zero."""
        ...

    @property
    def context_window(self) -> int | None:
        """Tokens that prompt and reply may have together, None when not known."""
        ...

    def complete(self, request: Request) -> Reply:
        """Makes one attempt, without retries. Raises ModelFailed, ContextTooLong and ModelUnavailable."""
        ...

    def close(self) -> None:
        """Ends connections and whatever was started for this model. Harmless when repeated."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def request_key(model: str, request: Request) -> str:
    """Identifies a call by all that decides its reply: the key of a journaled reply."""
    parts = (
        model,
        request.prefix,
        request.suffix,
        request.max_output_tokens,
        request.sample,
        request.temperature,
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def prefix_key(prefix: str) -> str:
    """A short name of a prefix, for cache keys and files."""
    return hashlib.sha256(prefix.encode("utf-8", "replace")).hexdigest()[:16]

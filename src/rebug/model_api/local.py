"""Asks an OpenAI-compatible server which model it has and how long a context."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

from rebug.errors import ModelUnavailable

_SECONDS = 5.0
_MOST = 1 << 20  # bytes of an answer that are read
_ASSUMED = 4096  # Ollama's default: what lies before the last 4,096 tokens is dropped without a word

_HINTS = {
    401: ": it wants a key: set REBUG_MODEL_KEY",
    403: ": it wants a key: set REBUG_MODEL_KEY",
    404: ": the address of an OpenAI-compatible server usually ends in /v1",
    503: ": it may be loading its model: try again in a minute",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a server told of itself."""

    model: str
    context_window: int  # tokens; 4096 where the server does not tell


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the address was chosen by the user, where it leads to was not."""

    def redirect_request(self, *_args: object, **_kwargs: object) -> None:
        return None


def look_up(address: str, model: str, key: str) -> Found:
    """The model to use at `address` (…/v1): the one named, else the first one the server lists.

    Raises ModelUnavailable when the server does not answer, or has no such model.
    """
    listing = _get(f"{address}/models", key)
    entries = [entry for entry in _items(listing, "data") if isinstance(entry.get("id"), str)]
    names = [str(entry["id"]) for entry in entries]
    if model and names and model not in names:
        raise ModelUnavailable(f"{address} has no model {model}: it has {', '.join(names[:8])}")
    chosen = model or (names[0] if names else "")
    if not chosen:
        raise ModelUnavailable(f"{address} lists no model: name one as {address}#MODEL")
    entry = next((entry for entry in entries if entry["id"] == chosen), {})
    return Found(model=chosen, context_window=_window(entry) or _props_window(address, key) or _ASSUMED)


def _window(entry: Mapping[str, object]) -> int:
    """vLLM says `max_model_len`, LM Studio `loaded_context_length`, llama.cpp `meta.n_ctx`."""
    meta = entry.get("meta")
    inner: Mapping[str, object] = meta if isinstance(meta, dict) else {}
    for value in (entry.get("max_model_len"), entry.get("loaded_context_length"), inner.get("n_ctx")):
        if isinstance(value, int) and value > 0:
            return value
    return 0


def _props_window(address: str, key: str) -> int:
    """llama.cpp tells the context of a slot beside the API."""
    try:
        props = _get(address.removesuffix("/v1") + "/props", key)
    except ModelUnavailable:
        return 0
    defaults = props.get("default_generation_settings")
    value = defaults.get("n_ctx") if isinstance(defaults, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def _items(document: Mapping[str, object], name: str) -> list[dict[str, object]]:
    value = document.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _get(url: str, key: str) -> Mapping[str, object]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})  # noqa: S310 - http(s)
    try:
        with urllib.request.build_opener(_Stay).open(request, timeout=_SECONDS) as answer:
            document = json.loads(answer.read(_MOST))
    except urllib.error.HTTPError as error:
        error.close()
        hint = _HINTS.get(error.code, "")
        raise ModelUnavailable(f"{url}: the server answered {error.code}{hint}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ModelUnavailable(f"{url}: no answer of a model's server: {reason}") from None
    return document if isinstance(document, dict) else {}

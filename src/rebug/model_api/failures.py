"""The library's exceptions in our terms: what a retry can help, what no call can, and what the caller can shrink."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rebug.errors import ContextTooLong, ModelFailed, ModelUnavailable, RebugError
from rebug.model_api.redact import redact

_LONGEST = 240  # characters of a provider's own words in a message
_SPACE = re.compile(r"\s+")
_CONTEXT = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|exceeds? the (?:available )?context|input is too long",
    re.IGNORECASE,
)


def translate(error: Exception, name: str, where: str, secrets: Sequence[str]) -> RebugError:
    """Our exception for one of the library's. `where` names the place of the key, `secrets` are kept out of the text.

    What the library does not document is raised again as it is: that is a fault of ours.
    """
    from pydantic_ai import exceptions as library

    words = _words(error, secrets)
    if isinstance(error, library.ModelContextWindowExceededError) or _says_too_long(error, words):
        return ContextTooLong(f"{name}: the prompt does not fit the model's context: {words}")
    if isinstance(error, library.ModelAuthenticationError):
        key = f"the key in {where}" if where else "the request without a key"
        return ModelUnavailable(f"{name}: {key} was refused: {words}")
    if isinstance(error, library.ModelQuotaExceededError):
        return ModelUnavailable(f"{name}: the account's quota or credit is used up: {words}")
    if isinstance(error, library.ModelNotFoundError):
        return ModelUnavailable(f"{name}: there is no such model or address: {words}")
    if isinstance(error, library.ModelRequestTimeout | library.ModelTimeoutError):
        return ModelFailed(f"{name}: no reply in time: {words}", retryable=True, billed=True)
    if isinstance(error, library.ModelConnectionError):
        sent = error.phase not in {"pool", "connect"}
        return ModelFailed(f"{name}: the connection failed: {words}", retryable=True, billed=sent)
    if isinstance(error, library.ModelRateLimitError | library.ModelUnavailableError | library.ModelServerError):
        return ModelFailed(f"{name}: {words}", retryable=True, retry_after=error.retry_after)
    if isinstance(error, library.ModelAPIError):
        return ModelFailed(f"{name}: the request was rejected: {words}")
    if isinstance(error, library.UnexpectedModelBehavior):
        return ModelFailed(f"{name}: the answer is not one of this provider: {words}", retryable=True, billed=True)
    if isinstance(error, library.UserError):
        return ModelUnavailable(f"{name}: {words}")
    raise error


def _says_too_long(error: Exception, words: str) -> bool:
    """Local servers report an overlong prompt with codes of their own."""
    return getattr(error, "status_code", None) in {400, 413, 422, 500} and bool(_CONTEXT.search(words))


def _words(error: Exception, secrets: Sequence[str]) -> str:
    """The provider's own words in one short line, without secrets."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message") if isinstance(inner, dict) else inner
    text = message if isinstance(message, str) and message else str(error)
    status = getattr(error, "status_code", None)
    for secret in secrets:
        text = text.replace(secret, "[key]")
    line = redact(_SPACE.sub(" ", text[:4000]).strip())[0][:_LONGEST]
    return f"{line} ({status})" if status else line

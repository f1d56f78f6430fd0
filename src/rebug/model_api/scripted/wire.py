"""The two wire formats, as far as text needs them: what a request holds, and how an answer or an error looks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebug.model_api.scripted.script import Answer, Call, Wire

_OPENAI_CODES = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What decides cache and answer."""

    model: str
    segments: tuple[str, ...]  # texts up to each breakpoint, in order
    rest: str  # what follows the last breakpoint
    prefix: str  # canonical text of everything before the last text
    suffix: str
    max_tokens: int | None
    cache_key: str
    explicit: bool  # caches at breakpoints only

    @property
    def text(self) -> str:
        return "".join(self.segments) + self.rest


class BadRequestError(ValueError):
    """The body is none of this wire's."""


def read_openai(body: Mapping[str, object]) -> Prompt:
    """Reads a chat completion request."""
    texts: list[tuple[str, bool]] = [(_fields(body, ("tools", "response_format")), False)]
    for message in _dicts(body.get("messages"), "messages"):
        role = f"<{message.get('role')}>"
        for number, (text, mark) in enumerate(_content(message.get("content"), "prompt_cache_breakpoint")):
            texts.append((role + text if number == 0 else text, mark))
    options = body.get("prompt_cache_options")
    explicit = isinstance(options, dict) and options.get("mode") == "explicit"
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return _prompt(body, texts, limit, str(body.get("prompt_cache_key", "")), explicit=explicit)


def read_anthropic(body: Mapping[str, object]) -> Prompt:
    """Reads a messages request."""
    texts: list[tuple[str, bool]] = [(_fields(body, ("tools", "output_format", "output_config")), False)]
    texts += _content(body.get("system", ""), "cache_control")
    for message in _dicts(body.get("messages"), "messages"):
        role = f"<{message.get('role')}>"
        for number, (text, mark) in enumerate(_content(message.get("content"), "cache_control")):
            texts.append((role + text if number == 0 else text, mark))
    if not isinstance(body.get("max_tokens"), int):
        raise BadRequestError("max_tokens: field required")
    return _prompt(body, texts, body["max_tokens"], "", explicit=True)


def _prompt(
    body: Mapping[str, object], texts: Sequence[tuple[str, bool]], limit: object, cache_key: str, *, explicit: bool
) -> Prompt:
    if len(texts) < 2:
        raise BadRequestError("messages: there is none")
    segments, rest = [], ""
    for text, mark in texts:
        rest += text
        if mark:
            segments.append(rest)
            rest = ""
    return Prompt(
        model=str(body.get("model", "")),
        segments=tuple(segments),
        rest=rest,
        prefix="".join(text for text, _ in texts[:-1]),
        suffix=texts[-1][0],
        max_tokens=limit if isinstance(limit, int) else None,
        cache_key=cache_key,
        explicit=explicit,
    )


def _fields(body: Mapping[str, object], names: Sequence[str]) -> str:
    """Fields that a provider puts before the messages: a change of them is a change of the prefix."""
    present = {name: body[name] for name in names if body.get(name)}
    return json.dumps(present, sort_keys=True) if present else ""


def _content(content: object, mark: str) -> list[tuple[str, bool]]:
    if isinstance(content, str):
        return [(content, False)]
    return [(str(part.get("text", "")), bool(part.get(mark))) for part in _dicts(content, "content")]


def _dicts(value: object, name: str) -> list[Mapping[str, object]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadRequestError(f"{name}: has to be a list of objects")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of a good answer, in tokens."""

    number: int  # of the call
    model: str
    seen: int
    cached: int
    cache_write: int
    written: int


def body_of(answer: Answer, call: Call, written: int) -> str:
    """The body of a good answer; `written` counts its tokens."""
    seen = call.prompt_tokens if answer.cut_to is None else min(answer.cut_to, call.prompt_tokens)
    figures = Figures(
        number=call.number,
        model=call.model,
        seen=seen,
        cached=min(call.cached_tokens, seen),
        cache_write=call.cache_write_tokens,
        written=written,
    )
    document = _openai(answer, figures) if call.wire == "openai" else _anthropic(answer, figures)
    if not answer.usage:
        del document["usage"]
    return json.dumps(document)


def _openai(answer: Answer, figures: Figures) -> dict[str, object]:
    refused = answer.finish == "refusal"
    message = {"role": "assistant", "content": None if refused else answer.text}
    if refused:
        message["refusal"] = answer.text or "I can't help with that."
    return {
        "id": f"chatcmpl-{figures.number}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": figures.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop" if refused else answer.finish}],
        "usage": {
            "prompt_tokens": figures.seen,
            "completion_tokens": figures.written,
            "total_tokens": figures.seen + figures.written,
            "prompt_tokens_details": {
                "cached_tokens": figures.cached,
                "cache_write_tokens": figures.cache_write,
            },
        },
    }


def _anthropic(answer: Answer, figures: Figures) -> dict[str, object]:
    reasons = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}
    return {
        "id": f"msg_{figures.number}",
        "type": "message",
        "role": "assistant",
        "model": figures.model,
        "content": [{"type": "text", "text": answer.text}] if answer.text else [],
        "stop_reason": reasons[answer.finish],
        "stop_sequence": None,
        "usage": {
            "input_tokens": max(0, figures.seen - figures.cached - figures.cache_write),
            "cache_read_input_tokens": figures.cached,
            "cache_creation_input_tokens": figures.cache_write,
            "output_tokens": figures.written,
        },
    }


def error_of(wire: Wire, status: int, code: str, message: str) -> str:
    """The body of an error."""
    if wire == "openai":
        name = code or _OPENAI_CODES.get(status, "server_error")
        return json.dumps({"error": {"message": message or name, "type": name, "param": None, "code": name}})
    name = code or _ANTHROPIC_TYPES.get(status, "api_error")
    return json.dumps({"type": "error", "error": {"type": name, "message": message or name}})

"""Replies kept in the journal, so that a run that is resumed pays for none of them twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Protocol, get_args

from rebug.model_api.ledger import Ledger, Reservation
from rebug.model_api.port import Finish, Reply, Usage
from rebug.ports import Journal

_SENT, _REPLY, _FAILED = "model_sent", "model_reply", "model_failed"


class Replies(Protocol):
    """Remembers calls. `sent` is durable before the call is made, `put` before its reply is used."""

    def get(self, key: str) -> Reply | None: ...
    def sent(self, key: str, label: str, held: Reservation) -> None: ...
    def put(self, key: str, label: str, reply: Reply) -> None: ...
    def failed(self, key: str, *, billed: bool) -> None: ...


class JournalReplies:
    """Replies over a run's journal. Thread-safe. The journal holds texts of replies, never a prompt or a key."""

    def __init__(self, journal: Journal, ledger: Ledger) -> None:
        """Reads what an interrupted run left, and counts it in the ledger: replies as paid, calls that were sent and
        never answered at their worst case as uncertain."""
        self._journal = journal
        self._lock = threading.Lock()
        self._known: dict[str, Reply] = {}
        open_calls: Counter[tuple[str, float, int]] = Counter()
        last: dict[str, tuple[str, float, int]] = {}
        for _, kind, data in journal.events():
            if kind == _SENT:
                call = (str(data["key"]), _number(data["usd"]), int(_number(data["tokens"])))
                last[call[0]] = call
                open_calls[call] += 1
            elif kind in {_REPLY, _FAILED}:
                key = str(data["key"])
                if key in last:
                    open_calls[last[key]] -= 1
                self._restore(kind, key, data, last, ledger)
        for (_, usd, tokens), count in open_calls.items():
            for _ in range(count):
                ledger.restore_uncertain(usd, tokens)

    def _restore(
        self,
        kind: str,
        key: str,
        data: Mapping[str, object],
        last: Mapping[str, tuple[str, float, int]],
        ledger: Ledger,
    ) -> None:
        if kind == _REPLY:
            reply = reply_from(data["reply"])
            self._known[key] = reply
            ledger.restore(reply.usage, reply.usd, reply.usd_without_cache)
        elif data.get("billed") and key in last:
            ledger.restore_uncertain(last[key][1], last[key][2])

    def get(self, key: str) -> Reply | None:
        with self._lock:
            return self._known.get(key)

    def sent(self, key: str, label: str, held: Reservation) -> None:
        self._journal.append(_SENT, {"key": key, "label": label, "usd": held.usd, "tokens": held.tokens})

    def put(self, key: str, label: str, reply: Reply) -> None:
        self._journal.append(_REPLY, {"key": key, "label": label, "reply": reply_data(reply)})
        with self._lock:
            self._known[key] = reply

    def failed(self, key: str, *, billed: bool) -> None:
        self._journal.append(_FAILED, {"key": key, "billed": billed})


class NoReplies:
    """Remembers nothing: every call is made."""

    def get(self, _key: str) -> Reply | None:
        return None

    def sent(self, key: str, label: str, held: Reservation) -> None:
        """Nothing to keep."""

    def put(self, key: str, label: str, reply: Reply) -> None:
        """Nothing to keep."""

    def failed(self, key: str, *, billed: bool) -> None:
        """Nothing to keep."""


def reply_data(reply: Reply) -> dict[str, object]:
    """A reply as plain data for the journal."""
    return {
        "text": reply.text,
        "finish": reply.finish,
        "seconds": reply.seconds,
        "usd": reply.usd,
        "usd_without_cache": reply.usd_without_cache,
        "prompt_cut": reply.prompt_cut,
        "input_tokens": reply.usage.input_tokens,
        "cached_tokens": reply.usage.cached_tokens,
        "cache_write_tokens": reply.usage.cache_write_tokens,
        "output_tokens": reply.usage.output_tokens,
        "estimated": reply.usage.estimated,
    }


def reply_from(data: object) -> Reply:
    """The reply in a journal's entry, marked as replayed."""
    if not isinstance(data, Mapping):
        raise TypeError(f"a journaled reply is an object, not {type(data).__name__}")
    usd, without = data.get("usd"), data.get("usd_without_cache")
    return Reply(
        text=str(data["text"]),
        usage=Usage(
            input_tokens=int(data["input_tokens"]),
            cached_tokens=int(data["cached_tokens"]),
            cache_write_tokens=int(data["cache_write_tokens"]),
            output_tokens=int(data["output_tokens"]),
            estimated=bool(data["estimated"]),
        ),
        usd=None if usd is None else float(usd),
        finish=_finish(str(data["finish"])),
        seconds=float(data["seconds"]),
        usd_without_cache=None if without is None else float(without),
        prompt_cut=bool(data["prompt_cut"]),
        replayed=True,
    )


def _finish(value: str) -> Finish:
    return next((known for known in get_args(Finish) if known == value), "other")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

"""The HTTP server of the scripted provider."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from rebug.model_api.scripted.cache import Accounting, PrefixCache, tokens
from rebug.model_api.scripted.script import Answer, Call, Script, Wire
from rebug.model_api.scripted.wire import BadRequestError, Prompt, body_of, error_of, read_anthropic, read_openai

_MINIMUM = {"openai": 1024, "anthropic": 4096}
_LARGEST = 64 << 20  # bytes of a request's body


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A call whose prefix is not the first one's."""

    call: int
    at: int  # the first character that differs
    expected: str  # some of it
    got: str


class ScriptedServer:
    """Serves a script on a loopback port until it is stopped. Usable as a context manager; thread-safe.

    `clock` measures the life of cache entries, `sleep` makes the delays: tests pass their own.
    """

    def __init__(
        self,
        script: Script,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.script = script
        self._sleep = sleep
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._answered = 0
        self._most_at_once = 0
        self._at_once = 0
        self._used = [0] * len(script.answers)
        self._caches: dict[Wire, PrefixCache] = {
            wire: PrefixCache(
                minimum=_MINIMUM[wire] if script.minimum_prefix is None else script.minimum_prefix,
                life=script.life_seconds,
                clock=clock,
            )
            for wire in ("openai", "anthropic")
        }
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    # ------------------------------------------------------------------------------------------------------ lifecycle

    def start(self) -> None:
        """Binds a free port and serves in a thread of its own."""
        handler = type("Handler", (_Handler,), {"scripted": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the server. Harmless when repeated."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join(timeout=5)
        self._server = self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("the scripted server is not running")
        return int(self._server.server_address[1])

    def base_url(self, wire: Wire) -> str:
        """The address to give to a client of that provider."""
        return f"http://127.0.0.1:{self.port}" + ("/v1" if wire == "openai" else "")

    # ----------------------------------------------------------------------------------------------------- what it saw

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call that could be read, in order of arrival, faults included."""
        with self._lock:
            return tuple(self._calls)

    @property
    def answered(self) -> int:
        """Good answers sent in full: what a provider would bill."""
        with self._lock:
            return self._answered

    @property
    def most_at_once(self) -> int:
        """The most calls that were open at the same time."""
        with self._lock:
            return self._most_at_once

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Calls whose prefix differs from the first one's by a byte."""
        calls = self.calls
        return tuple(_violation(calls[0].prefix, call) for call in calls[1:] if call.prefix != calls[0].prefix)

    # ------------------------------------------------------------------------------------------------------- answering

    def take(self, wire: Wire, body: dict[str, object]) -> tuple[Call, Accounting, Answer]:
        """Notes a call and decides its answer. Raises BadRequestError."""
        prompt = read_openai(body) if wire == "openai" else read_anthropic(body)
        accounting = self._account(wire, prompt)
        with self._lock:
            call = Call(
                number=len(self._calls) + 1,
                wire=wire,
                model=prompt.model,
                prefix=prompt.prefix,
                suffix=prompt.suffix,
                max_tokens=prompt.max_tokens,
                cache_key=prompt.cache_key,
                prompt_tokens=accounting.prompt_tokens,
                cached_tokens=accounting.cached_tokens,
                cache_write_tokens=accounting.cache_write_tokens,
                body=body,
            )
            self._calls.append(call)
            answer = self._next(call) if self.script.reply is None else None
        if answer is None:
            assert self.script.reply is not None
            answer = _as_answer(self.script.reply(call))
        return call, accounting, answer

    def _account(self, wire: Wire, prompt: Prompt) -> Accounting:
        cache = self._caches[wire]
        space = f"{wire} {prompt.model} {prompt.cache_key}"
        if prompt.explicit:
            return cache.breakpoints(space, prompt.segments, prompt.rest)
        return cache.automatic(space, prompt.text)

    def _next(self, call: Call) -> Answer:
        for number, given in enumerate(self.script.answers):
            answer = _as_answer(given)
            if answer.when in call.suffix and (answer.times == 0 or self._used[number] < answer.times):
                self._used[number] += 1
                return answer
        return _as_answer(self.script.otherwise)

    def begun(self, wire: Wire, accounting: Accounting) -> None:
        self._caches[wire].open(accounting)

    def done(self) -> None:
        with self._lock:
            self._answered += 1

    def enter(self, by: int) -> None:
        with self._lock:
            self._at_once += by
            self._most_at_once = max(self._most_at_once, self._at_once)

    def wait(self, seconds: float) -> None:
        if seconds:
            self._sleep(seconds)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: ScriptedServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Says nothing."""

    def do_GET(self) -> None:
        """Lists the one model, as clients of OpenAI-compatible servers ask for."""
        known = self.path.rstrip("/").endswith("/models")
        document = {"object": "list", "data": [{"id": self.scripted.script.model, "object": "model"}]}
        self._send(200 if known else 404, json.dumps(document if known else {}))

    def do_POST(self) -> None:
        self.scripted.enter(1)
        try:
            self._post()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up, as in tests of timeouts
        finally:
            self.scripted.enter(-1)

    def _post(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(min(size, _LARGEST))
        wire: Wire = "anthropic" if self.path.split("?")[0].endswith("/messages") else "openai"
        if wire == "openai" and not self.path.split("?")[0].endswith("/chat/completions"):
            self._send(404, error_of(wire, 404, "not_found", f"no such path: {self.path}"))
            return
        try:
            body = json.loads(raw)
            if not isinstance(body, dict):
                raise BadRequestError("the body has to be an object")
            call, accounting, answer = self.scripted.take(wire, body)
        except ValueError as error:
            self._send(400, error_of(wire, 400, "", str(error)))
            return
        self._answer(call, accounting, answer)

    def _answer(self, call: Call, accounting: Accounting, answer: Answer) -> None:
        self.scripted.wait(answer.delay)
        if answer.drop == "before":
            self.close_connection = True
            return
        if answer.status >= 400:
            key = self.headers.get("Authorization", self.headers.get("x-api-key", "")).removeprefix("Bearer ")
            words = answer.message.replace("{key}", key)
            self._send(answer.status, error_of(call.wire, answer.status, answer.error, words), answer.retry_after)
            return
        written = _written(answer, call.max_tokens)
        text = answer.raw
        if text is None:
            text = body_of(answer, call, written)
        self._send(answer.status, text, answer.retry_after, call=call, accounting=accounting, answer=answer)

    def _send(
        self,
        status: int,
        text: str,
        retry_after: str = "",
        *,
        call: Call | None = None,
        accounting: Accounting | None = None,
        answer: Answer | None = None,
    ) -> None:
        payload = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.flush()
        if call is None or accounting is None or answer is None:
            self.wfile.write(payload)
            return
        self.scripted.begun(call.wire, accounting)
        self.scripted.wait(answer.pause)
        if answer.drop == "within":
            self.wfile.write(payload[: len(payload) // 2])
            self.close_connection = True
            return
        self.scripted.done()  # before the bytes leave: whoever has the reply sees it counted
        self.wfile.write(payload)


def _as_answer(given: Answer | str) -> Answer:
    return Answer(text=given) if isinstance(given, str) else given


def _written(answer: Answer, limit: int | None) -> int:
    count = len(tokens(answer.text)) if answer.output_tokens is None else answer.output_tokens
    return count if limit is None else min(count, limit)


def _violation(first: str, call: Call) -> Violation:
    shorter = min(len(first), len(call.prefix))
    at = next((i for i in range(shorter) if first[i] != call.prefix[i]), shorter)
    return Violation(call=call.number, at=at, expected=first[at : at + 60], got=call.prefix[at : at + 60])

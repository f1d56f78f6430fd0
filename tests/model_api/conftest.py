"""A server for a script, models that call it, and a clock that only sleeping moves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from rebug.model_api import LanguageModel, Request, open_model
from rebug.model_api.scripted import Answer, Script, ScriptedServer

KEY = "sk-test-0123456789abcdefghijklmnop"
CONTEXT = "def read(path, size=4096):\n    return open(path).read(size)  # see the report\n" * 300
"""About 7,800 tokens by the scripted provider's count."""

Serve = Callable[..., ScriptedServer]
Open = Callable[..., LanguageModel]


@dataclass
class Time:
    """A clock that moves when someone sleeps."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self.lock:
            self.slept.append(seconds)
            self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def serve(stack: ExitStack) -> Serve:
    """Starts a scripted server: serve("text", Answer(…), …, otherwise=…, reply=…, minimum_prefix=…)."""

    def start(*answers: Answer | str, **options: object) -> ScriptedServer:
        return stack.enter_context(ScriptedServer(Script(answers=answers, **options)))  # type: ignore[arg-type]

    return start


@pytest.fixture
def opened(stack: ExitStack) -> Open:
    """Opens a model whose provider is the scripted server."""

    def open_at(server: ScriptedServer, spec: str = "openai:gpt-6-luna", key: str = KEY) -> LanguageModel:
        wire = "anthropic" if spec.startswith("anthropic") else "openai"
        keys = {"OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key, "DEEPSEEK_API_KEY": key}
        if spec == "local":
            model = open_model(server.base_url("openai"), environment={})
        else:
            model = open_model(spec, environment=keys, base_url=server.base_url(wire))
        assert model is not None
        return stack.enter_context(model)

    return open_at


def ask(suffix: str = "task", **changes: object) -> Request:
    """A request over the shared context."""
    values: dict[str, object] = {"prefix": CONTEXT, "suffix": suffix, "max_output_tokens": 200, "label": "test"}
    return Request(**(values | changes))  # type: ignore[arg-type]

"""One model of the library behind our port. The library is imported here only, and only when a model is opened."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from rebug.errors import ModelFailed, RebugError
from rebug.model_api.failures import translate
from rebug.model_api.port import Finish, Reply, Request, Usage, prefix_key
from rebug.model_api.prices import Price
from rebug.model_api.tokens import estimate, estimate_prompt
from rebug.model_api.traits import Traits

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelRequest, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

_CUT_LEAST, _CUT_LIKELY = 0.9, 0.65
"""Shares of the surely and of the likely sent tokens below which a server's count says that it dropped some."""
_FINISH: Mapping[str | None, Finish] = {"stop": "stop", "length": "length", "content_filter": "refusal", None: "stop"}
_GRACE = 5.0  # seconds over a request's own timeout that its task gets to end by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What `opening` found out about a model, before any call."""

    name: str
    traits: Traits
    price: Price | None
    context_window: int | None
    secrets: tuple[str, ...] = ()
    where: str = ""  # the variable or keyring the key came from
    schema: Mapping[str, object] | None = None

    def __repr__(self) -> str:
        return f"Opened({self.name})"


class LibraryModel:
    """A LanguageModel that calls a provider through pydantic-ai, on an event loop in a thread of its own."""

    def __init__(
        self,
        opened: Opened,
        model: Model[Any],
        *,
        clock: Callable[[], float] = time.monotonic,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._opened = opened
        self._model = model
        self._clock = clock
        self._on_close = on_close
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"LibraryModel({self.name})"

    @property
    def name(self) -> str:
        return self._opened.name

    @property
    def traits(self) -> Traits:
        return self._opened.traits

    @property
    def price(self) -> Price | None:
        return self._opened.price

    @property
    def context_window(self) -> int | None:
        return self._opened.context_window

    def complete(self, request: Request) -> Reply:
        """Makes one attempt. Raises ModelFailed, ContextTooLong and ModelUnavailable, whose text holds no key."""
        started = self._clock()
        loop = self._running()
        task = asyncio.run_coroutine_threadsafe(self._ask(request), loop)
        try:
            response = task.result(timeout=request.timeout + _GRACE)
        except concurrent.futures.TimeoutError:
            task.cancel()
            raise ModelFailed(
                f"{self.name}: no reply within {request.timeout:g} s", retryable=True, billed=True
            ) from None
        except concurrent.futures.CancelledError:
            raise ModelFailed(f"{self.name}: ended while a call was in flight", billed=True) from None
        return self._reply(request, response, self._clock() - started)

    def close(self) -> None:
        """Closes the connections and ends the thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(self._disconnect(), loop).result(timeout=_GRACE)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=_GRACE)
            loop.close()
        if self._on_close is not None:
            self._on_close()
            self._on_close = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _ask(self, request: Request) -> ModelResponse:
        """Errors are translated here, within the thread: the library's own hold the request and with it the key."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, UserError

        failure: RebugError
        try:
            return await model_request(
                self._model,
                [_message(request, self.traits)],
                model_settings=_settings(request, self.traits),
                model_request_parameters=_parameters(self._opened.schema),
                instrument=False,
            )
        except (AgentRunError, UserError) as error:
            failure = translate(error, self.name, self._opened.where, self._opened.secrets)
        except (AttributeError, LookupError, TypeError, ValueError):
            # What the libraries stumble over when a server's answer lacks what its wire format promises.
            failure = ModelFailed(f"{self.name}: the answer is not one of this provider", retryable=True, billed=True)
        raise failure

    async def _disconnect(self) -> None:
        """Ends calls in flight, whose callers then get a ModelFailed, and closes the connections."""
        mine = asyncio.current_task()
        for task in asyncio.all_tasks():
            if task is not mine:
                task.cancel()
        close = getattr(getattr(self._model, "client", None), "close", None)
        closing = close() if close is not None else None
        if inspect.isawaitable(closing):
            await closing

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name=f"model {self.name}", daemon=True)
                thread.start()
                self._loop, self._thread = loop, thread
            return self._loop

    def _reply(self, request: Request, response: ModelResponse, seconds: float) -> Reply:
        text = "".join(part.content for part in response.parts if part.part_kind == "text")
        usage = _usage(request, response, text)
        finish = _FINISH.get(response.finish_reason, "other")
        if not text.strip() and finish in {"stop", "other"}:
            finish = "empty"
        told = response.usage.cost
        usd = float(told) if told is not None else (self.price.usd(usage) if self.price else None)
        sent = estimate_prompt(request.prefix, request.suffix)
        return Reply(
            text=text,
            usage=usage,
            usd=usd,
            finish=finish,
            seconds=seconds,
            usd_without_cache=self.price.without_cache(usage) if self.price else None,
            prompt_cut=not usage.estimated
            and usage.input_tokens < max(_CUT_LEAST * sent.least, _CUT_LIKELY * sent.likely),
        )


def _message(request: Request, traits: Traits) -> ModelRequest:
    from pydantic_ai.messages import CachePoint, ModelRequest, SystemPromptPart, UserPromptPart

    if traits.layout == "system":
        return ModelRequest(parts=[SystemPromptPart(request.prefix), UserPromptPart(request.suffix)])
    return ModelRequest(parts=[UserPromptPart([request.prefix, CachePoint(), request.suffix])])


def _settings(request: Request, traits: Traits) -> ModelSettings:
    """Settings of a call. Retries are ours, since each attempt is reserved in the ledger."""
    settings: dict[str, object] = {
        "max_tokens": request.max_output_tokens,
        "max_retries": 0,
        "timeout": request.timeout,
        "request_timeout": request.timeout,
    }
    if not traits.local:
        settings["thinking"] = False  # hidden reasoning is billed as output; scripts are judged by running them
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if traits.cache_key:
        settings["openai_prompt_cache_key"] = f"rebug-{prefix_key(request.prefix)}"
    if traits.explicit:
        settings["openai_prompt_cache_options"] = {"mode": "explicit"}
    return cast("ModelSettings", settings)


def _parameters(schema: Mapping[str, object] | None) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if schema is None:
        return ModelRequestParameters()
    return ModelRequestParameters(
        output_mode="native", output_object=OutputObjectDefinition(json_schema=dict(schema), name="reply")
    )


def _usage(request: Request, response: ModelResponse, text: str) -> Usage:
    told = response.usage
    if told.input_tokens <= 0:
        return Usage(
            input_tokens=estimate_prompt(request.prefix, request.suffix).likely,
            output_tokens=estimate(text).likely,
            estimated=True,
        )
    return Usage(
        input_tokens=told.input_tokens,
        cached_tokens=told.cache_read_tokens,
        cache_write_tokens=told.cache_write_tokens,
        output_tokens=told.output_tokens,
    )

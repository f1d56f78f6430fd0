"""A model for one run: every call is reserved, journaled, paced, repeated where that helps, and fanned out over a warm
cache."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from types import TracebackType
from typing import Self

from rebug.errors import CapReached, InputError, ModelFailed, ModelUnavailable, RebugError
from rebug.model_api.ledger import Cost, Ledger
from rebug.model_api.pace import Backoff, Once, Pace, Warmth
from rebug.model_api.port import Failed, LanguageModel, Reply, Request, prefix_key, request_key
from rebug.model_api.replies import NoReplies, Replies
from rebug.model_api.tokens import Calibration, estimate, estimate_prompt
from rebug.model_api.transcript import Transcript
from rebug.ports import Narrator

_LEAST_SECONDS = 1.0  # a call is not begun with less time left
_WORTH_SAYING = 5.0  # seconds of waiting from which the narration tells of it


class ModelRun:
    """The language model as proposers and critics of one run use it. Thread-safe.

    All time comes from `clock` (monotonic seconds) and `sleep`; `deadline` is on that clock.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        ledger: Ledger | None = None,
        replies: Replies | None = None,
        transcript: Transcript | None = None,
        narrate: Narrator = lambda _line: None,
        deadline: float | None = None,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises InputError when dollars are capped and the model's price is not known."""
        self._model = model
        self._ledger = ledger or Ledger(model.name)
        if self._ledger.max_usd is not None and model.price is None:
            raise InputError(
                f"--max-usd cannot be kept: no price is known for {model.name}; say --max-tokens, or another model"
            )
        self._replies = replies or NoReplies()
        self._transcript = transcript
        self._narrate = narrate
        self._once = Once(narrate)
        self._deadline = deadline
        self._backoff = backoff
        self._rng = rng or random.Random(0)  # noqa: S311 - jitter
        self._clock = clock
        self._sleep = sleep
        self._pace = Pace(model.traits.per_minute, clock)
        self._calibration = Calibration()
        self._lock = threading.Lock()
        self._warmth: dict[str, Warmth] = {}
        self._gone: ModelUnavailable | None = None

    @property
    def model(self) -> LanguageModel:
        return self._model

    def cost(self) -> Cost:
        """What was paid up to now, for result.json and the narration."""
        return self._ledger.cost()

    def tokens(self, text: str) -> int:
        """The likely number of tokens of a text, corrected by what the provider counted so far."""
        return self._calibration.likely(estimate(text))

    def complete(self, request: Request) -> Reply:
        """Makes one call, or takes its reply from the journal.

        Raises CapReached before a call that a cap or the deadline does not allow, ContextTooLong, ModelFailed after
        the last attempt, and ModelUnavailable, then and for every later call, when none can succeed.
        """
        key = request_key(self._model.name, request)
        if (known := self._replies.get(key)) is not None:
            return known
        failures = 0
        while True:
            if self._gone is not None:
                raise self._gone
            try:
                reply = self._attempt(key, request)
            except ModelUnavailable as error:
                self._gone = error
                raise
            except ModelFailed as error:
                failures += 1
                self._wait(self._delay(error, failures))
            else:
                self._learn(request, reply)
                return reply

    def complete_all(self, requests: Sequence[Request]) -> list[Reply | Failed]:
        """Makes all calls: alone until the prefix is served from cache, then as many at once as the provider allows.

        Calls that a cap does not allow wait for those in flight, which may turn out cheaper than their worst case.
        The results are in the order of the requests; a call that gave none has a Failed in its place.
        """
        fan_out = _FanOut(self, requests)
        results = fan_out.run()
        if any(isinstance(result, Reply) and not result.replayed for result in results):
            self._narrate(summary(self.cost()))
        return results

    def close(self) -> None:
        """Ends the model's connections."""
        self._model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------------- one attempt

    def _attempt(self, key: str, request: Request) -> Reply:
        """Reserves, waits its turn, notes, calls, settles. Whatever ends the call, the reservation does not stay."""
        guess = estimate_prompt(request.prefix, request.suffix)
        held = self._ledger.reserve(self._model.price, self._calibration.most(guess), request.max_output_tokens)
        sent = billed = False
        reply = None
        try:
            self._wait(self._pace.book(prefix_key(request.prefix)))
            self._replies.sent(key, request.label, held)
            sent = billed = True  # an interrupt from here on leaves open whether it was billed
            reply = self._model.complete(replace(request, timeout=self._timeout(request)))
        except ModelFailed as error:
            billed = error.billed
            raise
        except ModelUnavailable:
            billed = False
            raise
        finally:
            if reply is None:
                self._ledger.release(held, billed=billed)
                if sent:
                    self._replies.failed(key, billed=billed)
        self._ledger.settle(held, reply.usage, reply.usd, reply.usd_without_cache)
        self._replies.put(key, request.label, reply)
        if self._transcript is not None:
            self._transcript.record(request, reply)
        return reply

    def _learn(self, request: Request, reply: Reply) -> None:
        guess = estimate_prompt(request.prefix, request.suffix)
        if reply.prompt_cut:
            self._once.say(
                "cut",
                f"{self._model.name}: the server read only {reply.usage.input_tokens} of about "
                f"{self._calibration.likely(guess)} tokens of the prompt: give it a longer context",
            )
        elif not reply.usage.estimated:
            self._calibration.learn(guess, reply.usage.input_tokens)
        with self._lock:
            warmth = self._warm(request)
            warmth.learn(reply.usage.cached_tokens, self._clock())
            hopeless = warmth.hopeless
        if hopeless:
            self._once.say(
                "cold", f"{self._model.name}: nothing was served from cache: each call pays its whole prompt"
            )

    def _delay(self, error: ModelFailed, failures: int) -> float:
        """Seconds until the next attempt. Raises the error when there is none."""
        most = self._backoff.billed_attempts if error.billed else self._backoff.attempts
        if not error.retryable or failures >= most:
            raise error
        delay = self._backoff.delay(failures, error.retry_after, self._rng)
        if delay > self._backoff.patience or not self._fits(delay):
            raise error
        if error.retry_after is not None:
            self._pace.hold(delay)
        if delay >= _WORTH_SAYING:
            self._narrate(f"{error}; next attempt in {delay:.0f} s")
        return delay

    def _wait(self, seconds: float) -> None:
        """Raises CapReached when the deadline comes first."""
        if not self._fits(seconds):
            raise CapReached("--max-seconds: no time is left for another call of the model")
        if seconds > 0:
            self._sleep(seconds)

    def _fits(self, seconds: float) -> bool:
        return self._deadline is None or self._clock() + seconds + _LEAST_SECONDS <= self._deadline

    def _timeout(self, request: Request) -> float:
        wanted = max(request.timeout, self._model.traits.least_timeout)
        if self._deadline is None:
            return wanted
        return max(_LEAST_SECONDS, min(wanted, self._deadline - self._clock()))

    # ------------------------------------------------------------------------------------------------- for the fan-out

    def known(self, request: Request) -> bool:
        """Whether the reply is in the journal already."""
        return self._replies.get(request_key(self._model.name, request)) is not None

    def solo(self, request: Request) -> bool:
        """Whether the call has to be made alone, since its prefix may not be readable from cache yet."""
        with self._lock:
            return self._warm(request).solo(self._clock())

    def _warm(self, request: Request) -> Warmth:
        key = prefix_key(request.prefix)
        if key not in self._warmth:
            traits = self._model.traits
            cacheable = estimate_prompt(request.prefix, "").most >= traits.minimum_prefix
            self._warmth[key] = Warmth(traits=traits, cacheable=cacheable)
        return self._warmth[key]


class _FanOut:
    """One `complete_all` in progress."""

    def __init__(self, run: ModelRun, requests: Sequence[Request]) -> None:
        self._run = run
        self._requests = requests
        self._queue = deque(range(len(requests)))
        self._results: dict[int, Reply | Failed] = {}
        self._flying: dict[Future[Reply], int] = {}
        self._alone: set[int] = set()  # nothing else is in flight beside them: a cap that refuses them is final
        self._most = run.model.traits.concurrency

    def run(self) -> list[Reply | Failed]:
        pool = ThreadPoolExecutor(max_workers=self._most, thread_name_prefix="model call")
        try:
            while self._queue or self._flying:
                self._launch(pool)
                done, _ = wait(self._flying, return_when=FIRST_COMPLETED)
                self._land(done)
        finally:
            # An interrupt does not wait here; what is in flight ends by itself, is settled and journaled.
            pool.shutdown(wait=not self._flying, cancel_futures=True)
        return [self._results[number] for number in range(len(self._requests))]

    def _launch(self, pool: ThreadPoolExecutor) -> None:
        while self._queue and len(self._flying) < self._most:
            request = self._requests[self._queue[0]]
            solo = not self._run.known(request) and self._run.solo(request)
            if solo and self._flying:
                return
            number = self._queue.popleft()
            if solo or self._most == 1:
                self._alone.add(number)
            self._flying[pool.submit(self._run.complete, request)] = number
            if solo:
                return

    def _land(self, done: set[Future[Reply]]) -> None:
        """Takes what has ended. A call that a cap refused beside others goes back: theirs may cost less than reserved,
        and from now on only as many fly as the cap has room for."""
        again: list[int] = []
        for future in done:
            number = self._flying.pop(future)
            try:
                self._results[number] = future.result()
            except CapReached as error:
                if number in self._alone:
                    self._results[number] = Failed(request=self._requests[number], error=error)
                else:
                    again.append(number)
            except RebugError as error:
                self._results[number] = Failed(request=self._requests[number], error=error)
        if again:
            self._most = max(1, min(self._most - 1, len(self._flying)))
            self._queue.extendleft(sorted(again, reverse=True))


def summary(cost: Cost) -> str:
    """One line on what the model has cost up to now."""
    share = 100 * cost.cached_tokens / cost.input_tokens if cost.input_tokens else 0.0
    if cost.usd is None:
        money = "at an unknown price"
    else:
        money = f"{100 * cost.usd:.2f} cents"
        if cost.usd_without_cache is not None and cost.usd_without_cache > cost.usd:
            money += f" ({100 * cost.usd_without_cache:.2f} without caching)"
    tokens = cost.input_tokens + cost.output_tokens
    return f"{cost.model}: {cost.calls} calls, {tokens} tokens, {share:.0f} % of the input from cache, {money}"

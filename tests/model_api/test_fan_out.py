"""The first call is alone, the second looks for the cache, then the rest goes out at once."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import pytest

from rebug.errors import CapReached
from rebug.model_api import Failed, Ledger, ModelRun, Reply, Traits
from rebug.model_api.pace import Backoff, Pace, Warmth
from rebug.model_api.scripted import Answer, Call

from .conftest import Open, Serve, Time, ask


@pytest.mark.parametrize("spec", ["openai:gpt-6-luna", "openai:gpt-4o-mini", "anthropic:claude-haiku-5-5"])
def test_every_call_after_the_first_is_served_its_prefix(serve: Serve, opened: Open, spec: str) -> None:
    server = serve(otherwise=Answer(text="x", delay=0.03))
    run = ModelRun(opened(server, spec))
    for part in range(2):  # rounds
        results = run.complete_all([ask(f"task {part} {number}") for number in range(6)])
        assert all(isinstance(result, Reply) for result in results)
    assert server.violations == ()
    assert [call.cached_tokens > 5_000 for call in server.calls] == [False] + [True] * 11
    cost = run.cost()
    assert cost.calls == 12
    assert cost.cached_tokens / cost.input_tokens > 0.9
    assert server.most_at_once > 2


def test_results_stand_in_the_order_of_the_requests(serve: Serve, opened: Open) -> None:
    def echo(call: Call) -> Answer:
        return Answer(text=call.suffix, delay=0.02 * (call.number % 3))

    run = ModelRun(opened(serve(reply=echo)))
    results = run.complete_all([ask(f"task {number}") for number in range(9)])
    assert [result.text for result in results if isinstance(result, Reply)] == [f"task {n}" for n in range(9)]


def test_the_second_call_is_alone_too(serve: Serve, opened: Open) -> None:
    at_once: list[int] = []
    lock = threading.Lock()
    flying = 0
    gate = threading.Barrier(4, timeout=10)

    def reply(call: Call) -> str:
        nonlocal flying
        with lock:
            flying += 1
            at_once.append(flying)
        if call.number > 2:
            gate.wait()  # passes only when all four others are there together
        with lock:
            flying -= 1
        return "x"

    ModelRun(opened(serve(reply=reply))).complete_all([ask(str(number)) for number in range(6)])
    assert at_once[:2] == [1, 1]
    assert max(at_once) == 4


def test_a_local_server_gets_one_call_at_a_time(serve: Serve, opened: Open) -> None:
    server = serve(otherwise=Answer(text="x", delay=0.01))
    ModelRun(opened(server, "local")).complete_all([ask(str(number)) for number in range(5)])
    assert server.most_at_once == 1


def test_without_any_hit_it_goes_on_and_says_so(serve: Serve, opened: Open) -> None:
    said: list[str] = []
    server = serve(otherwise=Answer(text="x", delay=0.05), minimum_prefix=10**9)
    run = ModelRun(opened(server), narrate=said.append)
    run.complete_all([ask(str(number)) for number in range(8)])
    assert [line for line in said if "nothing was served from cache" in line]
    assert server.most_at_once > 2


def test_a_prefix_that_has_gone_is_warmed_again() -> None:
    warmth = Warmth(traits=Traits(life_seconds=300), cacheable=True)
    seen = []
    for cached, at in [(0, 0.0), (900, 1.0), (900, 2.0), (0, 3.0), (0, 3.0), (0, 4.0), (900, 5.0)]:
        seen.append(warmth.solo(at))
        warmth.learn(cached, at)
    # Two misses in a row make it cold; the next call is alone, misses, and the one after finds the entry.
    assert seen == [True, True, False, False, False, True, True]
    assert not warmth.solo(6.0)
    assert warmth.solo(1000.0)  # unused for longer than an entry lives


def test_short_prefixes_are_not_waited_for() -> None:
    assert not Warmth(traits=Traits(), cacheable=False).solo(0)
    assert not Warmth(traits=Traits(cache="slot"), cacheable=True).solo(0)


def test_a_cap_lets_what_is_in_flight_end_and_uses_what_it_leaves(serve: Serve, opened: Open, time: Time) -> None:
    """Each call's worst case is many times what it costs: a cap for two worst cases pays for far more calls."""
    server = serve(otherwise=Answer(text="x", delay=0.02))
    model = opened(server)
    ledger = Ledger(model.name, max_usd=0.0045)
    run = ModelRun(model, ledger=ledger, clock=time.clock, sleep=time.sleep)
    results = run.complete_all([ask(str(number), max_output_tokens=2000) for number in range(40)])
    replies = [result for result in results if isinstance(result, Reply)]
    refused = [result for result in results if isinstance(result, Failed)]
    assert len(replies) == server.answered == run.cost().calls >= 5
    assert refused
    assert all(isinstance(result.error, CapReached) for result in refused)
    usd = run.cost().usd
    assert usd is not None
    assert usd <= 0.0045


def test_a_rate_limit_holds_back_all_calls(serve: Serve, opened: Open, time: Time) -> None:
    server = serve("x", "x", Answer(status=429, retry_after="20"), otherwise="x")
    run = ModelRun(opened(server), clock=time.clock, sleep=time.sleep, rng=random.Random(3))
    assert all(isinstance(result, Reply) for result in run.complete_all([ask(str(n)) for n in range(5)]))
    assert max(time.slept) >= 20


def test_the_rate_of_a_key_is_respected(time: Time) -> None:
    pace = Pace(15, time.clock)
    waits = [pace.book("a") for _ in range(31)]
    assert waits == [0.0] * 15 + [60.0] * 15 + [120.0]
    assert pace.book("b") == 0.0
    time.now += 130
    assert Pace(None, time.clock).book("a") == 0.0
    assert pace.book("a") == pytest.approx(50.0) or pace.book("a") >= 0.0


def test_delays_grow_and_stay_bounded() -> None:
    backoff = Backoff()
    delays = [backoff.delay(failures, None, random.Random(failures)) for failures in range(1, 12)]
    assert all(0.5 * min(60, 2**n) <= delay <= min(60, 2**n) for n, delay in enumerate(delays))
    assert 30 <= backoff.delay(1, 30.0, random.Random(0)) <= 30.25


def test_a_closed_model_ends_its_calls(serve: Serve, opened: Open) -> None:
    server = serve(otherwise=Answer(text="x", delay=1.0))
    model = opened(server)
    outcome: list[object] = []
    thread = threading.Thread(target=lambda: outcome.append(ModelRun(model).complete_all([ask()])))
    thread.start()
    while not server.calls:
        threading.Event().wait(0.01)
    model.close()
    thread.join(timeout=5)
    assert not thread.is_alive()
    assert isinstance(outcome[0], list)
    assert isinstance(outcome[0][0], Failed)


def test_requests_over_two_prefixes_are_both_warmed(serve: Serve, opened: Open) -> None:
    server = serve(otherwise="x")
    run = ModelRun(opened(server))
    other = replace(ask(), prefix="other " + ask().prefix)
    requests = [replace(base, suffix=str(n)) for n in range(3) for base in (ask(), other)]
    run.complete_all(requests)
    assert sum(call.cached_tokens == 0 for call in server.calls) == 2
    assert len(server.violations) == 3

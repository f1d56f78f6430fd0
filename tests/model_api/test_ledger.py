"""Caps hold whatever the calls turn out to be, and an unknown price is never zero."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebug.errors import CapReached, InputError
from rebug.model_api import Ledger, ModelRun, Price, Usage

from .conftest import KEY, Open, Serve, ask

LUNA = Price(input=0.1, output=0.5, cached=0.01, cache_write=0.125)
calls = st.tuples(
    st.integers(0, 40_000), st.integers(0, 4_000), st.floats(0, 1), st.floats(0, 1), st.sampled_from("srbh")
)


@given(st.lists(calls, max_size=30), st.floats(0, 0.02), st.integers(0, 200_000))
def test_the_caps_are_never_passed(plan: list[tuple[int, int, float, float, str]], usd: float, tokens: int) -> None:
    ledger = Ledger("m", max_usd=usd, max_tokens=tokens)
    for most_in, most_out, share_in, share_out, end in plan:
        try:
            held = ledger.reserve(LUNA, most_in, most_out)
        except CapReached:
            continue
        usage = Usage(input_tokens=int(most_in * share_in), output_tokens=int(most_out * share_out))
        if end == "s":
            ledger.settle(held, usage, LUNA.usd(usage), LUNA.without_cache(usage))
        elif end in "rb":
            ledger.release(held, billed=end == "b")
        cost = ledger.cost()
        assert cost.usd is not None
        assert cost.usd + cost.usd_uncertain <= usd + 1e-12
        assert cost.input_tokens + cost.output_tokens <= tokens


def test_the_worst_case_of_calls_in_flight_is_reserved() -> None:
    ledger = Ledger("m", max_usd=0.01)
    first = ledger.reserve(LUNA, 40_000, 2_000)  # 0.005 + 0.001
    with pytest.raises(
        CapReached, match=r"--max-usd 0\.01: 0\.0060 spent or reserved, and the next call could cost 0\.0060"
    ):
        ledger.reserve(LUNA, 40_000, 2_000)
    ledger.settle(first, Usage(input_tokens=40_000, cached_tokens=40_000, output_tokens=100), 0.00045, 0.00405)
    ledger.reserve(LUNA, 40_000, 2_000)
    assert ledger.cost().usd == 0.00045


def test_reservations_of_many_threads_do_not_pass_the_cap() -> None:
    ledger = Ledger("m", max_tokens=1000)
    granted: list[int] = []

    def reserve() -> None:
        for _ in range(50):
            try:
                ledger.reserve(LUNA, 7, 3)
            except CapReached:
                return
            granted.append(1)

    threads = [threading.Thread(target=reserve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 100


def test_an_unknown_price_is_unknown() -> None:
    ledger = Ledger("m", max_tokens=10_000)
    held = ledger.reserve(None, 10, 10)
    ledger.settle(held, Usage(input_tokens=5, output_tokens=5), None, None)
    assert ledger.cost().usd is None
    assert ledger.cost().usd_without_cache is None
    assert ledger.cost().input_tokens == 5
    with pytest.raises(InputError, match="no price is known for m"):
        Ledger("m", max_usd=1.0).reserve(None, 1, 1)


def test_dollars_cannot_be_capped_without_a_price(serve: Serve, opened: Open) -> None:
    model = opened(serve(), "openai:experiment-of-today")
    assert model.price is None
    with pytest.raises(InputError, match="--max-usd cannot be kept: no price is known for openai:experiment-of-today"):
        ModelRun(model, ledger=Ledger(model.name, max_usd=0.5))


def test_negative_caps_are_refused() -> None:
    for caps in ({"max_usd": -1.0}, {"max_tokens": -1}, {"max_usd": float("nan")}):
        with pytest.raises(InputError):
            Ledger("m", **caps)  # type: ignore[arg-type]


def test_a_call_that_a_cap_forbids_is_not_sent(serve: Serve, opened: Open) -> None:
    server = serve(otherwise="x")
    model = opened(server)
    run = ModelRun(model, ledger=Ledger(model.name, max_usd=0.0001))
    with pytest.raises(CapReached):
        run.complete(ask())
    assert server.calls == ()
    assert KEY not in repr(run.cost())


def test_long_prompts_cost_what_the_table_says() -> None:
    price = Price(input=1, output=2, cached=0.1, cache_write=1, long_from=1000, long_factor=2)
    assert price.usd(Usage(input_tokens=1000, cached_tokens=500)) == pytest.approx(550e-6)
    assert price.usd(Usage(input_tokens=2000, output_tokens=10)) == pytest.approx(2 * 2020e-6)
    assert price.worst(2000, 10) == pytest.approx(2 * 2020e-6)

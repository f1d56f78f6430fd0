"""Faults of providers, each from a real server on loopback."""

from __future__ import annotations

import random
import socket
import time as real_time
import traceback
from dataclasses import replace

import pytest

from rebug.errors import CapReached, ContextTooLong, ModelFailed, ModelUnavailable
from rebug.model_api import Backoff, Failed, LanguageModel, Ledger, ModelRun, Reply, open_model
from rebug.model_api.scripted import Answer

from .conftest import KEY, Open, Serve, Time, ask

BOTH = pytest.mark.parametrize("spec", ["openai:gpt-6-luna", "anthropic:claude-haiku-5-5"])


def run_over(model: LanguageModel, time: Time, **options: object) -> ModelRun:
    return ModelRun(model, clock=time.clock, sleep=time.sleep, rng=random.Random(1), **options)  # type: ignore[arg-type]


@BOTH
def test_retry_after_is_honoured(serve: Serve, opened: Open, time: Time, spec: str) -> None:
    server = serve(Answer(status=429, retry_after="7"), "done")
    said: list[str] = []
    run = run_over(opened(server, spec), time, narrate=said.append)
    assert run.complete(ask()).text == "done"
    assert 7 <= sum(time.slept) < 8
    assert "next attempt in 7 s" in said[0]
    assert run.cost().calls == 1
    assert run.cost().usd_uncertain == 0


@BOTH
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_faults_that_pass_are_waited_out(serve: Serve, opened: Open, time: Time, spec: str, status: int) -> None:
    server = serve(*[Answer(status=status)] * 3, "done")
    run = run_over(opened(server, spec), time)
    assert run.complete(ask()).text == "done"
    assert len(server.calls) == 4
    assert [0.5 * 2**n <= slept <= 2**n for n, slept in enumerate(time.slept)] == [True] * 3


def test_after_the_last_attempt_the_call_has_failed(serve: Serve, opened: Open, time: Time) -> None:
    server = serve(otherwise=Answer(status=500, message="upset"))
    run = run_over(opened(server), time, backoff=Backoff(attempts=3))
    with pytest.raises(ModelFailed, match=r"openai:gpt-6-luna: upset \(500\)"):
        run.complete(ask())
    assert len(server.calls) == 3
    assert run.cost().calls == 0


def test_a_wait_that_passes_the_deadline_is_not_begun(serve: Serve, opened: Open, time: Time) -> None:
    server = serve(Answer(status=429, retry_after="60"), "done")
    run = run_over(opened(server), time, deadline=time.now + 30)
    with pytest.raises(ModelFailed, match="429"):
        run.complete(ask())
    assert time.slept == []


def test_no_call_is_begun_after_the_deadline(serve: Serve, opened: Open, time: Time) -> None:
    server = serve(otherwise="x")
    run = run_over(opened(server), time, deadline=time.now)
    with pytest.raises(CapReached, match="--max-seconds"):
        run.complete(ask())
    assert server.calls == ()


@BOTH
def test_a_slow_server_is_given_up(serve: Serve, opened: Open, time: Time, spec: str) -> None:
    server = serve(Answer(text="late", delay=2.0), "done")
    run = run_over(opened(server, spec), time, ledger=Ledger(spec, max_usd=1.0))
    before = real_time.monotonic()
    assert run.complete(ask(timeout=0.3)).text == "done"
    assert real_time.monotonic() - before < 1.9
    assert run.cost().usd_uncertain > 0  # it may have been billed: it counts toward the cap


@BOTH
@pytest.mark.parametrize("drop", ["before", "within"])
def test_dropped_connections_are_repeated_once(serve: Serve, opened: Open, time: Time, spec: str, drop: str) -> None:
    server = serve(Answer(text="lost " * 50, drop=drop), "done")  # type: ignore[arg-type]
    run = run_over(opened(server, spec), time)
    assert run.complete(ask()).text == "done"
    assert run.cost().usd_uncertain > 0

    server = serve(otherwise=Answer(text="lost " * 50, drop=drop))  # type: ignore[arg-type]
    with pytest.raises(ModelFailed):
        run_over(opened(server, spec), time).complete(ask())
    assert len(server.calls) == 2


def test_a_server_that_is_not_there(time: Time) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ModelUnavailable, match="no answer of a model's server"):
            open_model(address, environment={})
        model = open_model("openai:gpt-6-luna", environment={"OPENAI_API_KEY": KEY}, base_url=address)
        assert model is not None
        with model, pytest.raises(ModelFailed, match="the connection failed") as caught:
            run_over(model, time).complete(ask())
    assert not caught.value.billed


@BOTH
@pytest.mark.parametrize(
    "answer",
    [Answer(raw="<html>502 Bad Gateway</html>"), Answer(raw='{"id": 1'), Answer(raw="{}"), Answer(raw="null")],
    ids=["html", "cut", "empty", "null"],
)
def test_answers_that_are_none_of_the_wire(serve: Serve, opened: Open, time: Time, spec: str, answer: Answer) -> None:
    run = run_over(opened(serve(otherwise=answer), spec), time)
    with pytest.raises(ModelFailed) as caught:
        run.complete(ask())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        (
            "openai:gpt-6-luna",
            Answer(status=400, error="context_length_exceeded", message="maximum context length is 8192 tokens"),
        ),
        (
            "anthropic:claude-haiku-5-5",
            Answer(status=400, message="prompt is too long: 210000 tokens > 200000 maximum"),
        ),
        ("local", Answer(status=400, message="the request exceeds the available context size (4096 tokens)")),
        ("local", Answer(status=500, message="input is too long to fit into the context window")),
    ],
)
def test_a_prompt_too_long_can_be_shrunk(serve: Serve, opened: Open, time: Time, spec: str, answer: Answer) -> None:
    server = serve(answer, "done")
    run = run_over(opened(server, spec), time)
    request = ask()
    try:
        run.complete(request)
        pytest.fail("the prompt was too long")
    except ContextTooLong:
        request = replace(request, prefix=request.prefix[:8000])
    assert run.complete(request).text == "done"
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    ("spec", "answer", "says"),
    [
        ("openai:gpt-6-luna", Answer(status=401), "the key in OPENAI_API_KEY was refused"),
        ("anthropic:claude-haiku-5-5", Answer(status=401), "the key in ANTHROPIC_API_KEY was refused"),
        ("openai:gpt-6-luna", Answer(status=403), "the key in OPENAI_API_KEY was refused"),
        ("openai:gpt-6-luna", Answer(status=404), "no such model"),
        ("anthropic:claude-haiku-5-5", Answer(status=404), "no such model"),
        ("openai:gpt-6-luna", Answer(status=429, error="insufficient_quota"), "quota"),
        ("anthropic:claude-haiku-5-5", Answer(status=400, error="billing_error"), "quota"),
    ],
)
def test_what_no_call_can_mend_is_asked_once(
    serve: Serve, opened: Open, time: Time, *, spec: str, answer: Answer, says: str
) -> None:
    server = serve(otherwise=replace(answer, message="No: {key} is not good"))
    run = run_over(opened(server, spec), time)
    results = run.complete_all([ask(str(number)) for number in range(4)])
    assert len(server.calls) == 1
    assert all(isinstance(result, Failed) and isinstance(result.error, ModelUnavailable) for result in results)
    with pytest.raises(ModelUnavailable, match=says) as caught:
        run.complete(ask("once more"))
    assert len(server.calls) == 1
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


@BOTH
def test_the_key_is_in_no_text(serve: Serve, opened: Open, time: Time, spec: str) -> None:
    server = serve(otherwise=Answer(status=401, message="Incorrect API key provided: {key}. " + "x" * 5000))
    model = opened(server, spec)
    run = run_over(model, time)
    with pytest.raises(ModelUnavailable) as caught:
        run.complete(ask())
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    assert len(str(error)) < 400
    texts = [repr(model), str(model), repr(run), repr(run.cost()), repr(error), *traceback.format_exception(error)]
    assert not [text for text in texts if KEY[3:] in text]


def test_one_failed_call_does_not_harm_the_others(serve: Serve, opened: Open, time: Time) -> None:
    server = serve(Answer(when="task 3", status=400, message="odd request"), otherwise="fine")
    results = run_over(opened(server), time).complete_all([ask(f"task {number}") for number in range(6)])
    assert [isinstance(result, Reply) for result in results] == [True, True, True, False, True, True]
    failed = results[3]
    assert isinstance(failed, Failed)
    assert failed.request.suffix == "task 3"
    assert "the request was rejected: odd request (400)" in str(failed.error)


def test_a_cut_prompt_is_said_once(serve: Serve, opened: Open, time: Time) -> None:
    said: list[str] = []
    run = run_over(opened(serve(otherwise=Answer(text="x", cut_to=4096)), "local"), time, narrate=said.append)
    run.complete(ask("a"))
    run.complete(ask("b"))
    assert len([line for line in said if "read only 4096 of about" in line]) == 1

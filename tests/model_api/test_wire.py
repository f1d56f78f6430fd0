"""What goes over the wire, and what a provider's counts become."""

from __future__ import annotations

import pytest

from rebug.model_api import Usage
from rebug.model_api.scripted import Answer

from .conftest import CONTEXT, Open, Serve, ask


@pytest.mark.parametrize(
    "spec",
    ["openai:gpt-6-luna", "openai:gpt-4o-mini", "anthropic:claude-haiku-5-5", "deepseek:deepseek-flash", "local"],
)
def test_the_prefix_is_the_same_bytes_in_every_call(serve: Serve, opened: Open, spec: str) -> None:
    server = serve(otherwise="answer")
    model = opened(server, spec)
    for number in range(3):
        assert model.complete(ask(f"task {number}", max_output_tokens=100 + number)).text == "answer"
    assert server.violations == ()
    assert [call.suffix.removeprefix("<user>") for call in server.calls] == ["task 0", "task 1", "task 2"]
    assert CONTEXT in server.calls[0].prefix
    assert [call.max_tokens for call in server.calls] == [100, 101, 102]


def test_explicit_breakpoints_are_written_once_and_read_after(serve: Serve, opened: Open) -> None:
    server = serve(otherwise="one two three")
    model = opened(server)
    first, second = model.complete(ask("a")), model.complete(ask("b"))
    total = server.calls[0].prompt_tokens
    assert first.usage == Usage(
        input_tokens=total, cached_tokens=0, cache_write_tokens=total - 1, output_tokens=3, estimated=False
    )
    assert second.usage.cached_tokens == total - 1
    assert second.usage.cache_write_tokens == 0
    # 0.1 and 0.5 dollars per million, 0.125 for writing and 0.01 for reading the cache.
    assert first.usd == pytest.approx((1 * 0.1 + (total - 1) * 0.125 + 3 * 0.5) / 1e6)
    assert second.usd == pytest.approx((1 * 0.1 + (total - 1) * 0.01 + 3 * 0.5) / 1e6)
    assert second.usd_without_cache == pytest.approx((total * 0.1 + 3 * 0.5) / 1e6)
    assert server.calls[0].cache_key == server.calls[1].cache_key != ""
    assert server.calls[0].body["prompt_cache_options"] == {"mode": "explicit"}


def test_automatic_caching_counts_whole_steps(serve: Serve, opened: Open) -> None:
    server = serve(otherwise="answer")
    model = opened(server, "openai:gpt-4o-mini")
    first, second = model.complete(ask("a")), model.complete(ask("b"))
    assert first.usage.cached_tokens == first.usage.cache_write_tokens == 0
    assert second.usage.cached_tokens % 128 == 0
    assert 0 <= second.usage.input_tokens - second.usage.cached_tokens < 140
    assert "prompt_cache_options" not in server.calls[0].body


def test_anthropic_counts_cached_tokens_into_the_input(serve: Serve, opened: Open) -> None:
    server = serve(otherwise="answer")
    model = opened(server, "anthropic:claude-haiku-5-5")
    first, second = model.complete(ask("a")), model.complete(ask("b"))
    total = server.calls[0].prompt_tokens
    assert (first.usage.input_tokens, first.usage.cache_write_tokens) == (total, total - 1)
    assert (second.usage.input_tokens, second.usage.cached_tokens) == (total, total - 1)


def test_a_prefix_too_short_is_not_cached(serve: Serve, opened: Open) -> None:
    server = serve(otherwise="answer")
    model = opened(server, "anthropic:claude-haiku-5-5")
    for _ in range(2):
        reply = model.complete(ask(prefix=CONTEXT[:4000]))
    assert reply.usage.cached_tokens == reply.usage.cache_write_tokens == 0


@pytest.mark.parametrize("spec", ["openai:gpt-6-luna", "anthropic:claude-haiku-5-5", "local"])
@pytest.mark.parametrize(
    ("answer", "finish", "text"),
    [
        (Answer(text="half a scr", finish="length"), "length", "half a scr"),
        (Answer(text="", finish="refusal"), "refusal", ""),
        (Answer(text="  \n"), "empty", ""),
        (Answer(text=""), "empty", ""),
        (Answer(text="ünïcode ✓"), "stop", "ünïcode ✓"),
    ],
)
def test_how_a_reply_ended(serve: Serve, opened: Open, *, spec: str, answer: Answer, finish: str, text: str) -> None:
    reply = opened(serve(answer), spec).complete(ask())
    assert reply.finish == finish
    assert reply.text.strip() == text


@pytest.mark.parametrize("spec", ["openai:gpt-6-luna", "local"])
def test_a_server_that_drops_part_of_the_prompt_is_noticed(serve: Serve, opened: Open, spec: str) -> None:
    model = opened(serve(Answer(text="x", cut_to=4096), "y"), spec)
    assert model.complete(ask()).prompt_cut
    assert not model.complete(ask()).prompt_cut


def test_a_server_without_counts_is_counted_by_us(serve: Serve, opened: Open) -> None:
    server = serve(Answer(text="some words of a reply", usage=False))
    reply = opened(server).complete(ask())
    assert reply.usage.estimated
    assert reply.usage.input_tokens == pytest.approx(server.calls[0].prompt_tokens, rel=0.4)
    assert not reply.prompt_cut


def test_no_schema_and_no_tools_stand_before_the_prefix(serve: Serve, opened: Open) -> None:
    for spec in ("openai:gpt-6-luna", "anthropic:claude-haiku-5-5"):
        server = serve(otherwise="x")
        opened(server, spec).complete(ask())
        assert not {"tools", "response_format", "output_format", "output_config"} & set(server.calls[0].body)
        assert server.calls[0].body.get("stream") in (None, False)


def test_text_that_looks_like_a_template_arrives_as_it_is(serve: Serve, opened: Open) -> None:
    server = serve(otherwise="x")
    odd = "{{ x }} \N{SNOWMAN} \x00 \ud800".encode("utf-8", "replace").decode() + " https://example.com/a.png"
    opened(server).complete(ask(odd))
    assert server.calls[0].suffix == odd

"""The scripted provider itself: what others rely on in their tests."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from rebug.errors import InputError
from rebug.model_api.scripted import Answer, Script, ScriptedServer
from rebug.model_api.scripted.cache import PrefixCache

from .conftest import CONTEXT, Serve, Time


def post(server: ScriptedServer, body: object, path: str = "/chat/completions") -> tuple[int, dict[str, object]]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1{path}", data=data, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def chat(prefix: str, suffix: str) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "system", "content": prefix}, {"role": "user", "content": suffix}]}


def test_a_prefix_that_differs_is_noted_with_its_place(serve: Serve) -> None:
    server = serve(otherwise="x")
    post(server, chat("the shared context", "a"))
    post(server, chat("the shared context", "b"))
    assert server.violations == ()
    post(server, chat("the shaved context", "c"))
    post(server, chat("the shared context", "d") | {"response_format": {"type": "json_object"}})
    first, second = server.violations
    assert (first.call, first.got[:5]) == (3, "ved c")
    assert (second.call, second.at) == (4, 0)


def test_an_entry_is_readable_only_once_the_response_has_begun(time: Time) -> None:
    cache = PrefixCache(minimum=1024, life=300, clock=time.clock)
    first = cache.automatic("m", CONTEXT + "a")
    assert cache.automatic("m", CONTEXT + "b").cached_tokens == 0  # at the same time
    cache.open(first)
    hit = cache.automatic("m", CONTEXT + "b").cached_tokens
    assert hit % 128 == 0
    assert hit > 7_000
    assert cache.automatic("other model", CONTEXT + "b").cached_tokens == 0
    time.now += 299
    assert cache.automatic("m", CONTEXT + "b").cached_tokens == hit  # and refreshes it
    time.now += 299
    assert cache.automatic("m", CONTEXT + "b").cached_tokens == hit
    time.now += 301
    assert cache.automatic("m", CONTEXT + "b").cached_tokens == 0


def test_breakpoints_are_read_as_far_as_they_are_known(time: Time) -> None:
    cache = PrefixCache(minimum=4096, life=300, clock=time.clock)
    first = cache.breakpoints("m", [CONTEXT], "a")
    assert (first.cached_tokens, first.cache_write_tokens) == (0, first.prompt_tokens - 1)
    cache.open(first)
    more = cache.breakpoints("m", [CONTEXT, "more " * 50], "a")
    assert more.cached_tokens == first.cache_write_tokens
    assert more.cache_write_tokens > 0
    assert cache.breakpoints("m", ["!" + CONTEXT], "a").cached_tokens == 0
    assert cache.breakpoints("m", ["short"], "a").cache_write_tokens == 0


def test_answers_are_given_in_order_and_by_what_was_asked(serve: Serve) -> None:
    server = serve(Answer(text="judged", when="judge", times=2), "first", otherwise="rest")
    asked = ["judge it", "write", "judge it", "judge it", "write"]
    texts = []
    for suffix in asked:
        _, document = post(server, chat("p", suffix))
        texts.append(document["choices"][0]["message"]["content"])  # type: ignore[index]
    assert texts == ["judged", "first", "judged", "rest", "rest"]
    assert server.answered == 5


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", {"messages": 3}, {"messages": [{"role": "user", "content": 7}]}])
def test_bad_requests_are_answered(serve: Serve, body: object) -> None:
    server = serve(otherwise="x")
    assert post(server, body)[0] == 400
    assert server.calls == ()
    assert post(server, {}, "/nothing")[0] == 404


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not a script"),
        ("3", "is a list, or an object"),
        ('{"answers": [], "reply": 1}', "unknown key 'reply'"),
        ('[{"txet": "x"}]', "unknown key 'txet'"),
        ('[{"text": "x", "status": 7}]', "status is 200 to 599"),
        ("[3]", "an answer is a text or an object"),
        ('{"provider": "other"}', "openai or anthropic"),
        ('{"answers": 3}', "has to be a list"),
    ],
)
def test_scripts_that_cannot_be_read(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        Script.read(path)

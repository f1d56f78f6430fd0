"""What --model says, and what is usable here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rebug.errors import InputError, ModelUnavailable
from rebug.model_api import LEAN, cents, default_spec, open_model, usable_models
from rebug.model_api.catalogue import cheapest
from rebug.model_api.local import look_up
from rebug.model_api.prices import FREE, find
from rebug.model_api.providers import PROVIDERS

from .conftest import KEY, Serve, ask


def test_without_a_key_there_is_no_model() -> None:
    assert open_model(None, environment={}) is None
    assert open_model("", environment={"OPENAI_API_KEY": "  "}) is None
    assert open_model("none", environment={"OPENAI_API_KEY": KEY}) is None


def test_the_first_usable_key_decides() -> None:
    assert default_spec({"OPENAI_API_KEY": KEY}) == "openai:gpt-6-luna"
    assert default_spec({"ANTHROPIC_API_KEY": KEY}) == "anthropic:claude-haiku-5-5"
    assert default_spec({"DEEPSEEK_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}) == "anthropic:claude-haiku-5-5"
    with open_model(None, environment={"OPENAI_API_KEY": KEY}) or pytest.fail("no model") as model:
        assert model.name == "openai:gpt-6-luna"


def test_every_provider_has_a_cheap_default_but_azure() -> None:
    for provider in PROVIDERS.values():
        entry = cheapest(provider)
        if provider.name == "azure":
            assert entry is None
        else:
            assert entry is not None
            assert not entry.deprecated
            assert 0 < cents(entry.price) < 3


def test_the_lean_plan_costs_what_it_is_said_to() -> None:
    luna, mini = find("openai", "gpt-6-luna"), find("openai", "gpt-4o-mini")
    assert luna is not None
    assert mini is not None
    assert 0.5 < cents(luna.price, LEAN) < 1.7
    assert 2 < cents(mini.price, LEAN) < 4
    assert (mini.price.input, mini.price.output, mini.price.cached) == (0.15, 0.6, 0.075)
    assert (luna.price.cache_write, luna.context_window) == (0.125, 1_050_000)
    assert find("openai", "no-such-model") is None
    assert find("nobody", "gpt-4o-mini") is None


def test_usable_models_come_first_and_say_what_is_missing() -> None:
    rows = usable_models({"ANTHROPIC_API_KEY": KEY})
    assert rows[0].default
    assert (rows[0].provider, rows[0].model, rows[0].why_not) == ("anthropic", "anthropic:claude-haiku-5-5", "")
    assert [row.usable for row in rows] == sorted((row.usable for row in rows), reverse=True)
    openai = next(row for row in rows if row.model == "openai:gpt-4o-mini")
    assert openai.why_not == "set OPENAI_API_KEY"
    assert (openai.input, openai.cached, openai.output) == (0.15, 0.075, 0.6)
    assert KEY not in repr(rows)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("gpt-4o-mini", "say PROVIDER:MODEL"),
        ("nobody:model", "say PROVIDER:MODEL"),
        ("azure:", "has no default model"),
        ("https://user:pw@host/v1", "without user, password and query"),
        ("http:///v1", "HOST"),
        ("scripted:/no/such/file.json", "is not a script of replies"),
    ],
)
def test_a_spec_that_cannot_be_used(spec: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        open_model(spec, environment={"AZURE_OPENAI_API_KEY": KEY})


def test_a_missing_key_is_said_with_its_variable() -> None:
    with pytest.raises(ModelUnavailable, match="set ANTHROPIC_API_KEY, or run `keyring set rebug anthropic`"):
        open_model("anthropic:claude-haiku-5-5", environment={"OPENAI_API_KEY": KEY})


def test_a_local_server_is_asked_for_its_model(serve: Serve) -> None:
    server = serve(otherwise="hi", model="tiny-coder")
    address = server.base_url("openai")
    with open_model(address, environment={"OPENAI_API_KEY": KEY}) or pytest.fail("no model") as model:
        assert model.name == f"{address}#tiny-coder"
        assert model.price == FREE
        assert model.context_window == 4096
        assert model.traits.concurrency == 1
        reply = model.complete(ask())
    assert (reply.usd, reply.text) == (0.0, "hi")
    assert server.calls[0].model == "tiny-coder"
    with pytest.raises(ModelUnavailable, match="has no model other: it has tiny-coder"):
        open_model(f"{address}#other", environment={})


def test_a_local_server_is_asked_for_valid_json(serve: Serve) -> None:
    schema = {"type": "object", "properties": {"scripts": {"type": "array", "items": {"type": "string"}}}}
    server = serve(otherwise='{"scripts": []}')
    address = server.base_url("openai")
    with open_model(address, environment={}, schema=schema) or pytest.fail("no model") as model:
        for number in range(2):
            assert model.complete(ask(str(number))).text == '{"scripts": []}'
    response_format = server.calls[0].body["response_format"]
    assert isinstance(response_format, dict)
    assert response_format["type"] == "json_schema"
    assert "scripts" in json.dumps(response_format)
    assert server.violations == ()


def test_no_other_key_is_sent_to_a_local_server(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    seen: list[str] = []
    server = serve(reply=lambda call: seen.append(json.dumps(call.body)) or "x")
    assert look_up(server.base_url("openai"), "", "").model == "gpt-4o-mini"
    with open_model(server.base_url("openai")) or pytest.fail("no model") as model:
        model.complete(ask())
    assert KEY not in seen[0]


def test_a_script_stands_in_for_a_model(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"answers": ["one", {"text": "two"}], "otherwise": "rest", "model": "gpt-6-luna"}))
    with open_model(f"scripted:{script}") or pytest.fail("no model") as model:
        assert [model.complete(ask(str(n))).text for n in range(4)] == ["one", "two", "rest", "rest"]
        usd = model.complete(ask()).usd
        assert usd is not None
        assert 0 < usd < 0.001


def test_nothing_of_the_providers_is_imported_before_a_model_is_opened() -> None:
    code = (
        "import sys, rebug.model_api as m; assert m.open_model('none') is None; m.redact('x');"
        "names = {name.split('.')[0] for name in sys.modules};"
        "print(sorted(names & {'pydantic_ai', 'openai', 'anthropic', 'genai_prices', 'keyring'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"

"""From what --model says to a model that can be called."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from rebug.errors import InputError, ModelUnavailable
from rebug.model_api import local
from rebug.model_api.adapter import LibraryModel, Opened
from rebug.model_api.catalogue import cheapest, default_spec
from rebug.model_api.port import LanguageModel
from rebug.model_api.prices import FREE, find
from rebug.model_api.providers import PROVIDERS, Provider, compatible
from rebug.model_api.traits import traits_of

_SPEC = re.compile(r"([a-z]{2,20}):(.{0,300})", re.DOTALL)

NO_MODEL = (
    "no language model: set OPENAI_API_KEY, ANTHROPIC_API_KEY or another provider's key, or say --model "
    "http://127.0.0.1:PORT/v1, for more hypotheses (`rebug models` lists them)"
)
"""The one line that a run without a model says."""


def open_model(
    spec: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    schema: Mapping[str, object] | None = None,
    base_url: str = "",
) -> LanguageModel | None:
    """Opens a model; no call is made, but a local server is asked which model it has.

    `spec`: "none"; "PROVIDER:MODEL" or "PROVIDER:" for its default model (openai, anthropic, google, deepseek, mistral,
    openrouter, azure, bedrock); "http(s)://HOST[:PORT]/v1[#MODEL]", an OpenAI-compatible server; "scripted:PATH", a
    script that stands in for a model (`rebug.model_api.scripted`); None or "": the first provider whose key is there.
    `environment`: the variables to take keys from; None: this process's, and the keyring where one is installed.
    `schema`: one JSON Schema for all replies of the run, used by local servers only, which need it to give valid JSON.
    `base_url`: another address of the provider, such as a proxy or a test's server.

    Returns None for "none" and when there is no key. Raises InputError for a spec that cannot be read and
    ModelUnavailable when the library, the key or the server is missing.
    """
    variables = os.environ if environment is None else environment
    wanted = spec or default_spec(variables) or "none"
    if wanted == "none":
        return None
    if wanted.startswith(("http://", "https://")):
        return _open_local(wanted, variables, schema)
    match = _SPEC.fullmatch(wanted)
    if match and match[1] == "scripted":
        return _open_scripted(Path(match[2]))
    provider = PROVIDERS.get(match[1]) if match else None
    if match is None or provider is None:
        known = ", ".join(PROVIDERS)
        raise InputError(f"--model {wanted}: say PROVIDER:MODEL (of {known}), an http(s) address, or none")
    return _open_provider(provider, match[2].strip(), variables, base_url)


def _open_provider(provider: Provider, model: str, variables: Mapping[str, str], base_url: str) -> LibraryModel:
    if not provider.installed:
        raise ModelUnavailable(
            f"--model {provider.name}: needs the provider's library: pip install 'rebug[{provider.extra}]'"
        )
    key, where = provider.key(variables)
    if not key and not provider.keyless:
        raise ModelUnavailable(
            f"--model {provider.name}: no key: set {provider.variables[0]}, or run `keyring set rebug {provider.name}`"
        )
    if not model:
        entry = cheapest(provider)
        if entry is None:
            raise InputError(f"--model {provider.name}: has no default model: say {provider.name}:MODEL")
        model = entry.model
    base = base_url or variables.get(provider.base_variable, "")
    opened = _opened(provider.name, model, secrets=() if where == "AWS_PROFILE" else (key,), where=where)
    return LibraryModel(opened, provider.build(model, key, base))


def _opened(provider: str, model: str, *, secrets: tuple[str, ...], where: str) -> Opened:
    entry = find(provider, model)
    return Opened(
        name=f"{provider}:{model}",
        traits=traits_of(provider, model),
        price=entry.price if entry else None,
        context_window=entry.context_window if entry else None,
        secrets=tuple(secret for secret in secrets if secret),
        where=where,
    )


def _open_local(spec: str, variables: Mapping[str, str], schema: Mapping[str, object] | None) -> LibraryModel:
    """A server of one's own: no price, one slot, and only the key that was set for it."""
    address, _, model = spec.partition("#")
    address = address.rstrip("/")
    parts = urlsplit(address)
    if not parts.hostname or parts.username or parts.password or parts.query:
        raise InputError("--model: an address has to be http(s)://HOST[:PORT]/PATH without user, password and query")
    key = variables.get("REBUG_MODEL_KEY", "").strip()
    found = local.look_up(address, model, key)
    opened = Opened(
        name=f"{address}#{found.model}",
        traits=traits_of("local", found.model),
        price=FREE,
        context_window=found.context_window,
        secrets=(key,) if key else (),
        where="REBUG_MODEL_KEY" if key else "",
        schema=schema,
    )
    return LibraryModel(opened, compatible(found.model, key, address))


def _open_scripted(path: Path) -> LibraryModel:
    """A script that stands in for a model, answered by a server in this process and priced as the model it names."""
    from rebug.model_api.scripted import Script, ScriptedServer

    script = Script.read(path)
    provider = PROVIDERS[script.provider]
    if not provider.installed:
        raise ModelUnavailable(f"--model scripted:{path}: needs pip install 'rebug[{provider.extra}]'")
    server = ScriptedServer(script)
    server.start()
    opened = _opened(script.provider, script.model, secrets=(), where="")
    return LibraryModel(
        opened, provider.build(script.model, "scripted", server.base_url(script.provider)), on_close=server.stop
    )

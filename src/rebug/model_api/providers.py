"""The providers: where a key comes from, which models are their small ones, and how the library's model is built.

Each `build` imports its provider's library when called; a missing one is said with the extra that brings it.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.models import Model

Build = Callable[[str, str, str], "Model[Any]"]
"""(model, key, base URL or "") → the library's model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One provider of --model PROVIDER:MODEL."""

    name: str
    variables: tuple[str, ...]  # environment variables that hold a key, the first one that is set counts
    build: Build
    small: re.Pattern[str] | None  # ids of its small models in the price table; groups are the generation
    needs: str = ""  # a module that must be importable
    extra: str = ""  # rebug's extra that brings it
    base_variable: str = ""  # environment variable with another base URL
    keyless: bool = False  # signs by other means (a profile, a role)

    def key(self, environment: Mapping[str, str]) -> tuple[str, str]:
        """The key and the name of its place; two empty strings without one."""
        for variable in self.variables:
            if value := environment.get(variable, "").strip():
                return value, variable
        value = _from_keyring(self.name) if environment is os.environ else ""
        return (value, "the keyring") if value else ("", "")

    @property
    def installed(self) -> bool:
        return not self.needs or _importable(self.needs)


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the parent package
        return False


def _from_keyring(name: str) -> str:
    """A key kept by `keyring set rebug PROVIDER`, where keyring is installed and has a usable backend."""
    if importlib.util.find_spec("keyring") is None:
        return ""
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password("rebug", name) or ""
    except KeyringError:
        return ""


def _openai(model: str, key: str, base: str) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(model, provider=OpenAIProvider(api_key=key, base_url=base or None))


def _azure(model: str, key: str, base: str) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.azure import AzureProvider

    return OpenAIChatModel(model, provider=AzureProvider(api_key=key, azure_endpoint=base or None))


def _anthropic(model: str, key: str, base: str) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(model, provider=AnthropicProvider(api_key=key, base_url=base or None))


def _google(model: str, key: str, base: str) -> Model[Any]:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(model, provider=GoogleProvider(api_key=key, base_url=base or None))


def _bedrock(model: str, _key: str, base: str) -> Model[Any]:
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    return BedrockConverseModel(model, provider=BedrockProvider(base_url=base or None))


def _openrouter(model: str, key: str, _base: str) -> Model[Any]:
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    return OpenRouterModel(model, provider=OpenRouterProvider(api_key=key))


def _deepseek(model: str, key: str, base: str) -> Model[Any]:
    if base:
        return compatible(model, key, base, "deepseek")
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.deepseek import DeepSeekProvider

    return OpenAIChatModel(model, provider=DeepSeekProvider(api_key=key))


def _mistral(model: str, key: str, base: str) -> Model[Any]:
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    return MistralModel(model, provider=MistralProvider(api_key=key, base_url=base or None))


def compatible(model: str, key: str, base: str, name: str = "local") -> Model[Any]:
    """A model of an OpenAI-compatible server. Without a key none is sent, whatever the environment holds."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    profile = OpenAIModelProfile(
        supports_json_schema_output=True,
        default_structured_output_mode="native",
        openai_chat_supports_max_completion_tokens=False,
    )
    return OpenAIChatModel(
        model, provider=OpenAICompatibleProvider(name, base_url=base, api_key=key or None, profile=profile)
    )


PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="openai",
            variables=("OPENAI_API_KEY",),
            build=_openai,
            small=re.compile(r"gpt-(\d+)(?:\.(\d+))?-(?:nano|mini|luna)|gpt-4o-mini"),
            base_variable="OPENAI_BASE_URL",
        ),
        Provider(
            name="anthropic",
            variables=("ANTHROPIC_API_KEY",),
            build=_anthropic,
            small=re.compile(r"claude-haiku-(\d+)-(\d+)"),
            needs="anthropic",
            extra="anthropic",
            base_variable="ANTHROPIC_BASE_URL",
        ),
        Provider(
            name="google",
            variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            build=_google,
            small=re.compile(r"gemini-(\d+)(?:\.(\d+))?-flash-lite"),
            needs="google.genai",
            extra="google",
        ),
        Provider(
            name="deepseek",
            variables=("DEEPSEEK_API_KEY",),
            build=_deepseek,
            small=re.compile(r"deepseek-flash"),
            base_variable="DEEPSEEK_BASE_URL",
        ),
        Provider(
            name="mistral",
            variables=("MISTRAL_API_KEY",),
            build=_mistral,
            small=re.compile(r"mistral-small-latest"),
            needs="mistralai",
            extra="mistral",
        ),
        Provider(
            name="openrouter",
            variables=("OPENROUTER_API_KEY",),
            build=_openrouter,
            small=re.compile(r"openai/gpt-(\d+)(?:\.(\d+))?-luna|anthropic/claude-haiku-(\d+)\.(\d+)"),
        ),
        Provider(
            name="azure",
            variables=("AZURE_OPENAI_API_KEY",),
            build=_azure,
            small=None,  # deployments have names of their own
            base_variable="AZURE_OPENAI_ENDPOINT",
        ),
        Provider(
            name="bedrock",
            variables=("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
            build=_bedrock,
            small=re.compile(r"global\.anthropic\.claude-haiku-(\d+)-(\d+)"),
            needs="boto3",
            extra="bedrock",
            keyless=True,
        ),
    )
}
"""In the order in which a default is looked for."""

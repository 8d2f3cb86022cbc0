"""Which model, at which provider, with which key."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Self, assert_never, get_args

import anyio

from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.known_secrets import remember_keys
from minions_evals_mcp.models.anthropic_client import ANTHROPIC_URL, AnthropicClient
from minions_evals_mcp.models.client import ModelClient, RetrySettings
from minions_evals_mcp.models.embeddings_client import OpenAIEmbeddings
from minions_evals_mcp.models.late_client import LateClient
from minions_evals_mcp.models.openai_client import GEMINI_URL, OPENAI_URL, OpenAIClient, require_sdk
from minions_evals_mcp.models.reply_limits import MOST_BYTES

Provider = Literal["anthropic", "openai", "gemini"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
CLOSING_S = 5.0


@dataclass(frozen=True, slots=True)
class ModelRef:
    """A model at its provider; as text, `provider:model`. `others` judge beside it, as a panel."""

    provider: Provider
    model: str
    others: tuple[ModelRef, ...] = ()

    @property
    def members(self) -> tuple[ModelRef, ...]:
        """Each model by itself."""
        return (ModelRef(self.provider, self.model), *self.others)

    def __str__(self) -> str:
        return ",".join(f"{one.provider}:{one.model}" for one in (self, *self.others))


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Keys and addresses (None: the provider's own), calls in flight at each provider, and how hard a call tries.

    `call_timeout_s` is the deadline of an attempt for callers that have none of their own; a reply has at most `reply_bytes`,
    unpacked.
    """

    anthropic_api_key: str | None = field(default=None, repr=False)
    anthropic_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)
    openai_base_url: str | None = None
    gemini_api_key: str | None = field(default=None, repr=False)
    gemini_base_url: str | None = None
    concurrency: int = 16
    attempts: int = 6
    call_timeout_s: float = 60.0
    retry_base_s: float = 0.2
    retry_cap_s: float = 5.0
    retry_after_cap_s: float = 30.0
    reply_bytes: int = MOST_BYTES


def parse_model(ref: str) -> ModelRef:
    """`provider:model`; Anthropic's where no provider is named. Raises `UnsupportedError` for another provider."""
    before, colon, after = ref.strip().partition(":")
    provider, model = (before, after) if colon else ("anthropic", before)
    if provider not in PROVIDERS:
        raise UnsupportedError(
            f"unknown model provider {provider!r} in {ref!r}; known are {', '.join(PROVIDERS)}.",
            remedy=f"A model with a colon in its name needs its provider in front: openai:{ref.strip()}",
        )
    if not model.strip():
        raise BadInputError(f"no model is named in {ref!r}.", remedy="Write it as provider:model.")
    return ModelRef(provider, model.strip())


def parse_judges(refs: str) -> ModelRef:
    """One model, or a panel of several with commas between them; raises as `parse_model`, and where one is named twice."""
    first, *others = (parse_model(ref) for ref in refs.split(","))
    if len({first, *others}) <= len(others):
        raise BadInputError(f"{refs!r} names a model twice.", remedy="A panel is of different models.")
    return ModelRef(first.provider, first.model, tuple(others))


class Models:
    """The clients of one run or one server: made at first use, one for each provider, closed together."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        remember_keys((settings.anthropic_api_key, settings.openai_api_key, settings.gemini_api_key))
        self._clients: dict[Provider, ModelClient] = {}
        self._embeddings: dict[Provider, ModelClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        clients = [*self._clients.values(), *self._embeddings.values()]
        self._clients.clear()
        self._embeddings.clear()
        with anyio.move_on_after(CLOSING_S, shield=True):
            for client in clients:
                await client.aclose()

    def client(self, ref: ModelRef) -> ModelClient:
        """The client for that model's provider; its SDK is imported with the first request that is sent.

        Raises `BadInputError` where the key is missing, `UnsupportedError` where the provider's package is.
        """
        client = self._clients.get(ref.provider)
        if client is None:
            client = self._clients[ref.provider] = self._made(ref.provider)
        return client

    def embeddings(self, ref: ModelRef) -> ModelClient:
        """The client for that provider's embeddings; as `client`, and `UnsupportedError` where it has none."""
        client = self._embeddings.get(ref.provider)
        if client is None:
            if ref.provider == "anthropic":
                raise UnsupportedError("Anthropic offers no embeddings.", remedy="Use openai:MODEL or gemini:MODEL.")
            client = self._embeddings[ref.provider] = self._made(ref.provider, OpenAIEmbeddings)
        return client

    def _made(self, provider: Provider, speaks: type[OpenAIClient | OpenAIEmbeddings] = OpenAIClient) -> ModelClient:
        chosen = self.settings
        retry = RetrySettings(chosen.attempts, chosen.retry_base_s, chosen.retry_cap_s, chosen.retry_after_cap_s)
        match provider:
            case "anthropic":
                make = partial(
                    AnthropicClient,
                    api_key=_key("ANTHROPIC_API_KEY", chosen.anthropic_api_key),
                    base_url=_url("ANTHROPIC_BASE_URL", chosen.anthropic_base_url or ANTHROPIC_URL),
                    concurrency=chosen.concurrency,
                    retry=retry,
                    reply_bytes=chosen.reply_bytes,
                )
            case "openai":
                # A server of one's own seldom wants a key, but the SDK does.
                spare = "none" if chosen.openai_base_url else None
                make = partial(
                    speaks,
                    provider="openai",
                    api_key=_key("OPENAI_API_KEY", chosen.openai_api_key or spare),
                    base_url=_url("OPENAI_BASE_URL", chosen.openai_base_url or OPENAI_URL),
                    concurrency=chosen.concurrency,
                    retry=retry,
                    reply_bytes=chosen.reply_bytes,
                )
            case "gemini":
                make = partial(
                    speaks,
                    provider="gemini",
                    api_key=_key("GEMINI_API_KEY", chosen.gemini_api_key),
                    base_url=_url("GEMINI_BASE_URL", chosen.gemini_base_url or GEMINI_URL),
                    concurrency=chosen.concurrency,
                    retry=retry,
                    reply_bytes=chosen.reply_bytes,
                )
            case _:
                assert_never(provider)
        if provider != "anthropic":
            require_sdk(speaks.needs.format(provider))
        return LateClient(provider, make)


def _key(name: str, value: str | None) -> str:
    if not value or not value.strip():
        raise BadInputError(f"no key for {name.partition('_')[0].lower()} is set.", remedy=f"Set {name}.")
    return value.strip()


def _url(name: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise BadInputError(
            f"{name} is {value!r}, which is no web address.", remedy="Write it with http:// or https://."
        )
    return value

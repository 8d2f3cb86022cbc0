"""The providers of models, a row each: settings, clients, options, prices and the choices at every edge come from it.

A provider that speaks an interface which is known is a row; another interface is a row and its client in `models/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from minions_evals_mcp.frozen_types import frozen_type

LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the longest reply; they are said to each provider in its own way."""
_CHAT = (
    *LIMITS, "temperature", "top_p", "stop", "seed", "frequency_penalty", "presence_penalty", "response_format",
    "reasoning_effort", "verbosity", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "logprobs",
    "service_tier", "store", "user",
)  # fmt: skip
_MESSAGES = (
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "thinking",
    "tools",
    "tool_choice",
    "metadata",
)


@frozen_type
class ModelProvider:
    """The way to reach a provider. `url` is its own address, `client` the module of `models/` that speaks its interface.

    `package` is the SDK that the client needs, `options` are what a config may set of a request. `known_as` are the
    prefixes of its models in promptfoo's configs. `embeddings` is the module for its vectors; None: it has none.
    """

    name: str
    url: str
    client: str
    package: str
    options: tuple[str, ...]
    known_as: tuple[str, ...]
    embeddings: str | None = None
    price_name: str = ""
    """Its name in the price table, where that is another."""
    keyless_elsewhere: bool = False
    """Whether a server at another address than its own may go without a key."""
    system_apart: bool = False
    """Whether the system's text travels beside the turns, not as the first of them."""
    key_env: str = ""
    """The environment variable with its key, where that is not called by its name."""
    is_named: bool = False
    """Whether it is an endpoint that somebody named in their settings."""
    place: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a cloud needs besides: its region, project or version of the interface."""
    credentials: str = ""
    """The package that finds a cloud's credentials where no key is set; it comes with the extra of the cloud's name."""

    @property
    def key_variable(self) -> str:
        """The environment variable with its key."""
        return self.key_env or f"{_variable(self.name)}_API_KEY"

    @property
    def url_variable(self) -> str:
        """The environment variable with another address."""
        return f"{_variable(self.name)}_BASE_URL"

    @property
    def embedders_known_as(self) -> tuple[str, ...]:
        """The prefixes of its embedders in promptfoo's configs."""
        roots = dict.fromkeys(prefix.partition(":")[0] for prefix in self.known_as) if self.embeddings else ()
        return tuple(f"{root}:{kind}:" for root in roots for kind in ("embedding", "embeddings"))


def _variable(name: str) -> str:
    return name.upper().replace("-", "_")


_ROWS = (
    ModelProvider(
        "openai", "https://api.openai.com/v1", "openai_client", "openai", _CHAT, ("openai:chat:", "openai:"),
        embeddings="embeddings_client", keyless_elsewhere=True,
    ),
    ModelProvider(
        "anthropic", "https://api.anthropic.com", "anthropic_client", "anthropic", _MESSAGES,
        ("anthropic:messages:", "anthropic:"), system_apart=True,
    ),
    ModelProvider(
        "gemini", "https://generativelanguage.googleapis.com/v1beta/openai/", "openai_client", "openai", _CHAT,
        ("google:", "gemini:"), embeddings="embeddings_client", price_name="google",
    ),
)  # fmt: skip
_BY_NAME = {row.name: row for row in _ROWS}
PROVIDERS: Mapping[str, ModelProvider] = _BY_NAME
"""The providers that every program knows, and the endpoints that are named in the settings of this one."""

if TYPE_CHECKING:
    Provider = str
else:
    Provider = Literal[tuple(PROVIDERS)]
"""The name of a provider; in a record or an argument any other is refused."""


_CLOUDS = {
    "azure": ModelProvider("azure", "", "azure_client", "openai", _CHAT, (), price_name="azure"),
    "bedrock": ModelProvider(
        "bedrock", "", "bedrock_client", "anthropic", _MESSAGES, (), price_name="aws", system_apart=True, credentials="boto3"
    ),
    "vertex": ModelProvider(
        "vertex", "", "vertex_client", "anthropic", _MESSAGES, (), price_name="google", system_apart=True, credentials="google.auth"
    ),
    "vertex-gemini": ModelProvider(
        "vertex-gemini", "", "vertex_chat_client", "openai", _CHAT, (), price_name="google", credentials="google.auth"
    ),
}  # fmt: skip
"""Clouds, which are reached at an endpoint that somebody named: each is another place."""


def name_endpoint(name: str, api: str, url: str, key_env: str = "", place: Mapping[str, str] | None = None) -> None:
    """Makes an endpoint known under that name, in place of an earlier one: it speaks the interface of the provider or cloud `api`,
    in that `place`.
    """
    cloud = _CLOUDS.get(api)
    like = cloud or _BY_NAME[api]
    _BY_NAME[name] = replace(
        like, name=name, url=url, known_as=(f"{name}:",), price_name=cloud.price_name if cloud else "", keyless_elsewhere=cloud is None,
        key_env=key_env, is_named=True, place=place or {},
    )  # fmt: skip


def cloud_endpoint(api: str, place: Mapping[str, str]) -> str:
    """The name of an endpoint at that cloud in that place: the cloud's, or where that is taken, the place's beside it.

    It is made known unless it is.
    """
    row = _BY_NAME.get(api)
    name = api if row is None or row.place == place else "-".join((api, *place.values()))
    if name not in _BY_NAME:
        name_endpoint(name, api, "", "", place)
    return name


def examples(providers: Iterable[ModelProvider] = PROVIDERS.values()) -> str:
    """Returns how their models are written, for messages: `openai:MODEL, anthropic:MODEL`."""
    return ", ".join(f"{row.name}:MODEL" for row in providers)


def with_embeddings() -> tuple[ModelProvider, ...]:
    """Those that give vectors."""
    return tuple(row for row in PROVIDERS.values() if row.embeddings)


@frozen_type
class ProviderAccess:
    """A provider's key and address as somebody set them; None: no key, the provider's own address.

    `is_foreign`: a file set an address other than the operator's, so nothing of the operator's may go there.
    """

    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    is_foreign: bool = False


NO_ACCESS = ProviderAccess()

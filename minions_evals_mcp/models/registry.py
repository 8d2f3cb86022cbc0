"""The registry of models, at which provider, with which key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Self
from urllib.parse import urlsplit

import anyio

from minions_evals_mcp.domain.providers import (
    NO_ACCESS,
    PROVIDERS,
    ModelProvider,
    Provider,
    ProviderAccess,
    examples,
    with_embeddings,
)
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import remember_keys
from minions_evals_mcp.models.client import ModelClient, ModelConnection, RetrySettings
from minions_evals_mcp.models.late_client import LateClient
from minions_evals_mcp.models.service_table import SERVICES, Service
from minions_evals_mcp.outgoing import MOST_BYTES

CLOSING_S = 5.0
UNNAMED = "anthropic"
"""Whose a model is that names no provider."""


@frozen_type
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
        return ",".join(f"{model.provider}:{model.model}" for model in (self, *self.others))


@frozen_type
class ProviderSettings:
    """Keys and addresses by provider, calls in flight at each of them, and how hard a call tries.

    `call_timeout_s` is the deadline of an attempt for callers that have none of their own; a reply has at most `reply_bytes`,
    unpacked.
    """

    access: Mapping[str, ProviderAccess] = field(default_factory=dict[str, ProviderAccess])
    concurrency: int = 16
    attempts: int = 6
    call_timeout_s: float = 60.0
    retry_base_s: float = 0.2
    retry_cap_s: float = 5.0
    retry_after_cap_s: float = 30.0
    reply_bytes: int = MOST_BYTES

    def reached(self, provider: str, access: ProviderAccess) -> ProviderSettings:
        """These settings with that provider's key or address in place of its own; what is None stays.

        The operator's key goes to the provider's own host and to the address that the operator set, and nowhere else.
        """
        held = self.access.get(provider, NO_ACCESS)
        is_foreign = access.base_url is not None and not _same_host(access.base_url, held.base_url, provider)
        key = None if is_foreign else held.api_key
        changed = ProviderAccess(access.api_key or key, access.base_url or held.base_url, is_foreign)
        return replace(self, access={**self.access, provider: changed})

    def has_key(self, model: str) -> bool:
        """Returns whether the key of that model's provider is set."""
        return bool(self.access.get(parse_model(model).provider, NO_ACCESS).api_key)


def _same_host(address: str, of_operator: str | None, provider: str) -> bool:
    """Returns whether the address is at the host, with the scheme and port, that the operator's key is for."""
    row = PROVIDERS.get(provider)
    service = next((service.url for service in SERVICES if service.account == provider), None)
    own = of_operator or (service if row is None else row.url)
    return own is not None and _origin(address) == _origin(own)


def _origin(address: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return "", None, None


_KNOWN_BY = {"openai": ("gpt-", "chatgpt-", "o1", "o3", "o4-"), "gemini": ("gemini-",)}
"""What models of others than Anthropic are called: without a provider the name would be taken for one of Anthropic's."""


def parse_model(ref: str) -> ModelRef:
    """`provider:model`; Anthropic's where no provider is named. Raises `UnsupportedError` for another provider."""
    before, colon, after = ref.strip().partition(":")
    provider, model = (before, after) if colon else (UNNAMED, before)
    if not colon and (owner := next((name for name, begins in _KNOWN_BY.items() if before.startswith(begins)), None)):
        raise BadInputError(f"{ref!r} names no provider.", remedy=f"Write it as provider:model, here {owner}:{before}.")
    if provider not in PROVIDERS:
        raise UnsupportedError(
            f"unknown model provider {provider!r} in {ref!r}; known are {', '.join(PROVIDERS)}.",
            remedy=f"A model with a colon in its name needs its provider in front: openai:{ref.strip()}",
        )
    if not model.strip():
        raise BadInputError(f"no model in {ref!r}.", remedy="Write it as provider:model.")
    return ModelRef(provider, model.strip())


def parse_judges(refs: str) -> ModelRef:
    """One model, or a panel of several with commas between them; raises as `parse_model`, and where one is named twice."""
    first, *others = (parse_model(ref) for ref in refs.split(","))
    if len({first, *others}) <= len(others):
        raise BadInputError(f"{refs!r} contains a model twice.", remedy="A panel needs different models.")
    return ModelRef(first.provider, first.model, tuple(others))


class Models:
    """The clients of one run or one server: made at first use, one for each provider, closed together."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings = settings
        remember_keys(access.api_key for access in settings.access.values())
        self._clients: dict[Provider, ModelClient] = {}
        self._embeddings: dict[Provider, ModelClient] = {}
        self._services: dict[str, ModelClient] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        held = (self._clients, self._embeddings, self._services)
        clients = [client for several in held for client in several.values()]
        for several in held:
            several.clear()
        with anyio.move_on_after(CLOSING_S, shield=True):
            for client in clients:
                await client.aclose()

    def client(self, ref: ModelRef) -> ModelClient:
        """The client for that model's provider; its SDK is imported with the first request that is sent.

        Raises `BadInputError` where the key is missing, `UnsupportedError` where the provider's package is.
        """
        client = self._clients.get(ref.provider)
        if client is None:
            row = PROVIDERS[ref.provider]
            client = self._clients[ref.provider] = self._made(
                row, row.client, f"the provider {row.name!r} needs", ref.model
            )
        return client

    async def ready(self, refs: Iterable[ModelRef]) -> None:
        """Makes the clients of these models, which a first request would do; raises as `client`."""
        for client in {id(client): client for client in map(self.client, refs)}.values():
            if isinstance(client, LateClient):
                await client.ready()

    def embeddings(self, ref: ModelRef) -> ModelClient:
        """The client for that provider's embeddings; as `client`, and `UnsupportedError` where it has none."""
        client = self._embeddings.get(ref.provider)
        if client is None:
            row = PROVIDERS[ref.provider]
            if row.embeddings is None:
                remedy = f"Use one of {examples(with_embeddings())}."
                raise UnsupportedError(f"{row.name} offers no embeddings.", remedy=remedy)
            who = f"the embeddings of {row.name!r} need"
            client = self._embeddings[ref.provider] = self._made(row, row.embeddings, who)
        return client

    def service(self, row: Service) -> ModelClient:
        """The client of a service that moderates or classifies. Raises `BadInputError` where the key is missing."""
        client = self._services.get(row.prefix)
        if client is None:
            access = self.settings.access.get(row.account, NO_ACCESS)
            if not (access.api_key or access.base_url):
                raise BadInputError(
                    f"{row.decides} needs a key for {row.account}, and none is set.",
                    remedy=f"Set {row.key_variables[0]}.",
                )
            url = _url(row.url_variable, access.base_url or row.url)
            connection = self._connection(row.account, (access.api_key or "").strip(), url)
            module = f"{__package__}.services"
            client = self._services[row.prefix] = LateClient(
                row.account, lambda: import_module(module).ServiceClient(connection, row)
            )
        return client

    def _made(self, row: ModelProvider, module: str, who: str, model: str = "") -> ModelClient:
        access = self.settings.access.get(row.name, NO_ACCESS)
        # A server of one's own seldom wants a key, but the SDK does.
        spare = "none" if row.keyless_elsewhere and access.base_url else None
        has_own = bool(row.credentials) and not access.api_key  # the cloud's own: a role, a profile, a login
        if has_own and access.is_foreign:
            raise BadInputError(
                f"{row.name} has no key for {access.base_url}, and this machine's own credentials are not sent there.",
                remedy=f"Give a key in that file, or set the address of {row.name} yourself.",
            )
        key = "" if has_own else _key(row, access.api_key or spare, model)
        url = access.base_url or row.url
        connection = self._connection(row.name, key, url and _url(row.url_variable, url), row.place)
        connection = replace(connection, is_foreign=access.is_foreign)
        _require(row.package, who)
        if has_own:
            _require(row.credentials, f"without a key, {who}", extra=row.client.partition("_")[0])
        return LateClient(row.name, lambda: import_module(f"{__package__}.{module}").open_client(connection))

    def _connection(self, account: str, key: str, url: str, place: Mapping[str, str] | None = None) -> ModelConnection:
        chosen = self.settings
        retry = RetrySettings(chosen.attempts, chosen.retry_base_s, chosen.retry_cap_s, chosen.retry_after_cap_s)
        return ModelConnection(account, key, url, chosen.concurrency, retry, chosen.reply_bytes, place or {})


def _require(package: str, who: str, *, extra: str = "") -> None:
    """Raises `UnsupportedError` where the package is missing; it is not imported."""
    if not is_installed(package):
        wanted = f"'minions-evals-mcp[{extra}]'" if extra else package
        raise UnsupportedError(
            f"{who} the package {package}, which is not installed.", remedy=f"Install it with: pip install {wanted}"
        )


def is_installed(package: str) -> bool:
    """Whether the package, or the module of a namespace, could be imported; it is not."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # what holds it is missing
        return False


def _key(row: ModelProvider, value: str | None, model: str) -> str:
    if not value or not value.strip():
        which_model = f", which {model!r} needs" if model else ""
        raise BadInputError(
            f"no key for {row.name} is set{which_model}.",
            remedy=f"Set {row.key_variable}, or name another provider's model as provider:model.",
        )
    return value.strip()


def _url(variable: str, value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise BadInputError(
            f"{variable} is {value!r}, which is not a web address.", remedy="Write it with http:// or https://."
        )
    return value

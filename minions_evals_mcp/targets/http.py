"""Outputs made by an application behind an address: `http:URL`, named by the operator only."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self
from urllib.parse import quote, urljoin, urlsplit

import anyio
from pydantic import AfterValidator, JsonValue, ValidationError

from minions_evals_mcp.domain.conversations import Spoken
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Text
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.models.departure import Departure, departing
from minions_evals_mcp.network_address import is_loopback
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.outgoing import PORTS, UnacceptableReplyError, open_client, origin, same_host
from minions_evals_mcp.scoring.values import js_json
from minions_evals_mcp.targets.exchange import (
    PLACE,
    TargetExchange,
    asking,
    looked_up,
    names_of,
    sent,
    tells_version,
    vet_version,
)

if TYPE_CHECKING:
    import httpx2

    from minions_evals_mcp.world.units import UnitInWorld

WORLD_HEADER = "minions-evals-world-mcp-config"
"""The header with the configuration of a world's tool servers, `{"mcpServers": …}`."""
WORLD_PLACE = re.compile(r"\{\{\s*(world\.[^{}\s]+)\s*\}\}")
MOST_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEPING = frozenset({307, 308})
"""Redirects under which method and body stay what they are."""
FATAL = frozenset({401, 403, 407})
"""No other question would be answered either."""
UNANSWERED = frozenset({408, 425, 429})
CLOSING_S = 5.0
_PREFIXED = re.compile(r"^https?:(?=https?://)")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

Method = Literal["GET", "POST", "PUT", "PATCH"]


def _address(url: str) -> str:
    parts = urlsplit(url)  # raises ValueError for a port or an IPv6 address that is none
    if parts.scheme not in PORTS or not parts.hostname or "{{" in f"{parts.scheme}{parts.netloc}":
        raise ValueError(f"{url!r} is not a web address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a password in the address would be saved with every run; name its variable in headersFrom")
    assert parts.port is None or parts.port >= 0
    return url


def _header_names(headers: dict[str, str]) -> dict[str, str]:
    for name in headers:
        if _HEADER.fullmatch(name) is None:
            raise ValueError(f"{name!r} is not a header name")
    return headers


Headers = Annotated[dict[str, str], AfterValidator(_header_names)]


class HttpSettings(TargetExchange):
    """An address and how it is asked. `headersFrom` names the environment variable that holds each header's value.

    `url` may hold `{{name}}` behind its host. A GET has no body; `input` is the body of the others.
    """

    url: Annotated[Text, AfterValidator(_address)]
    method: Method = "POST"
    headers: Headers = {}
    headers_from: Headers = {}

    @property
    def name(self) -> str:
        """The target as it stands in `producedBy`: the address without what comes after its path."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"


def http_settings(target: str) -> HttpSettings:
    """The settings that `http:URL` (or the URL alone) stands for; what comes after # selects the output.

    Raises `BadInputError` for what is no address or no selector.
    """
    url, _, selector = (_PREFIXED.sub("", target)).partition("#")
    try:
        return HttpSettings(url=url, output=selector or None)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInputError(
            f"{argument('target')} {target}: {first['msg'].removeprefix('Value error, ')}.",
            remedy="Write it as http://HOST/PATH, or as http://HOST/PATH#EXPRESSION with the JMESPath of the output.",
        ) from None


class ApplicationConnections:
    """The connections to applications of one engine: made at first use, kept open between questions, closed together."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            with anyio.move_on_after(CLOSING_S, shield=True):
                await self._client.aclose()

    def client(self) -> httpx2.AsyncClient:
        """The client: without cookies, so that no case hears of another; without limits of its own."""
        if self._client is None:
            from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415  as below

            import httpx2  # noqa: PLC0415  0.1 s that only this target needs

            self._client = open_client(
                httpx2.AsyncClient,
                server=None,
                trust_env=False,  # settings.py alone reads the environment
                timeout=None,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            )
        return self._client


@frozen_type
class HttpQuestion:
    """One HTTP request. `json` is its body, if it has one, or `text`, whose kind a header says."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    json: JsonValue = None
    text: str | None = None

    @property
    def body(self) -> bytes | None:
        """Returns what is sent behind the headers."""
        if self.text is not None:
            return self.text.encode()
        return None if self.json is None else js_json(self.json).encode()


@frozen_type
class Answered:
    """The body of an answer, and the status and headers that came with it."""

    body: bytes
    status: int
    said: str
    """The status in words."""
    headers: Mapping[str, str]

    def unless_refused(self) -> Answered | TargetErrored:
        """The answer, or the error that its status stands for."""
        if 200 <= self.status < 300:
            return self
        message = " ".join(masked(self.body.decode("utf-8", "replace"))[:800].split())[:200] or "no message"
        unanswered = self.status in UNANSWERED or self.status >= 500
        return TargetErrored(f"HTTP {self.status}: {message}", fatal=self.status in FATAL, unanswered=unanswered)


async def fetched(
    web: ApplicationConnections, question: HttpQuestion, departure: Departure | None = None
) -> bytes | TargetErrored:
    """The body of the answer, or why there is none; a status outside 2xx is an error."""
    answer = await answered(web, question, departure)
    answer = answer.unless_refused() if isinstance(answer, Answered) else answer
    return answer.body if isinstance(answer, Answered) else answer


async def answered(
    web: ApplicationConnections, question: HttpQuestion, departure: Departure | None = None
) -> Answered | TargetErrored:
    """The answer, of whatever status, or why there is none. Redirects are followed on the same host only.

    It may take forever: the caller sets the limit.
    """
    import httpx2  # noqa: PLC0415  as above

    for _ in range(MOST_REDIRECTS + 1):
        try:
            answer = await _once(web.client(), question, departure)
        except httpx2.TransportError as error:
            message = str(error) or type(error).__name__
            return TargetErrored(f"no connection to {origin(question.url)}: {message}", unanswered=True)
        except UnacceptableReplyError as error:
            return TargetErrored(str(error))
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            return TargetErrored(f"{origin(question.url)}: {type(error).__name__}: {error}")
        if not isinstance(answer, HttpQuestion):
            return answer
        question = answer
    return TargetErrored(f"{origin(question.url)} redirects more than {MOST_REDIRECTS} times")


async def _once(
    client: httpx2.AsyncClient, question: HttpQuestion, departure: Departure | None
) -> Answered | HttpQuestion | TargetErrored:
    """The answer, or the question that a redirect leads to."""
    headers = {"accept": "application/json, text/plain;q=0.9, */*;q=0.5", **question.headers}
    if question.json is not None:
        headers = {"content-type": "application/json", **headers}
    traced = {} if departure is None else {"trace": departure.heard}
    async with client.stream(
        question.method, question.url, headers=headers, content=question.body, extensions=traced
    ) as answer:
        status = answer.status_code
        if status in REDIRECTS:
            return _redirected(question, status, answer.headers.get("location", ""))
        return Answered(await answer.aread(), status, answer.reason_phrase, dict(answer.headers))


def _redirected(question: HttpQuestion, status: int, location: str) -> HttpQuestion | TargetErrored:
    to = urljoin(question.url, location)
    if not location or not same_host(question.url, to):
        return TargetErrored(
            f"it redirects to another server, {origin(to)}, which is not followed. Use that address", fatal=True
        )
    if status not in KEEPING and question.method != "GET":
        return TargetErrored(f"it redirects a {question.method} to {origin(to)}{urlsplit(to).path}. Use that address")
    return replace(question, url=to)


@frozen_type
class HttpTarget:
    """An application of the user's at an address. `secrets` are the headers whose values the environment held.

    In a world it is told of the tool servers by the header `WORLD_HEADER`, and by what `world` stands for in the template of
    its input, in its headers and its address.
    """

    settings: HttpSettings
    web: ApplicationConnections
    deadline_s: float
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    world: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @asynccontextmanager
    async def in_world(self, world: UnitInWorld) -> AsyncGenerator[HttpTarget]:
        """The same application, told where the tool servers of that world are; they answer as long as this lasts."""
        host = urlsplit(self.settings.url).hostname or ""
        if not is_loopback(host):
            raise BadInputError(
                f"the servers of the world {world.record.id} are reachable on this machine only, and {host} is another machine.",
                remedy="Run the application here, as a target at 127.0.0.1.",
            )
        from minions_evals_mcp.world.reaching import served_over_http  # noqa: PLC0415  few cases have a world

        async with served_over_http(world.session) as addresses:
            yield replace(self, world=_told_of(addresses))

    def digest(self) -> str:
        """The digest of the settings, with the names of the secrets only: the application's code is the user's to version."""
        return digest({"target": "http", **self.settings.model_dump(mode="json")})

    @property
    def takes_version(self) -> bool:
        """Returns whether the application is told of the prompt version."""
        return tells_version(self._prompt_fields())

    def vet(self, version: Record[PromptVersion] | None) -> None:
        """Raises `BadInputError` where a version is asked for of which the application would be told nothing."""
        vet_version(self._prompt_fields(), version)

    def _prompt_fields(self) -> JsonValue:
        """Returns what of the request tells the application something; None where the inputs are sent as they are."""
        settings = self.settings
        if settings.method == "GET":
            return settings.url
        return None if settings.input is None else [settings.url, settings.input]

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """Returns what the application answered; at the limit it is given up."""
        settings = self.settings
        body = None if settings.method == "GET" else sent(settings.input, inputs, version, self.world)
        url = _filled_address(settings.url, inputs, version, self.world)
        question = HttpQuestion(settings.method, url, {**self._headers(), **self.secrets}, body)
        exchange = asking(
            settings.name, version, timeout_ms=timeout_ms, deadline_s=settings.timeout_seconds or self.deadline_s
        )
        content: bytes | TargetErrored | None = None
        self.web.client()  # made before the clock starts
        with departing() as departure, anyio.move_on_after(exchange.limit_s):
            content = await fetched(self.web, question, departure)
        latency_ms = (anyio.current_time() - departure.at) * 1000
        if content is None:
            return exchange.too_late(latency_ms)
        if isinstance(content, TargetErrored):
            return replace(content, reason=f"{settings.name}: {content.reason}")
        return exchange.answered(content, settings, latency_ms=latency_ms)

    def _headers(self) -> dict[str, str]:
        """The headers with what they tell of a world."""
        headers = {
            name: WORLD_PLACE.sub(lambda place: value_text(looked_up(place.group(1), dict(self.world))), value)
            for name, value in self.settings.headers.items()
        }
        if not self.world:
            return headers
        return {WORLD_HEADER: value_text(looked_up("world.mcp_config", dict(self.world))), **headers}

    async def answer_in(
        self, spoken: Spoken, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """The answer to what the user said last: `message`, `messages` and `session` join the inputs."""
        return await self.produce({**inputs, **spoken.told()}, version, timeout_ms=timeout_ms)


def _told_of(addresses: Mapping[str, str]) -> Json:
    """The names that tell of a world's servers: their configuration, their addresses, and that of an only one."""
    config: Json = {"mcpServers": {name: {"type": "http", "url": url} for name, url in addresses.items()}}
    told: Json = {"mcp_config": config, "mcpConfig": config, "urls": dict[str, JsonValue](addresses)}
    return {"world": told if len(addresses) > 1 else {**told, "url": next(iter(addresses.values()))}}


def _filled_address(
    url: str, inputs: Json, version: Record[PromptVersion] | None, more: Mapping[str, JsonValue]
) -> str:
    """The address with its places filled; a value can neither leave its segment nor name another host."""
    if PLACE.search(url) is None:
        return url
    names = {**names_of(inputs, version), **more}
    return PLACE.sub(lambda place: _segment(place.group(1), names), url)


def _segment(name: str, names: Json) -> str:
    text = quote(value_text(looked_up(name, names)), safe="")
    if text in {"", ".", ".."}:
        raise BadInputError(f"the target's {{{{{name}}}}} is {text!r} in this case, which leads to another address.")
    return text

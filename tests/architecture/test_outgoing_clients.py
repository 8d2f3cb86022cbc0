"""Every HTTP client of ours: what is meant for one server, a key or a text under test, reaches no other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from pydantic import JsonValue

from minions_evals_mcp.domain import providers
from minions_evals_mcp.domain.outcomes import TargetErrored
from minions_evals_mcp.domain.providers import ProviderAccess, name_endpoint
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.outbox import message
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.models import registry
from minions_evals_mcp.models.registry import ModelRef, Models, ProviderSettings, parse_model
from minions_evals_mcp.models.replies import FailedReply, Reply
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.service_table import SERVICES, Service
from minions_evals_mcp.targets.http import ApplicationConnections, HttpQuestion, answered
from minions_evals_mcp.toolboxes.mcp_line import McpLine
from minions_evals_mcp.toolboxes.servers import ServerSettings
from minions_evals_mcp.toolboxes.webhook import WebhookNeighbour, WebhookSettings
from tests.hang import HANG_S
from tests.workshop import START

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
KEY = "a-key-of-ours"
CLOUDS: Mapping[str, Mapping[str, str]] = {
    "azure": {"api-version": "2024-10-21"},
    "bedrock": {"region": "eu-central-1"},
    "vertex": {"region": "europe-west1", "project": "p-1"},
}
LOCATIONS = ("http://{there}/x", "//{there}/x", "http://{here}@{there}/x", "/\\{there}/../x", "http://{here}.{there}/x")
"""Ways to name another server: whole, without a scheme, behind what looks like the first, as a path that is one to some readers."""


@dataclass
class Pair:
    """A server that answers by `answer`, and another one on this machine that nobody means. `heads` holds what each was sent."""

    here: str = ""
    there: str = ""
    answer: bytes = b""
    heads: dict[str, list[bytes]] = field(default_factory=lambda: {"here": [], "there": []})

    @property
    def url(self) -> str:
        return f"http://{self.here}"

    def redirect(self, location: str, status: int) -> None:
        """Has the first server lead on to that place."""
        to = location.format(here=self.here, there=self.there)
        self.answer = f"HTTP/1.1 {status} Go\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n".encode()

    async def serve(self, name: str, stream: SocketStream) -> None:
        """Answers what comes over that connection, each time the same."""
        async with stream:
            read = b""
            while b"\r\n\r\n" not in read:
                try:
                    read += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return
            self.heads[name].append(read)
            await stream.send(self.answer.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1))


@pytest.fixture
async def pair() -> AsyncGenerator[Pair]:
    """Both listen."""
    found = Pair()
    async with AsyncExitStack() as listeners, anyio.create_task_group() as tasks:
        for name, host in (("here", "127.0.0.1"), ("there", "127.0.0.2")):
            listener = await listeners.enter_async_context(await anyio.create_tcp_listener(local_host=host))
            port = listener.extra(SocketAttribute.local_port)  # noqa: S610  not Django
            setattr(found, name, f"{host}:{port}")

            async def handle(stream: SocketStream, name: str = name) -> None:
                await found.serve(name, stream)

            tasks.start_soon(listener.serve, handle)
        yield found
        tasks.cancel_scope.cancel()


@pytest.fixture(autouse=True)
def _own_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoints that a test names end with it."""
    known = dict(providers.PROVIDERS)
    monkeypatch.setattr(providers, "_BY_NAME", known)
    monkeypatch.setattr(providers, "PROVIDERS", known)
    monkeypatch.setattr(registry, "PROVIDERS", known)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@asynccontextmanager
async def models(url: str, account: str, *, key: str | None = KEY) -> AsyncGenerator[Models]:
    """Clients of a provider at that address, which the operator set."""
    settings = ProviderSettings(access={account: ProviderAccess(key, url)}, attempts=1)
    async with Models(settings) as opened:
        yield opened


def asking(text: str = "hello") -> ModelRequest:
    return ModelRequest("m-1", text, max_tokens=10)


def fell(reply: Reply) -> str:
    assert isinstance(reply, FailedReply), reply
    return reply.reason


def of_provider(name: str, *, stream: bool = False) -> Callable[[str], Awaitable[str]]:
    async def ask(url: str) -> str:
        async with models(url, name) as opened:
            request = ModelRequest("m-1", "hello", max_tokens=10, stream=stream)
            return fell(await opened.client(ModelRef(name, "m-1")).complete(request, deadline_s=HANG_S))

    return ask


def of_cloud(cloud: str) -> Callable[[str], Awaitable[str]]:
    async def ask(url: str) -> str:
        name_endpoint("prod", cloud, url, "PROD_KEY", CLOUDS[cloud])
        async with models(url, "prod") as opened:
            return fell(await opened.client(parse_model("prod:m-1")).complete(asking(), deadline_s=HANG_S))

    return ask


def of_service(row: Service) -> Callable[[str], Awaitable[str]]:
    async def ask(url: str) -> str:
        async with models(url, row.account) as opened:
            return fell(await opened.service(row).complete(asking(), deadline_s=HANG_S))

    return ask


async def of_embeddings(url: str) -> str:
    async with models(url, "openai") as opened:
        return fell(await opened.embeddings(ModelRef("openai", "m-1")).complete(asking('["a"]'), deadline_s=HANG_S))


async def of_application(url: str) -> str:
    async with ApplicationConnections() as web:
        found = await answered(web, HttpQuestion("POST", url, {"x-key": KEY}, {"q": "hello"}))
    assert isinstance(found, TargetErrored)
    return found.reason


async def of_webhook(url: str) -> str:
    there = WebhookNeighbour(
        WebhookSettings.model_validate({"url": url, "headersFrom": {"X-Key": "KEY"}}),
        {"KEY": KEY}, patience=1, clock=lambda: START,
    )  # fmt: skip
    with pytest.raises((InstrumentError, BadInputError)) as caught:
        await there.tell(
            Record("m", message("news", {"a": 1}, at=START), "News", START, START), key="a", addressee="orchestrator"
        )
    return str(caught.value)


async def of_tool_server(url: str) -> str:
    async with anyio.create_task_group() as tasks:
        line = McpLine("web", ServerSettings(url=url, headers_from={"X-Key": "KEY"}), {"KEY": KEY}, tasks)
        try:
            await line.call("tell", {})
        except InstrumentError as error:
            return str(error)
        finally:
            tasks.cancel_scope.cancel()
    raise AssertionError("it answered")


CLIENTS: dict[str, Callable[[str], Awaitable[str]]] = {
    **{name: of_provider(name) for name in ("openai", "anthropic", "gemini")},
    **{f"{name}, streamed": of_provider(name, stream=True) for name in ("openai", "anthropic")},
    **{cloud: of_cloud(cloud) for cloud in CLOUDS},
    **{row.prefix: of_service(row) for row in SERVICES},
    "embeddings": of_embeddings,
    "targets/http.py": of_application,
    "toolboxes/webhook.py": of_webhook,
    "toolboxes/mcp_line.py": of_tool_server,
}
OPENERS = {
    "models/services.py",
    "models/sdk_web.py",
    "targets/http.py",
    "toolboxes/webhook.py",
    "toolboxes/mcp_line.py",
}


@pytest.mark.parametrize("client", CLIENTS)
async def test_nothing_is_sent_on_to_a_server_that_was_not_meant(client: str, pair: Pair) -> None:
    with anyio.fail_after(HANG_S):
        for location in LOCATIONS:
            for status in (302, 307):
                pair.redirect(location, status)
                await CLIENTS[client](pair.url)
    assert pair.heads["here"], "it was asked at all"
    assert pair.heads["there"] == []


async def test_a_prediction_that_lies_elsewhere_is_not_asked_for(pair: Pair) -> None:
    body = f'{{"status": "processing", "urls": {{"get": "http://{pair.there}/p/1"}}}}'.encode()
    pair.answer = b"HTTP/1.1 201 Made\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    row = next(row for row in SERVICES if row.account == "replicate")
    assert "leads to another server" in await of_service(row)(pair.url)
    assert pair.heads["there"] == []


FROM_ENVIRONMENT = {
    "ANTHROPIC_CUSTOM_HEADERS": "X-Gateway: leaked",
    "ANTHROPIC_AUTH_TOKEN": "leaked",
    "OPENAI_CUSTOM_HEADERS": "X-Gateway: leaked",
    "OPENAI_ORG_ID": "leaked",
    "OPENAI_PROJECT_ID": "leaked",
    "OPENAI_ADMIN_KEY": "leaked",
    "AWS_BEARER_TOKEN_BEDROCK": "leaked",
    "AZURE_OPENAI_API_KEY": "leaked",
    "AZURE_OPENAI_AD_TOKEN": "leaked",
}
ELSEWHERE = ("openai", "anthropic", "gemini", "azure", "bedrock", "vertex")


@pytest.mark.parametrize("name", ELSEWHERE)
async def test_an_address_of_a_file_under_test_is_sent_nothing_of_the_operators(
    name: str, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in FROM_ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    if name in CLOUDS:
        name_endpoint(name, name, "https://cloud.example", "PROD_KEY", CLOUDS[name])
    held: JsonValue = "leaked"
    of_operator = ProviderSettings(access={name: ProviderAccess(held, None)}, attempts=1)
    given = ProviderAccess("key-of-the-file", pair.url)
    pair.answer = b"HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n"
    async with Models(of_operator.reached(name, given)) as opened:
        await opened.client(ModelRef(name, "m-1")).complete(asking(), deadline_s=HANG_S)
    assert len(pair.heads["here"]) == 1
    assert b"leaked" not in pair.heads["here"][0]
    assert b"key-of-the-file" in pair.heads["here"][0]


@pytest.mark.parametrize("cloud", ["bedrock", "vertex"])
async def test_the_credentials_of_the_machine_are_not_used_at_an_address_of_a_file(cloud: str, pair: Pair) -> None:
    name_endpoint("prod", cloud, "https://cloud.example", "PROD_KEY", CLOUDS[cloud])
    reached = ProviderSettings().reached("prod", ProviderAccess(None, pair.url))
    async with Models(reached) as opened:
        with pytest.raises(BadInputError, match="own credentials are not sent there"):
            opened.client(parse_model("prod:m-1"))


@pytest.mark.parametrize("package", ["minions_evals_mcp", "agent"])
def test_no_client_is_made_elsewhere(package: str) -> None:
    """`open_client` of outgoing.py makes each, so that it decides about redirects; who calls it stands in `CLIENTS`."""
    ways = ("httpx2.AsyncClient(", "httpx2.Client(", "DefaultAioHttpClient)(", "AioHttpClient(", "httpx2.get(",
            "httpx2.post(", "httpx2.stream(", "urlopen(", "import requests", "import httpx\n", "http.client",
            "HTTPSConnection(", "HTTPConnection(", "websockets.connect", "smtplib", "imaplib", "ftplib")  # fmt: skip
    texts = {str(path.relative_to(ROOT / package)): path.read_text("utf-8") for path in (ROOT / package).rglob("*.py")}
    assert [(name, way) for name, text in texts.items() for way in ways if way in text] == []
    callers = {name for name, text in texts.items() if "open_client(\n" in text and "outgoing import" in text}
    assert callers == (OPENERS if package == "minions_evals_mcp" else set())

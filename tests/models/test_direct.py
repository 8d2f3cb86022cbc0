"""Calls that need a key only say and take what the SDK's own would, and leave its import out."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.models.client import ModelConnection, RetrySettings
from minions_evals_mcp.models.direct import needs_key_only
from minions_evals_mcp.models.registry import ModelRef, Models, Provider, ProviderSettings
from minions_evals_mcp.models.replies import Completion, FailedReply, Reply
from minions_evals_mcp.models.request import ModelRequest
from tests.hang import HANG_S

pytestmark = pytest.mark.anyio
MORE = {"anthropic": "ANTHROPIC_CUSTOM_HEADERS", "openai": "OPENAI_CUSTOM_HEADERS"}
"""A variable with which the SDK sends."""
SAID = {
    "anthropic": {"model": "m", "content": [{"type": "text", "text": "Grüße"}], "stop_reason": "end_turn"},
    "openai": {"model": "m", "choices": [{"message": {"content": "Grüße"}, "finish_reason": "stop"}]},
}


def reply(status: int, body: bytes, *heads: str) -> bytes:
    head = "".join(f"{one}\r\n" for one in (*heads, f"content-length: {len(body)}", "connection: close"))
    return f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body


def said(provider: str) -> bytes:
    return json.dumps(SAID[provider], ensure_ascii=False).encode()


SITUATIONS: dict[str, Callable[[str], bytes]] = {
    "an answer": lambda provider: reply(200, said(provider), "content-type: application/json"),
    "packed": lambda provider: reply(200, gzip.compress(said(provider)), "content-encoding: gzip"),
    "too long, unpacked": lambda _: reply(200, gzip.compress(b" " * 3_000_000), "content-encoding: gzip"),
    "no JSON": lambda _: reply(200, b"<html>"),
    "nothing": lambda _: reply(204, b""),
    "a wrong key": lambda _: reply(401, b'{"error": {"message": "invalid key", "type": "authentication_error"}}'),
    "a refusal in Latin-1": lambda _: reply(400, "falsch: ä".encode("latin-1"), "content-type: text/plain; charset=iso-8859-1"),
    "too many": lambda _: reply(429, b"{}", "retry-after: 7"),
    "overloaded": lambda _: reply(529, b"{}"),
    "not modified": lambda _: reply(304, b""),
    "a choice of places": lambda _: reply(300, b"{}", "location: /elsewhere"),
    "in a circle": lambda _: reply(307, b"", "location: /v1/again"),
    "cut off": lambda provider: reply(200, said(provider))[:-9],
    "nothing at all": lambda _: b"",
}  # fmt: skip


@dataclass
class Raw:
    """A server that sends the same bytes each time."""

    answer: bytes = b""
    url: str = ""
    heads: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            read = b""
            while b"\r\n\r\n" not in read:
                read += await stream.receive()
            head, _, body = read.partition(b"\r\n\r\n")
            lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
            self.heads.append({name.lower(): value for name, _, value in lines})
            while len(body) < int(self.heads[-1]["content-length"]):
                body += await stream.receive()
            if self.answer:
                await stream.send(self.answer)


@asynccontextmanager
async def raw(answer: bytes) -> AsyncGenerator[Raw]:
    server = Raw(answer)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        server.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"  # noqa: S610  not Django
        tasks.start_soon(listener.serve, server.serve)
        yield server
        tasks.cancel_scope.cancel()


async def asked(server: Raw, provider: Provider, *, stream: bool = False) -> Reply:
    access = {provider: ProviderAccess("a-key-of-ours", server.url)}
    async with Models(ProviderSettings(access=access, attempts=1, reply_bytes=1_000_000)) as models:
        request = ModelRequest("m", "hello", max_tokens=10, stream=stream)
        return await models.client(ModelRef(provider, "m")).complete(request, deadline_s=HANG_S)


def seen(found: Reply) -> Reply:
    """What both must tell alike: of a connection that fails each has words of its own."""
    if isinstance(found, FailedReply) and "redirect" in found.reason.lower():
        return replace(found, reason="redirects", kind="permanent", faults=())  # the SDK's may be asked again
    if isinstance(found, FailedReply) and found.reason.startswith("no connection"):
        return replace(found, reason="no connection")
    return replace(found, latency_ms=0, first_token_ms=None) if isinstance(found, Completion) else found


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_direct_call_tells_what_the_sdk_tells(
    provider: Provider, situation: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw(SITUATIONS[situation](provider)) as server:
        direct = await asked(server, provider, stream=stream)
        assert "x-stainless-lang" not in server.heads[-1]
        monkeypatch.setenv(MORE[provider], "X-Team: a")
        by_sdk = await asked(server, provider, stream=stream)
        assert server.heads[-1]["x-stainless-lang"] == "python"
    assert seen(direct) == seen(by_sdk)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_a_direct_call_has_the_headers_of_the_sdk(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw(reply(200, said(provider))) as server:
        await asked(server, provider)
        monkeypatch.setenv(MORE[provider], "X-Team: a")
        await asked(server, provider)
    direct, by_sdk = server.heads
    own = {"user-agent", "connection", "accept-encoding", "x-team"}
    ours, theirs = (
        {name: value for name, value in head.items() if name not in own and not name.startswith("x-stainless")}
        for head in (direct, by_sdk)
    )
    assert ours == theirs
    assert by_sdk["x-team"] == "a"


@pytest.mark.parametrize(
    ("url", "variables", "is_direct"),
    [
        ("https://api.example/v1", {}, True),
        ("https://api.example/v1", {"EXTRA": "x"}, False),
        ("https://api.example/v1", {"HTTPS_PROXY": "http://proxy:1"}, False),
        ("https://api.example/v1", {"ALL_PROXY": "http://proxy:1"}, False),
        ("https://api.example/v1", {"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "api.example"}, True),
        ("http://api.example/v1", {"HTTPS_PROXY": "http://proxy:1"}, True),
        ("https://user:pw@api.example/v1", {}, False),
        ("", {}, False),
    ],
)
def test_what_needs_more_than_a_key_is_left_to_the_sdk(
    url: str, variables: dict[str, str], is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    connection = ModelConnection("openai", "key", url, 1, RetrySettings(), 1000)
    assert needs_key_only(connection, "EXTRA") == is_direct
    assert not needs_key_only(replace(connection, api_key=""), "EXTRA")
    assert needs_key_only(replace(connection, is_foreign=True), "EXTRA") == (is_direct or "EXTRA" in variables)

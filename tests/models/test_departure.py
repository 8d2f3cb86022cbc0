"""What setting up a connection takes is no part of a latency: every call of a client is measured like its second."""

from __future__ import annotations

import asyncio  # noqa: TID251 - the edge that is slowed down is asyncio's
from dataclasses import replace
from typing import Any

import anyio
import pytest

from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.models.registry import Provider
from minions_evals_mcp.models.replies import Completion
from minions_evals_mcp.targets.http import ApplicationConnections, HttpSettings, HttpTarget
from tests.hang import HANG_S
from tests.shared.models.asking import ask, client_and_server
from tests.shared.targets.application import Asked, application, reply

SET_UP_S = 0.5


@pytest.fixture
def slow_connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every connection of this process takes half a second to open."""
    opened: list[object] = []
    connect = asyncio.SelectorEventLoop.sock_connect

    async def slowly(loop: asyncio.SelectorEventLoop, sock: Any, address: Any) -> None:
        opened.append(address)
        await anyio.sleep(SET_UP_S)
        await connect(loop, sock, address)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", slowly)
    return opened


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_first_call_is_measured_from_where_its_connection_stands(
    provider: Provider, slow_connections: list[object], *, stream: bool
) -> None:
    async with client_and_server(provider) as (client, _):
        started = anyio.current_time()
        with anyio.fail_after(HANG_S):
            first = await client.complete(replace(ask(1), stream=stream), deadline_s=HANG_S)
            took_s = anyio.current_time() - started
            second = await client.complete(replace(ask(2), stream=stream), deadline_s=HANG_S)
    assert isinstance(first, Completion)
    assert isinstance(second, Completion)
    assert took_s > SET_UP_S
    assert len(slow_connections) == 1, "the second call goes by the first one's connection"
    assert 0 < first.latency_ms < SET_UP_S * 1000
    assert 0 < second.latency_ms < SET_UP_S * 1000
    if stream:
        assert first.first_token_ms is not None
        assert 0 < first.first_token_ms <= first.latency_ms


async def test_an_applications_first_answer_is_measured_from_where_its_connection_stands(
    slow_connections: list[object],
) -> None:
    async def answering(asked: Asked) -> bytes:
        del asked
        return reply("{}")

    async with ApplicationConnections() as web, application(answering) as app:
        target = HttpTarget(HttpSettings(url=app.url), web, HANG_S)
        with anyio.fail_after(HANG_S):
            first = await target.produce({}, None, timeout_ms=None)
    assert slow_connections
    assert isinstance(first, Observed)
    assert first.latency_ms is not None
    assert 0 < first.latency_ms < SET_UP_S * 1000

"""A real client against the fake server, with waits too short to notice."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio

from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.registry import ModelRef, Models, Provider, ProviderSettings
from minions_evals_mcp.models.replies import Reply
from minions_evals_mcp.models.request import ModelRequest
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, Server, serving

QUICK = ProviderSettings(concurrency=32, retry_base_s=0.001, retry_cap_s=0.005)


def provider_settings(url: str, settings: ProviderSettings = QUICK, *, key: str = "test") -> ProviderSettings:
    """Settings under which every provider stands at `url`."""
    return replace(
        settings,
        access={
            "anthropic": ProviderAccess(key, url),
            "openai": ProviderAccess(key, f"{url}/v1"),
            "gemini": ProviderAccess(key, f"{url}/v1"),
        },
    )


@asynccontextmanager
async def client_and_server(
    provider: Provider, faults: FakeSettings | None = None, settings: ProviderSettings = QUICK, *, key: str = "test"
) -> AsyncGenerator[tuple[ModelClient, Server]]:
    """A client of that provider and the server that it talks to."""
    async with serving(faults) as server, Models(provider_settings(server.url, settings, key=key)) as models:
        yield models.client(ModelRef(provider, "any")), server


def ask(number: int = 1, *, model: str = "fake-target", max_tokens: int = 100) -> ModelRequest:
    """A question; each number is another one."""
    return ModelRequest(model=model, user=f"What became of REF-{number:06}?", max_tokens=max_tokens)


async def ask_all(client: ModelClient, count: int, *, deadline_s: float = HANG_S) -> list[Reply]:
    """The replies to `count` different questions asked at once."""
    replies: list[Reply] = []

    async def one(number: int) -> None:
        replies.append(await client.complete(ask(number), deadline_s=deadline_s))

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(one, number)
    return replies

"""From options and settings to an open engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.engine.embedders import DEFAULT_EMBEDDER
from minions_evals_mcp.models.registry import ProviderSettings
from minions_evals_mcp.server.options import Options, store_path
from minions_evals_mcp.settings import Settings
from minions_evals_mcp.shipped import shipped_folder


def engine_config(options: Options, settings: Settings) -> EngineConfig:
    """How the server's engine is set up."""
    providers = ProviderSettings(
        anthropic_api_key=settings.anthropic_api_key,
        anthropic_base_url=settings.anthropic_base_url,
        openai_api_key=settings.openai_api_key,
        openai_base_url=settings.openai_base_url,
        gemini_api_key=settings.gemini_api_key,
        gemini_base_url=settings.gemini_base_url,
        concurrency=settings.concurrency,
        call_timeout_s=settings.call_timeout_s,
    )
    return EngineConfig(
        db=store_path(options, settings),
        skills=settings.skills or shipped_folder("skills"),
        providers=providers,
        judge_model=settings.judge_model,
        judge_together=settings.judge_calls == "per-run",
        concurrency=settings.concurrency,
        call_timeout_s=settings.call_timeout_s,
        read_only=options.read_only,
        embedder=settings.embedder or DEFAULT_EMBEDDER,
    )


@asynccontextmanager
async def opened(options: Options, settings: Settings) -> AsyncGenerator[Engine]:
    """The server's engine, open."""
    async with open_engine(engine_config(options, settings)) as engine:
        yield engine

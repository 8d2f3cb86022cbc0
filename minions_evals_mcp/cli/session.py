"""From options and environment to an open engine, and from answers to the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import anyio
from cyclopts import Parameter, validators
from platformdirs import user_data_path
from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.engine.embedders import DEFAULT_EMBEDDER
from minions_evals_mcp.errors import ungrouped
from minions_evals_mcp.models.registry import ProviderSettings
from minions_evals_mcp.settings import Settings, read_settings
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.targets.own import OwnTarget

T = TypeVar("T")
Limit = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=10_000))]
Cursor = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**63))]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Common:
    """What every command takes."""

    db: Annotated[Path | None, Parameter(help="The store's file (MINIONS_EVALS_DB; else in your data folder).")] = None
    json: Annotated[bool, Parameter(help="Answer in JSON, for programs.", negative="")] = False
    read_only: Annotated[bool, Parameter(help="Change nothing; a store that is missing is an error.", negative="")] = (
        False
    )


DEFAULTS = Common()


def default_db() -> Path:
    """The store in the platform's data folder."""
    return user_data_path("minions-evals") / "evals.db"


def db_path(common: Common, settings: Settings) -> Path:
    """The store's file: the option, else the environment, else the data folder."""
    return (common.db or settings.db or default_db()).absolute()


def engine_config(
    common: Common,
    settings: Settings,
    *,
    judge_model: str | None = None,
    concurrency: int | None = None,
    embedder: str | None = None,
    trust_code: bool = False,
    own_target: OwnTarget | None = None,
) -> EngineConfig:
    """How the engine is set up for a command."""
    width = concurrency or settings.concurrency
    providers = ProviderSettings(
        anthropic_api_key=settings.anthropic_api_key,
        anthropic_base_url=settings.anthropic_base_url,
        openai_api_key=settings.openai_api_key,
        openai_base_url=settings.openai_base_url,
        gemini_api_key=settings.gemini_api_key,
        gemini_base_url=settings.gemini_base_url,
        concurrency=width,
        call_timeout_s=settings.call_timeout_s,
    )
    return EngineConfig(
        db=db_path(common, settings),
        skills=settings.skills or shipped_folder("skills"),
        providers=providers,
        judge_model=judge_model or settings.judge_model,
        judge_together=settings.judge_calls == "per-run",
        concurrency=width,
        call_timeout_s=settings.call_timeout_s,
        read_only=common.read_only,
        embedder=embedder or settings.embedder or DEFAULT_EMBEDDER,
        trust_code=trust_code,
        own_target=own_target,
    )


@asynccontextmanager
async def session(
    common: Common,
    *,
    judge_model: str | None = None,
    concurrency: int | None = None,
    embedder: str | None = None,
    trust_code: bool = False,
    own_target: OwnTarget | None = None,
) -> AsyncGenerator[Engine]:
    """An open engine for one command."""
    config = engine_config(
        common,
        read_settings(),
        judge_model=judge_model,
        concurrency=concurrency,
        embedder=embedder,
        trust_code=trust_code,
        own_target=own_target,
    )
    async with open_engine(config) as engine:
        yield engine


def run(work: Callable[[], Awaitable[T]]) -> T:
    """Runs a command's work; an error out of a task group is told as itself."""
    with ungrouped():
        return anyio.run(work)


def say(answer: JsonValue) -> None:
    """One JSON value on one line of stdout."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")

"""From options and environment to an open engine, and from answers to the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeVar

import anyio
from cyclopts import Parameter, validators
from pydantic import JsonValue

from minions_evals_mcp import configured
from minions_evals_mcp.configured import Chosen
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.engine.near_ids import with_near_ids
from minions_evals_mcp.errors import NotFoundError, ungrouped
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.settings import Settings, settings_here
from minions_evals_mcp.targets.own import OwnTarget

T = TypeVar("T")
Limit = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=10_000))]
Cursor = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**63))]


@Parameter(name="*")
@frozen_type
class Common:
    """What every command takes."""

    db: Annotated[Path | None, Parameter(help="The store's file (MINIONS_EVALS_DB; else in your data folder).")] = None
    json: Annotated[bool, Parameter(help="Answer in JSON, for programs.", negative="")] = False
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], help="Show no progress.", negative="")] = False
    read_only: Annotated[bool, Parameter(help="Change nothing; a store that is missing is an error.", negative="")] = (
        False
    )


DEFAULTS = Common()


def db_path(common: Common, settings: Settings) -> Path:
    """The store's file: the option, else the environment, else the data folder."""
    return configured.db_path(common.db, settings)


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
    chosen = Chosen(
        db=common.db,
        judge_model=judge_model,
        concurrency=concurrency,
        embedder=embedder,
        read_only=common.read_only,
        trust_code=trust_code,
    )
    return replace(configured.engine_config(settings, chosen), own_target=own_target)


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
        settings_here(),
        judge_model=judge_model,
        concurrency=concurrency,
        embedder=embedder,
        trust_code=trust_code,
        own_target=own_target,
    )
    async with open_engine(config) as engine:
        try:
            with ungrouped():
                yield engine
        except NotFoundError as error:
            raise await with_near_ids(engine, error) from None


def run(work: Callable[[], Awaitable[T]]) -> T:
    """Runs a command's work; an error out of a task group is told as itself."""
    with ungrouped():
        return anyio.run(work)


def say(answer: JsonValue) -> None:
    """One JSON value on one line of stdout."""
    sys.stdout.write(masked(json.dumps(answer, ensure_ascii=False)) + "\n")

"""From options and environment to an open engine, and from answers to the terminal."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, TypeVar

import anyio
from cyclopts import Parameter, validators
from pydantic import BaseModel, JsonValue

from minions_evals_mcp import configured
from minions_evals_mcp.cli.telling import tell, wire_rendered
from minions_evals_mcp.configured import Chosen
from minions_evals_mcp.default_store import left_behind
from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.errors import NotFoundError, StoreError, ungrouped
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.next_steps import is_rendered
from minions_evals_mcp.operations.engine import with_near_ids
from minions_evals_mcp.settings import Settings, settings_here
from minions_evals_mcp.store.database import remove_unused
from minions_evals_mcp.targets.own import OwnTarget

T = TypeVar("T")
Limit = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=10_000))]
Cursor = Annotated[int, Parameter(validator=validators.Number(gte=0, lt=2**63))]


@Parameter(name="*")
@frozen_type
class Common:
    """The options of every command."""

    db: Annotated[
        Path | None,
        Parameter(help="The store's file (MINIONS_EVALS_DB, else .minions-evals/evals.db in your project)."),
    ] = None
    json: Annotated[bool, Parameter(help="Print the answer as JSON.", negative="")] = False
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], help="Show no progress.", negative="")] = False
    read_only: Annotated[bool, Parameter(help="Change nothing. A store that is missing is an error.", negative="")] = (
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
    """Returns how the engine is set up for a command."""
    chosen = Chosen(
        db=common.db,
        judge_model=judge_model,
        concurrency=concurrency,
        embedder=embedder,
        read_only=common.read_only,
        trust_code=trust_code,
    )
    return replace(configured.engine_config(settings, chosen), own_target=own_target)


def _agreed(_ident: str, _world: World) -> bool:
    """The user has agreed to all that this command starts."""
    return True


@asynccontextmanager
async def session(
    common: Common,
    *,
    judge_model: str | None = None,
    concurrency: int | None = None,
    embedder: str | None = None,
    trust_code: bool = False,
    own_target: OwnTarget | None = None,
    makes: bool = False,
    agrees: bool = False,
) -> AsyncGenerator[Engine]:
    """An open engine for one command; a store that is not there is made, and that said, only for one that `makes` one.

    `agrees`: the operator agrees on the command line to what worlds start. Where the command fails before anything was kept, the
    new store goes again.
    """
    settings = settings_here()
    config = engine_config(
        common,
        settings,
        judge_model=judge_model,
        concurrency=concurrency,
        embedder=embedder,
        trust_code=trust_code,
        own_target=own_target,
    )
    if agrees:
        config = replace(config, agreed_worlds=_agreed)
    is_new = not config.db.exists()
    if is_new and not (makes and not common.read_only):
        raise missing_store(config.db, is_default=config.db == configured.default_db())
    try:
        async with open_engine(config) as engine:
            if is_new and not common.quiet:
                tell(f"Created a new store at {short_path(config.db)}.\n{_earlier_words(config.db)}", aside=True)
            try:
                with ungrouped():
                    if settings.person_token is not None:
                        await _require_role(engine, settings.person_token)
                    yield engine
            except NotFoundError as error:
                raise await with_near_ids(engine, error) from None
    except BaseException:
        if is_new and remove_unused(config.db) and not common.quiet:
            tell("Removed the empty store.\n", aside=True)
        raise


async def _require_role(engine: Engine, token: str) -> None:
    from minions_evals_mcp.cli.speaking import require_role_of_token  # noqa: PLC0415  the operations, which few commands need

    await require_role_of_token(engine, token)


def _earlier_words(store: Path) -> str:
    """Where the user's earlier runs are, told when a project's store is begun."""
    before = left_behind(store)
    if before is None:
        return ""
    return f"  Earlier runs of all your projects are in {short_path(before)}. To read them: --db {short_path(before)}\n"


def missing_store(path: Path, *, is_default: bool) -> StoreError:
    """Returns why a command that only looks at what is kept cannot: there is no store; named is the file that may have been meant."""
    folder = path.parent
    there = [file.name for file in folder.glob(f"*{path.suffix}")] if folder.is_dir() else []
    near = get_close_matches(path.name, there, 1)
    if near:
        remedy = f"Did you mean --db {short_path(folder / near[0])}?"
    elif is_default:
        before = left_behind(path)
        earlier = f" Earlier runs are in {short_path(before)}: --db {short_path(before)}." if before else ""
        remedy = (
            "The first run creates it. Try minions-evals demo, or start your own with minions-evals init." + earlier
        )
    else:
        remedy = (
            "See --db, MINIONS_EVALS_DB and `store` of the project file. `import`, `eval`, `run`, `add`, `lift` and"
            " `suite from-prompt` create a new one."
        )
    return StoreError(f"there is no store at {path}.", remedy=remedy)


def short_path(path: Path) -> str:
    """The path as a person writes it: from the current folder, or from home."""
    for folder, sign in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(folder):
            return f"{sign}{path.relative_to(folder)}"
    return str(path)


def kept_in(common: Common) -> str:
    """Returns where a run is kept, for the end of a sentence; empty where the command line names the store itself."""
    return "" if common.db is not None else f", saved in {short_path(db_path(common, settings_here()))}"


def run(work: Callable[[], Awaitable[T]]) -> T:
    """Runs a command's work; an error out of a task group is told as itself."""
    gc.freeze()  # what was imported stays: else it is looked through, once in a long command, for 70 ms
    with ungrouped():
        return anyio.run(work)


def say(answer: JsonValue) -> None:
    """One JSON value on one line of stdout."""
    text = json.dumps(answer, ensure_ascii=False)
    if not is_rendered(text):
        text = json.dumps(wire_rendered(answer), ensure_ascii=False)
    sys.stdout.write(masked(text) + "\n")


def reply(common: Common, answer: JsonValue | BaseModel, lines: Iterable[str]) -> int:
    """Says the answer to a program, or its lines to a person; returns 0, the exit code of a command that could answer."""
    if common.json:
        say(answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer)
    else:
        tell("\n".join(lines) + "\n")
    return 0

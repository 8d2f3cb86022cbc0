"""From settings and what was chosen at the start to the engine's set-up: the same for command line, server and agent."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from minions_evals_mcp.default_store import default_store
from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.engine.context import EngineConfig
from minions_evals_mcp.engine.embedders import DEFAULT_EMBEDDER
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.models.registry import ProviderSettings
from minions_evals_mcp.settings import Settings
from minions_evals_mcp.shipped import shipped_folder


@frozen_type
class Chosen:
    """The choices of the one who starts it; what is None is the environment's, else the default."""

    db: Path | None = None
    judge_model: str | None = None
    concurrency: int | None = None
    embedder: str | None = None
    read_only: bool = False
    trust_code: bool = False
    explain: str | None = None


NOTHING_CHOSEN = Chosen()


def default_db() -> Path:
    """The store where nobody names one: of the project that the current folder is in, else the user's."""
    return default_store(None)


def db_path(chosen: Path | None, settings: Settings) -> Path:
    """The store's file: the one chosen, else the environment's or the project file's, else the project's own, else the user's."""
    return (chosen or settings.db or default_store(settings.project)).absolute()


def world_folder(settings: Settings) -> Path:
    """Where the tapes and servers of the store's worlds are looked for: beside the project file, else here."""
    return Path.cwd() if settings.project is None else settings.project.folder


def engine_config(settings: Settings, chosen: Chosen = NOTHING_CHOSEN) -> EngineConfig:
    """Returns how the engine is set up."""
    width = chosen.concurrency or settings.concurrency
    providers = ProviderSettings(
        access=settings.providers,
        concurrency=width,
        call_timeout_s=settings.call_timeout_s,
    )
    db, folder = db_path(chosen.db, settings), world_folder(settings)
    return EngineConfig(
        db=db,
        skills=settings.skills or shipped_folder("skills"),
        providers=providers,
        judge_model=chosen.judge_model or settings.judge_model,
        judge_together=settings.judge_calls == "per-run",
        judge_empty=settings.empty_output == "judge",
        concurrency=width,
        call_timeout_s=settings.call_timeout_s,
        read_only=chosen.read_only,
        embedder=chosen.embedder or settings.embedder or DEFAULT_EMBEDDER,
        trust_code=chosen.trust_code,
        seal_key=settings.seal_key,
        explain=(chosen.explain or settings.explain) == "llm",
        explain_calls=settings.explain_calls,
        webhooks=settings.webhooks,
        named_db=chosen.db,
        world_folder=folder,
        agreed_worlds=partial(_agreed_to_world, db, folder),
    )


def _agreed_to_world(db: Path, folder: Path, ident: str, world: World) -> bool:
    from minions_evals_mcp.interop.worlds.agreed import has_agreed_to_world  # noqa: PLC0415  few runs have a world

    return has_agreed_to_world(db, folder, ident, world)

"""The open engine: one store, one set of model clients, one clock; every verb takes it first."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.speaker import AN_AGENT, Speaker
from minions_evals_mcp.domain.values import utc
from minions_evals_mcp.embedding.embedder import Embedder
from minions_evals_mcp.engine.default_judge import default_judge
from minions_evals_mcp.engine.embedders import DEFAULT_EMBEDDER, open_embedder
from minions_evals_mcp.engine.standing import RunProgress
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.registry import ModelRef, Models, ProviderSettings, parse_judges
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import OwnVerdict, Unmet
from minions_evals_mcp.skills import Skills, load_skills
from minions_evals_mcp.store.connection import stands_still
from minions_evals_mcp.store.database import Store, open_store
from minions_evals_mcp.store.sealed_content import use_key
from minions_evals_mcp.targets.http import ApplicationConnections
from minions_evals_mcp.targets.own import OwnTarget


def unwatched(standing: RunProgress) -> None:
    """Nobody looks on."""
    del standing


OwnCheck = Callable[[Work], Awaitable[OwnVerdict | Unmet]]
"""Asks a function of the user's about an output; what the function raises is no verdict."""


def _nobody_agreed(_ident: str, _world: World) -> bool:
    return False


@frozen_type
class EngineConfig:
    """The set-up of an engine. `judge_model` is `provider:model`; `call_timeout_s` bounds every call to a model or target.

    `embedder` is `wordllama`, `semantic` or `openai:MODEL`. With `trust_code` the snippets of assertions run with the
    real interpreters, unconfined. `own_target` is how the operator set up an application of theirs as the target.
    """

    db: Path
    skills: Path
    providers: ProviderSettings = field(default_factory=ProviderSettings)
    judge_model: str | None = None
    judge_together: bool = False
    judge_empty: bool = False
    """Whether a model judge is asked about an empty output, too."""
    concurrency: int = 16
    call_timeout_s: float = 60.0
    read_only: bool = False
    embedder: str = DEFAULT_EMBEDDER
    trust_code: bool = False
    own_target: OwnTarget | None = None
    explain: bool = False
    """Whether the operator allows a model to be asked why something failed, where rules are not sure."""

    explain_calls: int = 50
    """About so many failures at the most: by one command, or by the agent in a day."""

    seal_key: str | None = field(default=None, repr=False)
    """Encrypts what is sealed, where it is kept."""
    webhooks: tuple[str, ...] = ()
    """Addresses that `webhook` assertions may send outputs to, as the operator names them."""
    people: tuple[str, ...] = ()
    """Addressees whose messages are a person's word, as the operator of the agent names them."""
    world_folder: Path = field(default_factory=Path)
    """Where the tapes of worlds are, and the real servers that worlds start."""
    agreed_worlds: Callable[[str, World], bool] = _nobody_agreed
    """Whether the operator agreed to what a world starts."""
    named_db: Path | None = None
    """The store as the one who started it named it, if they did: a command that they are told of names it, too."""


def wall_clock() -> datetime:
    """The present moment."""
    return utc(datetime.now(UTC))  # noqa: TID251  the one clock; everything else is given the time


def uuid4() -> str:
    """A new random id."""
    return str(uuid.uuid4())


def judge_mark() -> str:
    """A delimiter that nobody can have written beforehand."""
    return f"=====OUTPUT-{secrets.token_hex(8)}====="


@dataclass(slots=True, eq=False)
class Engine:
    """The needs of every verb."""

    config: EngineConfig
    store: Store
    skills: Skills
    models: Models
    regexes: RegexSandbox
    snippets: Snippets
    web: ApplicationConnections
    clock: Callable[[], datetime] = wall_clock
    new_id: Callable[[], str] = uuid4
    new_mark: Callable[[], str] = judge_mark
    opened_embedder: Embedder | None = None
    own_models: Mapping[str, Models] = field(default_factory=dict[str, Models])
    """The clients of judges whose address or key stands in a config (`Grader.name`); whoever opened them closes them."""
    own_code: Mapping[str, ModelClient] = field(default_factory=dict[str, ModelClient])
    """What answers in a model's place where a config's assertion names it as the judge, by `Grader.name`."""
    own_checks: Mapping[str, OwnCheck] = field(default_factory=dict[str, "OwnCheck"])
    """The user's functions that check outputs, by the names under which assertions ask for them."""
    watch: Callable[[RunProgress], None] = unwatched
    """Is told how far each run is."""

    speaker: Speaker = AN_AGENT
    """Who speaks through this engine, as the door that holds it knows."""

    def speaking(self, speaker: Speaker) -> Engine:
        """The same engine, spoken through by somebody else."""
        return replace(self, speaker=speaker)

    def embedder(self) -> Embedder:
        """Returns what measures likeness in meaning, opened at the first call; raises as `open_embedder` does."""
        if self.opened_embedder is None:
            self.opened_embedder = open_embedder(self.config.embedder, self.models)
        return self.opened_embedder

    def judge_model(self) -> ModelRef | None:
        """The model that judges: the one that was named, else that of the provider whose key is set."""
        if self.config.judge_model is not None:
            return parse_judges(self.config.judge_model)
        default = default_judge(self.config.providers)
        return default and default.model

    def default_judge_said(self, judged: ModelRef | None) -> str:
        """Returns which model judged by default and why; nothing where rules did, or where somebody named that model."""
        default = None if self.config.judge_model is not None else default_judge(self.config.providers)
        return "" if default is None or judged != default.model else f"{default.model}, the default: {default.why}"


@asynccontextmanager
async def open_engine(config: EngineConfig) -> AsyncGenerator[Engine]:
    """An engine on that store, closed with everything committed.

    Raises `BadInputError` for a skill file that does not parse, `StoreError` for a file that cannot be used.
    """
    use_key(config.seal_key)
    if stands_still(config.db):
        config = replace(config, read_only=True)
    async with open_store(config.db, read_only=config.read_only) as store, open_engine_on(config, store) as engine:
        yield engine


@asynccontextmanager
async def open_engine_on(config: EngineConfig, store: Store) -> AsyncGenerator[Engine]:
    """The same on a store that is open already, and stays open."""
    skills = load_skills(config.skills)
    async with (
        Models(config.providers) as models,
        RegexSandbox() as regexes,
        Snippets(trusted=config.trust_code) as snippets,
        ApplicationConnections() as web,
    ):
        yield Engine(config, store, skills, models, regexes, snippets, web)

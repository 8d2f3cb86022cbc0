"""Every prompt with the chain of its versions: what changed from one to the next, which is in use, who decided on what evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Approval
from minions_evals_mcp.engine.answers.names import version_names
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.version_chain import versions_beside
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages import prompt_lists
from minions_evals_mcp.store.queries.pages.prompt_lists import VersionRun

CONFIG = "eval/prompt/"
"""Begins the ids of versions that are the prompts of a config; they come last."""


@dataclass(frozen=True, slots=True)
class VersionCard:
    """A version in its chain; `before` is the text of the version before it."""

    id: str
    name: str
    record: Record[PromptVersion]
    before: str | None
    current: bool
    latest: bool
    decisions: tuple[Record[Approval], ...]
    measured: tuple[VersionRun, ...]


@dataclass(frozen=True, slots=True)
class PromptCard:
    """A prompt: its versions, the newest first."""

    name: str
    versions: tuple[VersionCard, ...]

    @property
    def current(self) -> VersionCard | None:
        """The version in use."""
        return next((version for version in self.versions if version.current), None)


async def read_prompts(engine: Engine, *, limit: int) -> list[PromptCard]:
    """The prompts of which a version came last, the newest first."""
    return await engine.store.read(partial(_prompts, limit=limit))


def _prompts(db: Db, *, limit: int) -> list[PromptCard]:
    seen: set[str] = set()
    cards: list[PromptCard] = []
    for ident in prompt_lists.newest_versions(db, limit=limit):
        if ident in seen:
            continue
        chain = versions_beside(db, ident)
        seen.update(chain)
        cards.append(_prompt(db, chain))
    return sorted(cards, key=lambda card: card.versions[0].id.startswith(CONFIG))


def _prompt(db: Db, chain: Sequence[str]) -> PromptCard:
    version_records = records.minions(db, list(chain))
    names = version_names(db, chain)
    current = current_version(db, chain[0])
    decisions = prompt_lists.decisions(db, chain)
    measured = prompt_lists.measured(db, chain)
    cards: list[VersionCard] = []
    before: str | None = None
    for ident in chain:
        record = version_records.get(ident)
        if record is None or not isinstance(record.fields, PromptVersion):
            continue
        cards.append(
            VersionCard(
                id=ident,
                name=names[ident],
                record=record,  # pyright: ignore[reportArgumentType]  checked above
                before=before,
                current=ident == current,
                latest=ident == chain[-1],
                decisions=tuple(decision for decision in decisions if decision.fields.prompt_version_ref == ident),
                measured=tuple(figure for figure in measured if figure.version == ident),
            )
        )
        before = record.fields.content
    name = cards[-1].record.fields.prompt_id or cards[-1].record.title
    return PromptCard(name, tuple(reversed(cards)))

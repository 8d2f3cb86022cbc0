"""The version of a prompt that is in use: what was approved last, else what a person named, else what this store kept first."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.version_chain import versions_ever
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import records, speakers
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries import run_pairs


def current_version(db: Db, version: str) -> str:
    """The version in use of the prompt that `version` belongs to; what was slipped in later is never that.

    A version that was deleted stays in use until another is approved.
    """
    members = versions_ever(db, version)
    approved = run_pairs.approved_of(db, members)
    if approved is not None:
        return approved.fields.prompt_version_ref
    return speakers.last_named(db, members) or speakers.first_kept(db, members) or version


async def name_current(engine: Engine, version: str) -> None:
    """Keeps that a person says which version is in use, before any was approved.

    Raises `RuleError` for an agent, and once a version was approved: from then on approvals say so.
    """
    at, speaker = engine.clock(), engine.speaker
    if not speaker.is_person:
        raise RuleError("HR2", "only a person can set the version in use.", remedy=_ask_a_person(version))

    def name(db: Db) -> None:
        records.require(db, version, PromptVersion)
        approved = run_pairs.approved_of(db, versions_ever(db, version))
        if approved is not None:
            current = approved.fields.prompt_version_ref
            raise RuleError(
                "HR2",
                f"{current} was approved and is in use.",
                remedy=f"{Next('approve', {'prompt_version_ref': version}, 'approves it on the evidence of a comparison')}.",
            )
        speakers.name_current(db, version, speaker.identity, at=at)
        append(db, Event("version-named-current", "prompt-version", version, {"by": speaker.identity}), at=at)

    await engine.store.write(partial(name))


def _ask_a_person(version: str) -> str:
    use = Next("prompt-use", {"prompt_version_ref": version}, "names it")
    return f"{use}. A person does that at a terminal, or over HTTP with a person's token."

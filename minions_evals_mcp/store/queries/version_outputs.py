"""The outputs recorded under a prompt version, page by page."""

from __future__ import annotations

from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db


def recorded_ids(db: Db, version: str) -> list[str]:
    """The ids of the agent-runs made with the version, in the order in which they were kept."""
    rows = db.execute(
        "SELECT m.id FROM agent_run_key k JOIN minion m ON m.id = k.id"
        " WHERE k.prompt_version_ref = ? AND m.deleted_at IS NULL ORDER BY m.seq",
        (version,),
    )
    return [ident for (ident,) in rows]


def recorded(db: Db, idents: list[str]) -> list[Record[AgentRun]]:
    """Those agent-runs, in that order."""
    runs = records.get_all(db, idents, AgentRun)
    return [runs[ident] for ident in idents if ident in runs]

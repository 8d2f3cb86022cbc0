"""The versions of a prompt with what ties them together."""

from __future__ import annotations

from minions_evals_mcp.domain.version_chain import Link
from minions_evals_mcp.store.connection import Db

_PROMPT = "json_extract(fields, '$.promptId')"


def links(db: Db, name: str) -> list[Link]:
    """The versions that a version's id or a prompt's id reaches over `follows` and `promptId`, as they were kept."""
    rows = db.execute(
        "WITH RECURSIVE tied (id) AS ("
        f" SELECT id FROM minion WHERE type = 'prompt-version' AND (id = ?1 OR {_PROMPT} = ?1)"
        " UNION SELECT r.target_id FROM tied JOIN relation r ON r.source_id = tied.id"
        " UNION SELECT r.source_id FROM tied JOIN relation r ON r.target_id = tied.id"
        f" UNION SELECT m.id FROM tied JOIN minion t ON t.id = tied.id JOIN minion m ON m.type = 'prompt-version'"
        f" AND json_extract(m.fields, '$.promptId') = json_extract(t.fields, '$.promptId'))"
        f" SELECT m.id, coalesce({_PROMPT}, ''), json_extract(fields, '$.versionNumber'), r.target_id, deleted_at IS NOT NULL"
        " FROM minion m LEFT JOIN relation r ON r.source_id = m.id"
        " WHERE m.type = 'prompt-version' AND m.id IN (SELECT id FROM tied) ORDER BY m.seq",
        (name,),
    )
    return [Link(ident, prompt, number, older, bool(hidden)) for ident, prompt, number, older, hidden in rows]


def is_named_by_runs(db: Db, version: str) -> bool:
    """Whether a recorded agent-run was made with a version of that id."""
    found = db.execute("SELECT 1 FROM agent_run_key WHERE prompt_version_ref = ? LIMIT 1", (version,)).fetchone()
    return found is not None

"""The versions of a prompt with what ties them together."""

from __future__ import annotations

import json
from collections.abc import Sequence

from minions_evals_mcp.domain.prompts.version_chain import Link
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


def newest_prompt(db: Db) -> str | None:
    """The prompt whose version was kept last; None where no version says its prompt."""
    row = db.execute(
        f"SELECT {_PROMPT} FROM minion WHERE type = 'prompt-version' AND deleted_at IS NULL AND {_PROMPT} IS NOT NULL"
        " ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    return None if row is None else row[0]


def prompts_beginning(db: Db, typed: str, limit: int) -> list[str]:
    """The prompts of versions and test cases that begin with what was typed, the newest first."""
    rows = db.execute(
        f"SELECT {_PROMPT} FROM minion WHERE type IN ('prompt-version', 'test-case') AND deleted_at IS NULL"
        f" AND substr({_PROMPT}, 1, length(?1)) = ?1 GROUP BY 1 ORDER BY max(seq) DESC LIMIT ?2",
        (typed, limit),
    )
    return [row[0] for row in rows]


def is_prompt(db: Db, name: str) -> bool:
    """Reports whether a version or a test case is of the prompt of that name."""
    row = db.execute(
        f"SELECT 1 FROM minion WHERE type IN ('prompt-version', 'test-case') AND {_PROMPT} = ? LIMIT 1", (name,)
    ).fetchone()
    return row is not None


def is_named_by_runs(db: Db, version: str) -> bool:
    """Reports whether a recorded agent-run was made with a version of that id."""
    named = db.execute("SELECT 1 FROM agent_run_key WHERE prompt_version_ref = ? LIMIT 1", (version,)).fetchone()
    return named is not None


def measured(db: Db, versions: Sequence[str]) -> list[str]:
    """Those of the versions that a test-run, a comparison or an approval names."""
    rows = db.execute(
        "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM test_run WHERE prompt_version_ref = value)"
        " OR EXISTS (SELECT 1 FROM prompt_comparison WHERE value IN (prompt_version_a, prompt_version_b))"
        " OR EXISTS (SELECT 1 FROM approval WHERE prompt_version_ref = value)",
        (json.dumps(list(versions)),),
    )
    return [row[0] for row in rows]

"""The versions of a prompt: chained by `follows` relations, else by their common `promptId` and version numbers."""

from __future__ import annotations

from minions_evals_mcp.store.connection import Db


def chain(db: Db, version: str) -> list[str]:
    """All versions of the prompt that this is a version of, those of other branches too, oldest first; itself where it stands alone."""
    rows = db.execute(
        "WITH RECURSIVE older (id, n) AS (SELECT ?1, 0 UNION SELECT r.target_id, n + 1 FROM older JOIN relation r"
        "  ON r.source_id = older.id WHERE n < 10000),"
        " first (id) AS (SELECT id FROM older ORDER BY n DESC LIMIT 1),"
        " newer (id, n) AS (SELECT id, 0 FROM first UNION SELECT r.source_id, n + 1 FROM newer JOIN relation r"
        "  ON r.target_id = newer.id WHERE n < 10000)"
        " SELECT id, max(n) FROM newer GROUP BY id ORDER BY 2, 1",
        (version,),
    ).fetchall()
    if len(rows) > 1:
        return [row[0] for row in rows]
    named = db.execute(
        "SELECT json_extract(fields, '$.promptId') FROM minion WHERE id = ? AND type = 'prompt-version'", (version,)
    ).fetchone()
    return versions_of(db, named[0]) or [version] if named is not None and named[0] is not None else [version]


def versions_of(db: Db, prompt_id: str) -> list[str]:
    """The recorded versions that name this prompt, by version number."""
    rows = db.execute(
        "SELECT id FROM minion WHERE type = 'prompt-version' AND deleted_at IS NULL AND json_extract(fields, '$.promptId') = ?"
        " ORDER BY json_extract(fields, '$.versionNumber'), seq",
        (prompt_id,),
    )
    return [row[0] for row in rows]

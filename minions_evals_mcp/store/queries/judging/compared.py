"""The identity of a comparison: what was compared, by content."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from pydantic import JsonValue

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import record_of, select, table_of

SAME_AS = "the same outputs were compared before: "
"""The reason of a comparison's job that gives an earlier comparison back, before that one's id."""
_OUTPUTS = (
    "SELECT test_case_id, rest -> '$.actualOutput', outcome, rest ->> '$.digests.testCase', rest ->> '$.digests.rubric',"
    " rest ->> '$.digests.judge', rest ->> '$.digests.scorer', rest ->> '$.digests.embedder' FROM test_run"
    " WHERE benchmark_run_id = ? ORDER BY test_case_id, 2, 3"
)


def outputs_digest(db: Db, run_a: str, run_b: str, *, but_for: Sequence[JsonValue]) -> str:
    """The digest of both runs' outputs, cases, rubrics and judges; `but_for` is what else makes it another comparison."""
    return digest([_of_run(db, run_a), _of_run(db, run_b), *but_for])


def _of_run(db: Db, run_id: str) -> str:
    """The digest of all outputs of a run, whatever the order and the ids under which they were recorded."""
    hashed = blake2b(digest_size=16)
    for row in db.execute(_OUTPUTS, (run_id,)):
        hashed.update(repr(row).encode())
    return hashed.hexdigest()


def same_outputs(db: Db, versions: tuple[str, str], outputs: str) -> Record[PromptComparison] | None:
    """The earlier comparison of those versions on the same outputs."""
    table = table_of(PromptComparison)
    row = db.execute(
        select(
            table,
            "prompt_version_a = ? AND prompt_version_b = ? AND json_extract(rest, '$.outputsDigest') = ? ORDER BY seq LIMIT 1",
        ),
        (*versions, outputs),
    ).fetchone()
    return None if row is None else record_of(table, row)


def given_back(db: Db, ident: str) -> str:
    """The id of the earlier comparison that the job of that id gave back; else the id itself."""
    job = db.execute("SELECT reason FROM job WHERE id = ? AND kind = 'comparison'", (ident,)).fetchone()
    return ident if job is None or not job[0].startswith(SAME_AS) else job[0].removeprefix(SAME_AS)

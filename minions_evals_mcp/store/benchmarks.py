"""A benchmark without the list of its test cases: of a million of them the list takes more room than all else in a conclusion."""

from __future__ import annotations

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from minions_evals_mcp.domain.definitions import Benchmark, Json
from minions_evals_mcp.domain.digests import canonical, text_digest
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.next_steps import list_them
from minions_evals_mcp.store.connection import Db

_LISTED = "the test cases"
"""Stands for their list, which is canonical as it is kept, while the rest is made so."""


@frozen_type
class BenchmarkHead:
    """The fields of a benchmark that a run's conclusion reads."""

    id: str
    title: str
    dimension: str
    owner_id: str | None
    passing_threshold: float | None


def benchmark_head(db: Db, ident: str) -> BenchmarkHead:
    """The benchmark under that id, without its test cases; raises `NotFoundError`."""
    row = db.execute(
        "SELECT id, title, coalesce(fields ->> '$.dimension', ''), fields ->> '$.ownerId', fields ->> '$.passingThreshold'"
        " FROM minion WHERE id = ? AND type = ?",
        (ident, Benchmark.slug),
    ).fetchone()
    if row is None:
        raise NotFoundError(Benchmark.slug, ident, remedy=list_them(Benchmark.slug))
    return BenchmarkHead(*row)


def note_last_run(db: Db, ident: str, run: BenchmarkRun) -> None:
    """Writes when the benchmark ran last, its score and who judged instead of its own judge; it stays as old as it was."""
    title, fields, tags, status, listed = db.execute(
        "SELECT title, json_remove(fields, '$.testCaseIds'), tags, status, fields -> '$.testCaseIds' FROM minion WHERE id = ?",
        (ident,),
    ).fetchone()
    judges: list[JsonValue] | None = [*run.judged_by] or None
    since: Json = {"lastRunAt": iso(run.ran_at), "lastScore": run.overall_score, "lastJudgedBy": judges}
    head = {**from_json(fields), **since, "testCaseIds": _LISTED}
    content: JsonValue = {
        "type": Benchmark.slug,
        "title": title,
        "fields": {name: value for name, value in head.items() if value is not None},
        "tags": from_json(tags),
        "status": status,
    }
    text = canonical(content, finite=True).replace(f'"testCaseIds":"{_LISTED}"', f'"testCaseIds":{listed}', 1)
    db.execute(
        "UPDATE minion SET fields = json_patch(fields, ?), digest = ? WHERE id = ?",
        (to_json(since).decode(), text_digest(text), ident),
    )

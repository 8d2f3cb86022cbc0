"""What somebody looks for by a part of its name."""

from __future__ import annotations

from typing import NamedTuple

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages.case_strip import unit_of
from minions_evals_mcp.store.queries.report_units import Place


class Named(NamedTuple):
    """A definition as it is called."""

    id: str
    title: str


_NAMED = (
    "SELECT id, title FROM minion WHERE type = ?1 AND deleted_at IS NULL"
    " AND (instr(lower(title), ?2) > 0 OR instr(lower(id), ?2) > 0)"
    " ORDER BY instr(lower(title), ?2) <> 1 AND instr(lower(id), ?2) <> 1, seq DESC LIMIT ?3"
)


def named_so(db: Db, kind: str, text: str, *, limit: int) -> list[Named]:
    """The records of that type whose title or id holds the text: those that begin with it first, then the newest."""
    return [Named(ident, title) for ident, title in db.execute(_NAMED, (kind, text.lower(), limit))]


def newest_place(db: Db, case_id: str) -> tuple[str, Place] | None:
    """The run in which the case was last judged, and where it stands there."""
    row = db.execute(
        "SELECT id FROM test_run WHERE test_case_id = ? AND benchmark_run_id IS NOT NULL ORDER BY seq DESC LIMIT 1",
        (case_id,),
    ).fetchone()
    return None if row is None else unit_of(row[0])

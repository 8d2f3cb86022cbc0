"""A case over its runs, and its neighbours within one run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.values import from_millis
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.report_units import Place


@dataclass(frozen=True, slots=True)
class StripResult:
    """One run of a case: how it came out there, and where in the run it stands."""

    run_id: str
    place: Place
    at: datetime
    passed: bool
    score: float
    version: str | None


def tried(db: Db, case_id: str, *, trial: int, limit: int) -> list[StripResult]:
    """The newest runs of the case, oldest first."""
    rows = db.execute(
        "SELECT id, ran_at, passed, total_score / max_possible_score, prompt_version_ref FROM test_run"
        " WHERE test_case_id = ? AND trial = ? ORDER BY seq DESC LIMIT ?",
        (case_id, trial, limit),
    ).fetchall()
    return [_tried(*row) for row in reversed(rows)]


def _tried(ident: str, at: int, passed: int, score: float, version: str | None) -> StripResult:
    run_id, place = unit_of(ident)
    return StripResult(run_id, place, from_millis(at), bool(passed), score, version)


def unit_of(test_run_id: str) -> tuple[str, Place]:
    """The run and the unit that a test-run is of: its id is the run's with `:NUMBER.TRIAL`, counted from 1."""
    run_id, _, place = test_run_id.rpartition(":")
    number, _, trial = place.partition(".")
    return run_id, (int(number) - 1, int(trial))


def neighbours(db: Db, run_id: str, place: Place) -> tuple[Place | None, Place | None]:
    """The cases before and after that one in the run."""
    before = db.execute(
        "SELECT position, trial FROM unit WHERE job_id = ? AND (position, trial) < (?, ?) AND outcome IS NOT NULL"
        " ORDER BY position DESC, trial DESC LIMIT 1",
        (run_id, *place),
    ).fetchone()
    after = db.execute(
        "SELECT position, trial FROM unit WHERE job_id = ? AND (position, trial) > (?, ?) AND outcome IS NOT NULL"
        " ORDER BY position, trial LIMIT 1",
        (run_id, *place),
    ).fetchone()
    return before, after

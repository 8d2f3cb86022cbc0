"""Notes of people on single outputs: a thumb up or down with its reason, beside the verdict, which it does not change."""

from __future__ import annotations

from dataclasses import dataclass

from minions_evals_mcp.domain.values import Timestamp, from_millis, to_millis
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import Db


@dataclass(frozen=True, slots=True)
class OutputNote:
    """What a person said of an output; `good` is the thumb up."""

    good: bool
    reason: str
    noted_by: str
    at: Timestamp


def noted_case(db: Db, run_id: str, place: tuple[int, int]) -> str | None:
    """The case of a unit that has come to an end; None where there is none at that place."""
    row = db.execute(
        "SELECT case_id FROM unit WHERE job_id = ? AND position = ? AND trial = ? AND outcome IS NOT NULL",
        (run_id, *place),
    ).fetchone()
    return None if row is None else row[0]


def add_note(db: Db, run_id: str, place: tuple[int, int], case_id: str, note: OutputNote) -> None:
    """Keeps the note beside those that are there."""
    db.execute(
        "INSERT INTO output_note (job_id, position, trial, case_id, good, reason, noted_by, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (run_id, *place, case_id, note.good, masked(note.reason), note.noted_by, to_millis(note.at)),
    )


def notes_of(db: Db, run_id: str, place: tuple[int, int]) -> tuple[OutputNote, ...]:
    """The notes on an output, the oldest first."""
    rows = db.execute(
        "SELECT good, reason, noted_by, at FROM output_note WHERE job_id = ? AND position = ? AND trial = ? ORDER BY seq",
        (run_id, *place),
    )
    return tuple(OutputNote(bool(good), reason, by, from_millis(at)) for good, reason, by, at in rows)

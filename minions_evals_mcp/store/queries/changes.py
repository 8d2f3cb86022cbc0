"""The changes that another process may have made: looked at often, so that a look at an idle store costs one pragma."""

from __future__ import annotations

from dataclasses import dataclass

from minions_evals_mcp.store.agent.event_feed import Happened, happened, last_event
from minions_evals_mcp.store.connection import Db

NEWEST = 200
"""So many of the newest runs are watched; an older one is known by its events only."""
EVENTS = 2000
"""So many events are read on at once."""
Standing = tuple[str, int, int]
"""A run's state, when it was written, and how many of its units have ended."""


@dataclass(frozen=True, slots=True)
class StoreState:
    """The store as it stood. `version` changes with every commit of another connection, `queued` with the outbox."""

    version: int
    event: int
    queued: tuple[int, int, int]
    runs: dict[str, Standing]


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes between two looks."""

    events: tuple[Happened, ...] = ()
    run_ids: tuple[str, ...] = ()
    outbox: bool = False


def look(db: Db, *, version: int) -> StoreState:
    """The store as it stands, at that version of it or a newer one."""
    return StoreState(version, last_event(db), _queued(db), _standing(db))


def changes(db: Db, *, before: StoreState, after: StoreState) -> Changes:
    """Returns what happened from the one look to the other."""
    events = happened(db, after=before.event, limit=EVENTS)
    moved = tuple(run_id for run_id, standing in after.runs.items() if before.runs.get(run_id) != standing)
    return Changes(
        tuple(event for event in events if event.seq <= after.event), moved, outbox=before.queued != after.queued
    )


def _queued(db: Db) -> tuple[int, int, int]:
    waiting = db.execute("SELECT count(*), coalesce(sum(attempts), 0) FROM delivery WHERE state = 'pending'").fetchone()
    return db.execute("SELECT coalesce(max(seq), 0) FROM outbox").fetchone()[0], *waiting


def _standing(db: Db) -> dict[str, Standing]:
    rows = db.execute(
        "SELECT id, state, updated_at, CASE WHEN state IN ('running', 'awaiting-judgments') THEN"
        " (SELECT count(*) FROM unit u WHERE u.job_id = j.id AND u.outcome IS NOT NULL) ELSE total END"
        " FROM job j ORDER BY created_at DESC LIMIT ?",
        (NEWEST,),
    )
    return {ident: (state, at, done) for ident, state, at, done in rows}

"""The events, and what is to be told: rows in the transaction of the fact."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.digests import json_text
from minions_evals_mcp.domain.records import ASKED, TYPES, Record, fields_from_json, title_of
from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import AT_MOST, Db, insert_rows


@frozen_type
class Event:
    """Something that became a fact."""

    type: str
    subject_type: str
    subject_id: str
    detail: Json


def append(db: Db, event: Event, *, at: datetime) -> None:
    """Writes the event beside the fact."""
    append_all(db, [event], at=at)


EventRow = tuple[str, str, str, str]
"""An event's type, the type and id of what it is about, and its detail."""


def append_all(db: Db, events: Iterable[Event], *, at: datetime) -> None:
    """Writes the events beside their facts, in order."""
    write_events(db, map(row_of, events), at=at)


def row_of(event: Event) -> EventRow:
    """The row that an event becomes, but for its time."""
    return event_row(event.type, event.subject_type, event.subject_id, event.detail)


def event_row(kind: str, subject_type: str, subject_id: str, detail: Json) -> EventRow:
    """The row of an event, but for its time."""
    return kind, subject_type, subject_id, masked(json_text(detail))


def write_events(db: Db, rows: Iterable[EventRow], *, at: datetime) -> None:
    """Writes events that are rows already."""
    moment = to_millis(at)
    insert_rows(db, "event (at, type, subject_type, subject_id, detail)", ((moment, *row) for row in rows))


def last_event(db: Db) -> int:
    """The number of the newest event; 0 before any."""
    return db.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0]


def newest(db: Db, kind: str, subject_id: str) -> Json | None:
    """Returns what the newest event of that type about the subject says."""
    row = db.execute(
        "SELECT detail FROM event WHERE subject_id = ? AND type = ? ORDER BY seq DESC LIMIT 1", (subject_id, kind)
    ).fetchone()
    return None if row is None else json.loads(row[0])


def tell(db: Db, record: Record[Fields], *, key: str, addressee: str) -> bool:
    """Queues a record for a neighbour under that key; false where the key is queued already."""
    if db.execute("SELECT 1 FROM outbox WHERE key = ?", (key,)).fetchone() is not None:
        return False
    db.execute(
        "INSERT INTO outbox (id, key, type, addressee, fields, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (record.id, key, record.type, addressee, masked(record.fields.model_dump_json()), to_millis(record.created_at)),
    )
    return True


@frozen_type
class OutboxRow:
    """A row of the outbox."""

    seq: int
    key: str
    addressee: str
    record: Record[Fields]

    def wire(self) -> dict[str, JsonValue]:
        """The row as it stands in an answer."""
        return {"key": self.key, "addressee": self.addressee, **self.record.wire()}


OUTBOX_TYPES = tuple(kind.slug for kind in ASKED)


def outbox(
    db: Db, *, after: int = 0, limit: int = 100, type_: str | None = None, ident: str | None = None
) -> list[OutboxRow]:
    """A page of what is queued, oldest first."""
    rows = db.execute(
        "SELECT seq, id, key, type, addressee, fields, created_at FROM outbox"
        f" WHERE seq > ? AND (? IS NULL OR type = ?) AND (? IS NULL OR id = ?) ORDER BY seq {AT_MOST}",
        (after, type_, type_, ident, ident, limit),
    )
    return [_letter(*row) for row in rows]


def _letter(seq: int, ident: str, key: str, kind: str, addressee: str, fields: str, created_at: int) -> OutboxRow:  # noqa: PLR0913, PLR0917  a row's columns
    typed = fields_from_json(TYPES[kind], fields, record=ident)
    at = from_millis(created_at)
    return OutboxRow(seq, key, addressee, Record(ident, typed, title_of(typed, ident), at, at))


def count_outbox(db: Db) -> int:
    """Returns how many rows are queued."""
    return db.execute("SELECT count(*) FROM outbox").fetchone()[0]

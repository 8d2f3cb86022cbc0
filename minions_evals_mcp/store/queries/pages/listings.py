"""The lists of somebody who browses: ids by how they begin, how many records there are, the newest of the outbox."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import ACTIVE, TYPES
from minions_evals_mcp.domain.values import from_millis
from minions_evals_mcp.store import events, records
from minions_evals_mcp.store.connection import AT_MOST, Db
from minions_evals_mcp.store.events import OutboxRow
from minions_evals_mcp.store.queries.version_rows import prompts_beginning
from minions_evals_mcp.store.rows import TABLES, Table


def ids_beginning(db: Db, kind: str, typed: str, *, limit: int) -> list[str]:
    """The newest ids of that type that begin with what was typed; `run`, `message` and `prompt` are types here."""
    if kind == "run":
        return _ids(db, "job", "created_at", typed, limit)
    if kind == "message":
        return _ids(db, "inbox", "seq", typed, limit)
    if kind == "prompt":
        return prompts_beginning(db, typed, limit)
    if kind in TABLES:
        return _ids(db, TABLES[kind].name, "seq", typed, limit)
    if kind in events.OUTBOX_TYPES:
        return _ids(db, "outbox", "seq", typed, limit, kind)
    return _ids(db, "minion", "seq", typed, limit, kind)


def _ids(db: Db, table: str, newest: str, typed: str, limit: int, kind: str | None = None) -> list[str]:
    hidden = " AND deleted_at IS NULL" if table == "minion" else ""
    named = "" if kind is None else " AND type = ?"
    rows = db.execute(
        f"SELECT id FROM {table} WHERE substr(id, 1, length(?)) = ?{named}{hidden} ORDER BY {newest} DESC {AT_MOST}",
        (typed, typed, *(() if kind is None else (kind,)), limit),
    )
    return [row[0] for row in rows]


def count_of(db: Db, kind: str) -> int:
    """Returns how many records of that type there are."""
    if kind == "run":
        query, about = "SELECT count(*) FROM job", ()
    elif kind == "message":
        query, about = "SELECT count(*) FROM inbox", ()
    elif kind in TABLES:
        query, about = f"SELECT count(*) FROM {TABLES[kind].name}", ()
    elif kind in events.OUTBOX_TYPES:
        query, about = "SELECT count(*) FROM outbox WHERE type = ?", (kind,)
    else:
        query, about = "SELECT count(*) FROM minion WHERE type = ? AND deleted_at IS NULL", (kind,)
    return db.execute(query, about).fetchone()[0]


class RecordLine(NamedTuple):
    """A record as a list shows it; `seq` is the cursor to go on from."""

    seq: int
    id: str
    title: str
    shown_status: str
    updated_at: datetime


def lines(db: Db, kind: str, *, after: int, limit: int) -> list[RecordLine]:
    """A page of one type's records in the order in which they were written, without the fields of definitions and copies."""
    if kind in events.OUTBOX_TYPES:
        page = records.page(db, kind, after=after, limit=limit)
        return [
            RecordLine(seq, record.id, record.title, record.shown_status, record.updated_at) for seq, record in page
        ]
    if kind in TABLES:
        return _result_lines(db, TABLES[kind], after, limit)
    status = "coalesce(fields ->> '$.status', status)" if "status" in TYPES[kind].model_fields else "status"
    rows = db.execute(
        f"SELECT seq, id, title, {status}, updated_at FROM minion"
        f" WHERE type = ? AND seq > ? AND deleted_at IS NULL ORDER BY seq {AT_MOST}",
        (kind, after, limit),
    )
    return [RecordLine(seq, ident, title, status, from_millis(at)) for seq, ident, title, status, at in rows]


def _result_lines(db: Db, table: Table[Fields], after: int, limit: int) -> list[RecordLine]:
    """Results have no name of their own, and few a status: their type and id say which they are."""
    status = "status" if "status" in table.columns_set else f"'{ACTIVE}'"
    rows = db.execute(
        f"SELECT seq, id, {table.at}, {status} FROM {table.name} WHERE seq > ? ORDER BY seq {AT_MOST}", (after, limit)
    )
    return [
        RecordLine(seq, ident, f"{table.kind.slug} {ident}", status, from_millis(at)) for seq, ident, at, status in rows
    ]


def newest_told(db: Db, *, limit: int) -> list[OutboxRow]:
    """The newest rows of the outbox first."""
    seqs = [row[0] for row in db.execute(f"SELECT seq FROM outbox ORDER BY seq DESC {AT_MOST}", (limit,))]
    return events.outbox(db, after=seqs[-1] - 1, limit=limit)[::-1] if seqs else []

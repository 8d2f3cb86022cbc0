"""Messages for the agent: taken in once, in order for each topic, each with how far it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import from_millis, iso, to_millis
from minions_evals_mcp.errors import ConflictError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import Db

MessageState = Literal["pending", "done", "dead"]


@frozen_type
class Arriving:
    """A message on its way in; `sender` is told how it ends."""

    id: str
    type: str
    topic: str
    sender: str | None
    payload: Json
    door: str = ""
    """`source`: it came in where the operator set the agent up to listen; `person:NAME`: a person whom a door knows sent it."""


@frozen_type
class Message:
    """A message as it is kept. `attempts` counts its failures so far; `result` is what came of it."""

    seq: int
    id: str
    type: str
    topic: str
    sender: str | None
    payload: Json
    sent_at: datetime
    state: MessageState
    attempts: int
    next_at: datetime
    reason: str
    result: Json | None
    door: str = ""

    def wire(self) -> dict[str, JsonValue]:
        """The message as it stands in an answer; its payload is left out."""
        return {
            "id": self.id, "type": self.type, "topic": self.topic, "sender": self.sender, "sentAt": iso(self.sent_at),
            "state": self.state, "attempts": self.attempts, "reason": self.reason, "result": self.result,
        }  # fmt: skip


_COLUMNS = "i.seq, i.id, i.type, i.topic, i.sender, i.payload, i.sent_at, i.state, i.attempts, i.next_at, i.reason, i.result, i.door"


def _message(row: tuple[Any, ...]) -> Message:
    seq, ident, kind, topic, sender, payload, sent_at, state, attempts, next_at, reason, result, door = row
    return Message(
        seq, ident, kind, topic, sender, json.loads(payload), from_millis(sent_at), state, attempts,
        from_millis(next_at), reason, None if result is None else json.loads(result), door,
    )  # fmt: skip


def message(db: Db, ident: str) -> Message | None:
    """The message under that id."""
    row = db.execute(f"SELECT {_COLUMNS} FROM inbox i WHERE id = ?", (ident,)).fetchone()
    return None if row is None else _message(row)


def newest(db: Db, *, before: int | None, limit: int) -> list[Message]:
    """A page of the messages, newest first; `before` is the number of the last one that was seen."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM inbox i WHERE ? IS NULL OR seq < ? ORDER BY seq DESC LIMIT ?", (before, before, limit)
    )
    return [_message(row) for row in rows]


def newest_sent(db: Db, *, besides: Iterable[str]) -> str | None:
    """The id of the newest message of another type than those."""
    row = db.execute(
        "SELECT id FROM inbox WHERE type NOT IN (SELECT value FROM json_each(?)) ORDER BY seq DESC LIMIT 1",
        (json.dumps(list(besides)),),
    ).fetchone()
    return None if row is None else row[0]


def put(db: Db, arriving: Arriving, *, at: datetime, dead: str = "") -> bool:
    """Takes the message in, as a dead letter where `dead` says why; false where one of its id is kept already."""
    if db.execute("SELECT 1 FROM inbox WHERE id = ?", (arriving.id,)).fetchone() is not None:
        return False
    now = to_millis(at)
    state, settled = ("dead", now) if dead else ("pending", None)
    db.execute(
        "INSERT INTO inbox (id, type, topic, sender, payload, sent_at, state, attempts, next_at, reason, settled_at, door)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)",
        (
            arriving.id, arriving.type, arriving.topic, arriving.sender, masked(json.dumps(arriving.payload)), now, state,
            now, masked(dead), settled, arriving.door,
        ),
    )  # fmt: skip
    return True


@frozen_type
class Ordering:
    """What keeps no sender's order: `overlapping` types run side by side; `own` types and ids are the agent's to itself."""

    overlapping: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    own_ids: tuple[str, ...] = ()


def due(
    db: Db, ordering: Ordering, *, now: datetime, latest: datetime, skip: Iterable[int], limit: int
) -> list[Message]:
    """The messages to be taken next, oldest first, and only when due: of each topic the first that is not settled, and of each
    sender those that no earlier one of the sender holds up.

    A sender's messages take effect in the order sent; those that name no sender count as one sender's. Messages of one
    overlapping type run side by side, where none of another type is before them.
    One that is due after `latest` was put off by a clock that has been set back since: it is due too.
    """
    rows = db.execute(
        f"{_IN_ORDER} SELECT {_COLUMNS} FROM (SELECT min(seq) AS seq FROM inbox WHERE state = 'pending' GROUP BY topic) first"
        " JOIN inbox i USING (seq) LEFT JOIN ahead a ON a.who = coalesce(i.sender, '')"
        " WHERE i.next_at NOT BETWEEN :due_after AND :latest AND i.seq NOT IN (SELECT value FROM json_each(:skip))"
        f" AND (i.seq = a.first OR {_IS_OWN.format(row='i')}"
        " OR (i.seq < a.until AND a.type IN (SELECT value FROM json_each(:overlapping))))"
        " ORDER BY i.seq LIMIT :limit",
        {
            "due_after": to_millis(now) + 1, "latest": to_millis(latest), "skip": json.dumps([*skip]), "limit": limit,
            "own": json.dumps(ordering.own), "own_ids": json.dumps(ordering.own_ids),
            "overlapping": json.dumps(ordering.overlapping),
        },
    )  # fmt: skip
    return [_message(row) for row in rows]


_IS_OWN = (
    "({row}.type IN (SELECT value FROM json_each(:own))"
    " OR EXISTS (SELECT 1 FROM json_each(:own_ids) p WHERE substr({row}.id, 1, length(p.value)) = p.value))"
)
_IN_ORDER = (
    "WITH sent AS MATERIALIZED (SELECT coalesce(o.sender, '') AS who, o.type, min(o.seq) AS first FROM inbox o"
    f" WHERE o.state = 'pending' AND NOT {_IS_OWN.format(row='o')} GROUP BY who, o.type),"
    " ahead AS MATERIALIZED (SELECT s.who, s.type, s.first, coalesce((SELECT min(o.first) FROM sent o WHERE o.who = s.who"
    " AND o.type <> s.type), 9223372036854775807) AS until FROM sent s"
    " WHERE s.first = (SELECT min(m.first) FROM sent m WHERE m.who = s.who))"
)
"""Of each sender with pending messages: the oldest, its type, and the oldest of another type."""


def next_due(db: Db, *, after: datetime) -> datetime | None:
    """Returns when the next message that was put off is due again."""
    row = db.execute(
        "SELECT min(next_at) FROM inbox WHERE state = 'pending' AND next_at > ?", (to_millis(after),)
    ).fetchone()
    return None if row[0] is None else from_millis(row[0])


def finish(db: Db, ident: str, result: Json, *, at: datetime) -> None:
    """Marks the message as done, with what came of it; raises `ConflictError` where it is settled already."""
    _settle(
        db, ident, "state = 'done', result = ?, reason = '', settled_at = ?", masked(json.dumps(result)), to_millis(at)
    )


def put_off(db: Db, ident: str, reason: str, *, until: datetime) -> None:
    """Counts a failure of the message; it is due again at that moment. Raises `ConflictError` where it is settled already."""
    _settle(db, ident, "attempts = attempts + 1, reason = ?, next_at = ?", masked(reason), to_millis(until))


def bury(db: Db, ident: str, reason: str, *, at: datetime) -> None:
    """Counts the message's last failure and makes it a dead letter; raises `ConflictError` where it is settled already."""
    changes = "state = 'dead', attempts = attempts + 1, reason = ?, settled_at = ?"
    _settle(db, ident, changes, masked(reason), to_millis(at))


def _settle(db: Db, ident: str, changes: str, *values: str | int) -> None:
    updated = db.execute(f"UPDATE inbox SET {changes} WHERE id = ? AND state = 'pending'", (*values, ident))
    if updated.rowcount == 0:
        raise ConflictError(f"the message {ident} is already settled.")


def revive(db: Db, ident: str, *, at: datetime) -> None:
    """Makes a dead letter a message again, with all its attempts before it."""
    db.execute(
        "UPDATE inbox SET state = 'pending', attempts = 0, next_at = ?, settled_at = NULL, dismissed = '' WHERE id = ?",
        (to_millis(at), ident),
    )


def dismiss(db: Db, ident: str, reason: str) -> bool:
    """Keeps why the dead letter needs nothing more; false where the message is none."""
    changes = "UPDATE inbox SET dismissed = ? WHERE id = ? AND state = 'dead'"
    return db.execute(changes, (masked(reason), ident)).rowcount > 0


def dismissed(db: Db, *, limit: int) -> list[tuple[str, str]]:
    """The newest dead letters that were dismissed, and why."""
    rows = db.execute(
        "SELECT id, dismissed FROM inbox WHERE state = 'dead' AND dismissed <> '' ORDER BY seq DESC LIMIT ?", (limit,)
    )
    return rows.fetchall()


def dead_letters(db: Db, *, limit: int, besides: str = "") -> list[Message]:
    """The newest dead letters first that nobody dismissed, but those of the type `besides`."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM inbox i WHERE state = 'dead' AND dismissed = '' AND type <> ? ORDER BY seq DESC LIMIT ?",
        (besides, limit),
    )
    return [_message(row) for row in rows]


def counts(db: Db, *, besides: Iterable[str] = ()) -> dict[MessageState, int]:
    """The number of messages by state, of other types than those; dismissed dead letters are left out."""
    rows = db.execute(
        "SELECT state, count(*) FROM inbox WHERE type NOT IN (SELECT value FROM json_each(?)) AND dismissed = '' GROUP BY state",
        (json.dumps(list(besides)),),
    )
    return dict(rows.fetchall())


def oldest_pending(db: Db) -> datetime | None:
    """Returns when the oldest message was sent that is not settled."""
    row = db.execute("SELECT min(sent_at) FROM inbox WHERE state = 'pending'").fetchone()
    return None if row[0] is None else from_millis(row[0])

"""The conversations of a run, turn by turn: what was said before a run was cut off is not paid for again."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from minions_evals_mcp.domain.conversations import OUTSIDE, NextMessage, Player, PlayerCost, Turn, UserFault
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outcomes import Observed, UnitKey
from minions_evals_mcp.domain.values import Json, Value
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import Db


class StoredConversation(Value):
    """What is kept of a conversation: its turns, what the player did wrong, and what lets it go on.

    `session` is the agent's own memory, `journal` the calls of its world, one JSON text each, `last` what its last answer was
    seen with. `nextMessage` was handed in and not said yet. Where the agent's memory cannot be kept, `restartable` is false: a
    conversation that is cut off begins anew.
    """

    turns: Annotated[tuple[Turn, ...], Field(strict=False)] = ()
    faults: Annotated[tuple[UserFault, ...], Field(strict=False, exclude_if=lambda faults: not faults)] = ()
    session: Json = {}
    journal: Annotated[tuple[str, ...], Field(strict=False, exclude_if=lambda lines: not lines)] = ()
    tool_calls: Annotated[tuple[ToolCall, ...] | None, Field(strict=False)] = None
    last: Observed | None = None
    restartable: Annotated[bool, Field(exclude_if=lambda value: value)] = True
    player_cost: PlayerCost = PlayerCost()
    next_message: Annotated[NextMessage | None, Field(exclude_if=lambda message: message is None)] = None


class TalkRow(NamedTuple):
    """One attempt at the conversation of a unit. `ended` is empty while it goes on, `spoiled` unless the user spoiled it."""

    key: UnitKey
    attempt: int
    case_id: str
    player: Player
    said: StoredConversation
    ended: str = ""
    spoiled: str = ""


_COLUMNS = "job_id, position, trial, attempt, case_id, player, said, ended, spoiled"
_UNIT = "job_id = ? AND position = ? AND trial = ?"


def save(db: Db, row: TalkRow) -> None:
    """Keeps how far a conversation is, in place of what was kept of it."""
    said = masked(row.said.model_dump_json(exclude_defaults=True))
    place = (*row.key, row.attempt)
    changed = db.execute(
        f"UPDATE talk SET said = ?, ended = ?, spoiled = ? WHERE {_UNIT} AND attempt = ?",
        (said, row.ended, row.spoiled, *place),
    )
    if changed.rowcount == 0:
        db.execute(
            f"INSERT INTO talk ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, row.case_id, row.player, said, row.ended, row.spoiled),
        )


def newest(db: Db, key: UnitKey) -> TalkRow | None:
    """The last attempt at the conversation of that unit."""
    found = db.execute(
        f"SELECT {_COLUMNS} FROM talk WHERE {_UNIT} ORDER BY attempt DESC LIMIT 1", tuple(key)
    ).fetchone()
    return None if found is None else _row(found)


USER_ASKED: dict[Player, str] = {player: f"user:{player}" for player in sorted(OUTSIDE)}
"""The reason of a unit whose conversation waits for its user, by who plays that one."""


def player_asked(reason: str) -> Player | None:
    """Who is asked for the next message of the user; None for a unit that waits to be judged."""
    return next((player for player, said in USER_ASKED.items() if said == reason), None)


def count_waiting(db: Db, job_id: str) -> int:
    """The conversations of a job that wait for their user."""
    reasons = tuple(USER_ASKED.values())
    return db.execute(
        "SELECT count(*) FROM unit WHERE job_id = ? AND outcome = 'awaiting-judgments' AND reason IN (?, ?)",
        (job_id, *reasons),
    ).fetchone()[0]


def say(db: Db, row: TalkRow, message: NextMessage) -> None:
    """Keeps what the user says next, and opens the unit again: the run goes on with it."""
    save(db, row._replace(said=row.said.model_copy(update={"next_message": message})))
    db.execute(f"UPDATE unit SET outcome = NULL, reason = '', packet = NULL WHERE {_UNIT}", tuple(row.key))


def of_job(db: Db, job_id: str, *, case_id: str | None = None, most: int) -> list[TalkRow]:
    """The conversations of a job in their order, every attempt; of one case where it is named."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM talk WHERE job_id = ? AND (? IS NULL OR case_id = ?) ORDER BY position, trial, attempt LIMIT ?",
        (job_id, case_id, case_id, most),
    )
    return [_row(row) for row in rows]


class SpoiledCounts(NamedTuple):
    """How many conversations were ended, how many of them a user played that can do wrong, and which of these it spoiled."""

    ended: int
    checked: int
    spoiled: dict[str, int]


def spoiled_counts(db: Db, job_id: str) -> SpoiledCounts:
    """The counts of a job, every attempt for itself."""
    rows = db.execute(
        "SELECT player, spoiled, count(*) FROM talk WHERE job_id = ? AND ended <> '' GROUP BY player, spoiled",
        (job_id,),
    ).fetchall()
    spoiled: dict[str, int] = {}
    for _, kind, count in rows:
        if kind:
            spoiled[kind] = spoiled.get(kind, 0) + count
    return SpoiledCounts(
        sum(row[2] for row in rows), sum(row[2] for row in rows if row[0] != "script" or row[1]), spoiled
    )


def _row(row: tuple[object, ...]) -> TalkRow:
    job_id, position, trial, attempt, case_id, player, said, ended, spoiled = row
    read = StoredConversation.model_validate_json(said)  # pyright: ignore[reportArgumentType]  a row's columns, typed by the schema
    return TalkRow(UnitKey(job_id, position, trial), attempt, case_id, player, read, ended, spoiled)  # pyright: ignore[reportArgumentType]  as above

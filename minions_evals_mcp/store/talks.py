"""The conversations of a run, turn by turn: what was said before a run was cut off is not paid for again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from minions_evals_mcp.domain.conversations import (
    OUTSIDE,
    NextMessage,
    Player,
    PlayerCost,
    Turn,
    UserFault,
    UserLabel,
)
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outcomes import Observed, UnitKey
from minions_evals_mcp.domain.outputs import TOMBSTONE, is_erased
from minions_evals_mcp.domain.values import Json, Value, to_millis
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.store.connection import Db


class StoredConversation(Value):
    """What is kept of a conversation: its turns, what the player did wrong, and what lets it go on.

    `session` is the agent's own memory, `journal` the calls of its world, one JSON text each, `last` what its last answer was
    seen with. `nextMessage` was handed in or paid for, and is not answered yet. Where the agent's memory cannot be kept,
    `restartable` is false: a conversation that is cut off begins anew. `userSeed` is the number of the user's seed, `checker`
    the model that checks the user beside the rules; `read`: it has read a conversation in which these found nothing.
    A person vouches for the user's messages in the first `vouched` turns.
    """

    turns: Annotated[tuple[Turn, ...], Field(strict=False)] = ()
    faults: Annotated[tuple[UserFault, ...], Field(strict=False, exclude_if=lambda faults: not faults)] = ()
    session: Json = {}
    journal: Annotated[tuple[str, ...], Field(strict=False, exclude_if=lambda lines: not lines)] = ()
    tool_calls: Annotated[tuple[ToolCall, ...] | None, Field(strict=False)] = None
    last: Observed | None = None
    restartable: Annotated[bool, Field(exclude_if=lambda value: value)] = True
    player_cost: PlayerCost = PlayerCost()
    user_seed: Annotated[int | None, Field(exclude_if=lambda seed: seed is None)] = None
    checker: Annotated[str, Field(exclude_if=lambda model: not model)] = ""
    read: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    vouched: Annotated[int, Field(exclude_if=lambda turns: not turns)] = 0
    next_message: Annotated[NextMessage | None, Field(exclude_if=lambda message: message is None)] = None

    @property
    def is_erased(self) -> bool:
        """Whether content of it was erased: it cannot go on, and nothing can be said of it."""
        kept = self.model_dump(mode="json", include={"turns", "session", "next_message", "last"})
        return is_erased(kept) or any(map(TOMBSTONE.search, self.journal))


class TalkRow(NamedTuple):
    """One attempt at the conversation of a unit. `ended` is empty while it goes on, `spoiled` unless the user spoiled it."""

    key: UnitKey
    attempt: int
    case_id: str
    player: Player
    said: StoredConversation
    ended: str = ""
    spoiled: str = ""

    @property
    def checked_by(self) -> str:
        """The second model, where it has read the conversation."""
        return self.said.checker if self.said.read else ""

    @property
    def is_unread(self) -> bool:
        """Whether a second model has still to read it: nobody knows yet whether its user did its part."""
        return bool(self.ended and self.said.checker and not self.said.read and not self.spoiled)


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


_UNREAD = "(spoiled = '' AND said ->> '$.checker' IS NOT NULL AND said ->> '$.read' IS NULL)"
"""As `TalkRow.is_unread`."""


class SpoiledCounts(NamedTuple):
    """How many conversations were ended, how many of them a user played that can do wrong, and which of these it spoiled.

    People's words count before the check's; `overruled` is how many of those contradict it.
    """

    ended: int
    checked: int
    spoiled: dict[str, int]
    overruled: int = 0


BY_PERSON = "person"
"""The kind of fault that a person saw where the check saw none."""


def spoiled_counts(db: Db, job_id: str) -> SpoiledCounts:
    """The counts of a job, every attempt for itself; one that its second model has still to read is none yet."""
    rows = db.execute(
        "SELECT player, spoiled, (SELECT sound FROM user_label l WHERE l.job_id = talk.job_id AND l.position = talk.position"
        " AND l.trial = talk.trial AND l.attempt = talk.attempt ORDER BY seq DESC LIMIT 1) AS sound, count(*)"
        f" FROM talk WHERE job_id = ? AND ended <> '' AND NOT {_UNREAD} GROUP BY player, spoiled, sound",
        (job_id,),
    ).fetchall()
    spoiled: dict[str, int] = {}
    checked = overruled = 0
    for player, found, sound, count in rows:
        kind = found if sound is None else "" if sound else found or BY_PERSON
        checked += count * (player != "script" or bool(found) or sound is not None)
        overruled += count * (sound is not None and bool(sound) == bool(found))
        if kind:
            spoiled[kind] = spoiled.get(kind, 0) + count
    return SpoiledCounts(sum(row[3] for row in rows), checked, spoiled, overruled)


class SeededResult(NamedTuple):
    """A judged conversation whose user had a seed: of which case, the number of the seed, and whether it passed."""

    case_id: str
    user_seed: int
    passed: bool


def seeded(db: Db, *, job_id: str, root_id: str) -> list[SeededResult]:
    """The judged conversations of a job whose users had seeds; `rootId` is the job that had them."""
    rows = db.execute(
        "SELECT r.test_case_id, t.said ->> '$.userSeed', r.passed FROM unit u JOIN test_run r ON r.id = u.test_run_id"
        " JOIN talk t ON t.job_id = ?2 AND t.case_id = u.case_id AND t.trial = u.trial"
        " WHERE u.job_id = ?1 AND t.said ->> '$.userSeed' IS NOT NULL AND t.attempt = (SELECT max(l.attempt) FROM talk l"
        " WHERE l.job_id = t.job_id AND l.position = t.position AND l.trial = t.trial)"
        " ORDER BY u.position, u.trial",
        (job_id, root_id),
    )
    return [SeededResult(case_id, seed, bool(passed)) for case_id, seed, passed in rows]


class PlayedTalk(NamedTuple):
    """One attempt at a conversation that has ended. `checked` is the kind of fault that the user check found in it, if any.

    `checker` is the model that was part of this check, if one was, and `read` whether it was asked.
    `is_last`: the verdict of its unit rests on it.
    """

    key: UnitKey
    attempt: int
    case_id: str
    checked: str
    is_last: bool
    checker: str = ""
    read: bool = False

    @property
    def checked_by(self) -> str:
        """The second model, where it has read the conversation."""
        return self.checker if self.read else ""


def played(db: Db, job_id: str, *, case_id: str | None = None) -> list[PlayedTalk]:
    """The conversations of a job, of one case where it is named, that were judged or spoiled: every attempt, recorded ones too."""
    rows = db.execute(
        "SELECT u.position, u.trial, u.case_id, coalesce(t.attempt, 1), CASE WHEN t.attempt IS NULL THEN"
        " coalesce(u.output ->> '$.conversation.faults[0].kind', '') ELSE t.spoiled END,"
        " t.attempt IS NULL OR t.attempt = max(t.attempt) OVER (PARTITION BY u.position, u.trial),"
        " coalesce(t.said ->> '$.checker', ''), coalesce(t.said ->> '$.read', 0)"
        " FROM unit u LEFT JOIN talk t ON t.job_id = u.job_id AND t.position = u.position AND t.trial = u.trial"
        " WHERE u.job_id = ?1 AND (?2 IS NULL OR u.case_id = ?2)"
        " AND u.outcome IN ('scored', 'timed-out', 'user-error') AND (t.attempt IS NOT NULL OR EXISTS"
        " (SELECT 1 FROM minion m WHERE m.id = u.case_id AND m.fields -> '$.conversation' IS NOT NULL))"
        " ORDER BY u.position, u.trial, t.attempt",
        (job_id, case_id),
    )
    return [
        PlayedTalk(UnitKey(job_id, position, trial), attempt, case_id, checked, bool(last), checker, bool(read))
        for position, trial, case_id, attempt, checked, last, checker, read in rows
    ]


class StoppedTalk(NamedTuple):
    """A conversation that the user check stopped before the agent had answered the last message."""

    attempt: int
    said: StoredConversation


def stopped(db: Db, key: UnitKey, attempt: int) -> StoppedTalk | None:
    """That attempt at the conversation, if the user check stopped it before the agent answered, and it can go on."""
    found = db.execute(
        f"SELECT said FROM talk WHERE {_UNIT} AND attempt = ? AND spoiled <> ''", (*key, attempt)
    ).fetchone()
    said = None if found is None else StoredConversation.model_validate_json(found[0])
    if said is None or not said.restartable or said.is_erased or not said.turns or said.turns[-1].agent:
        return None
    return StoppedTalk(attempt, said)


class LabelledTalk(NamedTuple):
    """A person's word on the user of one attempt at a conversation. `checked` is what the user check, `checkedBy`, found in it."""

    key: UnitKey
    attempt: int
    case_id: str
    label: UserLabel
    checked: str
    checked_by: str
    seq: int = 0


def add_label(db: Db, talk: LabelledTalk, *, at: datetime) -> None:
    """Keeps what a person says of the user of a conversation; a later word counts."""
    label = talk.label
    db.execute(
        "INSERT INTO user_label (job_id, position, trial, attempt, case_id, sound, checked, checked_by, reason, labelled_by, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *talk.key, talk.attempt, talk.case_id, label.sound, talk.checked, talk.checked_by, masked(label.reason),
            label.labelled_by, to_millis(at),
        ),
    )  # fmt: skip


def labels(db: Db, *, job_id: str | None = None, benchmark_id: str | None = None) -> Iterator[LabelledTalk]:
    """The words of people on the conversations of a job, or of all jobs of a benchmark, the oldest first."""
    rows = db.execute(
        "SELECT job_id, position, trial, attempt, case_id, sound, reason, labelled_by, checked, checked_by, seq FROM user_label"
        " WHERE job_id = ?1 OR job_id IN (SELECT id FROM job WHERE subject_id = ?2) ORDER BY seq",
        (job_id, benchmark_id),
    )
    for ident, position, trial, attempt, case_id, sound, reason, by, checked, checked_by, seq in rows:
        label = UserLabel(sound=bool(sound), reason=reason, labelled_by=by)
        yield LabelledTalk(UnitKey(ident, position, trial), attempt, case_id, label, checked, checked_by, seq)


def counting_labels(db: Db, job_id: str) -> dict[tuple[str, int, int], UserLabel]:
    """The word that counts on each conversation of a job, by case, trial and attempt."""
    return {(talk.case_id, talk.key.trial, talk.attempt): talk.label for talk in labels(db, job_id=job_id)}


def _row(row: tuple[object, ...]) -> TalkRow:
    job_id, position, trial, attempt, case_id, player, said, ended, spoiled = row
    read = StoredConversation.model_validate_json(said)  # pyright: ignore[reportArgumentType]  a row's columns, typed by the schema
    return TalkRow(UnitKey(job_id, position, trial), attempt, case_id, player, read, ended, spoiled)  # pyright: ignore[reportArgumentType]  as above

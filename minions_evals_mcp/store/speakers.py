"""The people whom the store knows, and who handed in what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from minions_evals_mcp.domain.speaker import AGENTS, EDITOR, Role, Speaker, person
from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db


@frozen_type
class Person:
    """A person whom the store knows; `has_token`: they have a token, else they confirmed at a terminal who they are."""

    name: str
    has_token: bool
    since: datetime
    role: Role = EDITOR


def people(db: Db) -> list[Person]:
    """All people whom the store knows, in the order in which they came."""
    rows = db.execute("SELECT name, token_hash, created_at, role FROM person WHERE removed_at IS NULL ORDER BY seq")
    return [Person(name, hashed is not None, from_millis(at), role) for name, hashed, at, role in rows]


def is_person(db: Db, name: str) -> bool:
    """Returns whether the store knows a person of that name, however it is written."""
    sought = name.strip().casefold()
    return any(person.name.casefold() == sought for person in people(db))


def named_by_hash(db: Db, token_hash: str) -> Speaker | None:
    """The person whose token has that hash."""
    sought = "SELECT name, role FROM person WHERE token_hash = ? AND removed_at IS NULL"
    row = db.execute(sought, (token_hash,)).fetchone()
    return None if row is None else person(*row)


def save_person(db: Db, name: str, token_hash: str | None, *, at: datetime, role: Role = EDITOR) -> None:
    """Keeps a person; one who is known already gets the new token in place of the old."""
    known = db.execute("SELECT 1 FROM person WHERE name = ? AND removed_at IS NULL", (name,)).fetchone()
    if known is None:
        values = (name, token_hash, to_millis(at), role)
        db.execute("INSERT INTO person (name, token_hash, created_at, role) VALUES (?, ?, ?, ?)", values)
    elif token_hash is not None:
        db.execute("UPDATE person SET token_hash = ? WHERE name = ? AND removed_at IS NULL", (token_hash, name))


def set_role(db: Db, name: str, role: Role) -> Role | None:
    """Gives a person that role; the role that they had, None where nobody is known by that name."""
    row = db.execute("SELECT role FROM person WHERE name = ? AND removed_at IS NULL", (name,)).fetchone()
    if row is None:
        return None
    db.execute("UPDATE person SET role = ? WHERE name = ? AND removed_at IS NULL", (role, name))
    return row[0]


def remove_person(db: Db, name: str, *, at: datetime) -> bool:
    """Ends what the person's token opens; what they said stays theirs. False where nobody is known by that name."""
    done = db.execute(
        "UPDATE person SET removed_at = ?, token_hash = NULL WHERE name = ? AND removed_at IS NULL",
        (to_millis(at), name),
    )
    return done.rowcount > 0


def note_handed_in(db: Db, idents: Iterable[str], speaker: str, *, at: datetime) -> None:
    """Keeps who handed in those outputs; a person who hands in what an agent did vouches for it."""
    rows = [(ident, speaker, to_millis(at)) for ident in idents]
    db.executemany(
        "INSERT INTO handed_in (record_id, speaker, at) SELECT ?1, ?2, ?3"
        " WHERE NOT EXISTS (SELECT 1 FROM handed_in WHERE record_id = ?1)",
        rows,
    )
    if speaker.startswith("person:"):
        db.executemany("UPDATE handed_in SET speaker = ?2, at = ?3 WHERE record_id = ?1 AND speaker = 'agent'", rows)


def outputs_not_of_people(db: Db, run_id: str) -> int:
    """Returns how many outputs of the run were handed in, and by nobody whom the store knows as a person."""
    (count,) = db.execute(
        "SELECT count(*) FROM test_run r WHERE r.benchmark_run_id = ? AND r.agent_run_id IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM handed_in h WHERE h.record_id = r.agent_run_id AND h.speaker GLOB 'person:?*')",
        (run_id,),
    ).fetchone()
    return count


def made_by_agents(db: Db, idents: Sequence[str], *, changed_only: bool = False) -> list[str]:
    """Those of the records that an agent without a token made, changed or deleted last, through a server.

    `changed_only` leaves out what an agent made and nobody changed since. What was saved before sources were kept counts as the
    operator's.
    """
    is_change = " AND coalesce(json_extract(detail, '$.new'), 0) = 0" if changed_only else ""
    rows = db.execute(
        "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM event e WHERE e.seq = (SELECT max(seq) FROM event"
        " WHERE subject_id = value AND type IN ('record-saved', 'record-deleted', 'record-accepted'))"
        f" AND json_extract(e.detail, '$.by') = '{AGENTS}'{is_change})",
        (json.dumps([*dict.fromkeys(idents)]),),
    )
    return [ident for (ident,) in rows]


def judged_in(db: Db, run_ids: Sequence[str]) -> dict[str | None, int]:
    """Returns how many judgments of those runs each speaker handed in, by identity; None for models and rules that the engine asked.

    An imported judgment counts as that of the person who imported it, else as an agent's.
    """
    marks = ",".join("?" * len(run_ids))
    rows = db.execute(
        "SELECT coalesce(j.handed_in_by, CASE WHEN j.judged_by_type = 'human' THEN 'person:' || j.judged_by END), count(*)"
        f" FROM eval_judgment j JOIN test_run r ON r.id = j.test_run_id WHERE r.benchmark_run_id IN ({marks}) GROUP BY 1",
        tuple(run_ids),
    )
    return dict(rows.fetchall())


def name_current(db: Db, version: str, speaker: str, *, at: datetime) -> None:
    """Keeps that a person named the version as the one in use."""
    values = (version, speaker, to_millis(at))
    db.execute("INSERT INTO named_current (prompt_version_ref, named_by, at) VALUES (?, ?, ?)", values)


def last_named(db: Db, versions: Sequence[str]) -> str | None:
    """The version among those that a person named last as the one in use."""
    marks = ",".join("?" * len(versions))
    row = db.execute(
        f"SELECT prompt_version_ref FROM named_current WHERE prompt_version_ref IN ({marks}) ORDER BY seq DESC LIMIT 1",
        tuple(versions),
    ).fetchone()
    return None if row is None else row[0]


def first_kept(db: Db, versions: Sequence[str]) -> str | None:
    """The version among those that came into this store first; of one batch, the first in the order given."""
    marks = ",".join("?" * len(versions))
    rows = db.execute(
        "SELECT m.id, coalesce((SELECT min(e.at) FROM event e WHERE e.subject_id = m.id AND e.type = 'record-saved'), m.created_at)"
        f" FROM minion m WHERE m.id IN ({marks})",
        tuple(versions),
    )
    arrivals: dict[str, int] = dict(rows.fetchall())
    return min(
        (version for version in versions if version in arrivals), key=lambda version: arrivals[version], default=None
    )

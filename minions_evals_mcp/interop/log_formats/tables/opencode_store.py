"""The database in which opencode keeps its sessions: each one as its own export would be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import EvalsError, InvalidRecordError
from minions_evals_mcp.store.connection import Db, open_raw, translated

_TABLES = frozenset(("session", "message", "part", "project"))
_DAMAGED = "no sessions could be read from this database: copy it while opencode is not running, and import the copy"


def is_store(path: Path) -> bool:
    """Whether this is a database of opencode's."""
    try:
        with translated(path), closing(open_raw(path, read_only=True)) as db:
            names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    except EvalsError:
        return False
    return {name for (name,) in names} >= _TABLES


def exports(path: Path) -> Iterator[Json]:
    """Each session as an export, the oldest first. One that a sub-agent had follows its parent, which `info` names as `parentID`."""
    try:
        with translated(path), closing(open_raw(path, read_only=True)) as db:
            db.execute("BEGIN")  # one state of all tables, though opencode writes on
            names = {name for _, name, *_ in db.execute("PRAGMA table_info(session)")}
            parent_id = "parent_id" if "parent_id" in names else "NULL"  # not there in older ones
            columns = f"id, version, directory, {parent_id}"
            found = db.execute(f"SELECT {columns} FROM session ORDER BY time_created, id").fetchall()
            for ident, version, directory, parent in _families(found):
                info: Json = {"id": ident, "version": version, "directory": directory, "parentID": parent}
                yield {"info": info, "messages": [*_messages(db, str(ident))]}
    except InvalidRecordError:
        raise
    except EvalsError:
        raise InvalidRecordError(_DAMAGED) from None


def _families(found: Sequence[tuple[str, str, str, str | None]]) -> list[tuple[str, str, str, str | None]]:
    """The sessions in their order, but each behind the eldest of those that it descends from."""
    places = {ident: place for place, (ident, *_) in enumerate(found)}
    parents = {ident: parent for ident, *_, parent in found if parent in places}

    def eldest(ident: str) -> int:
        seen = {ident}
        while (parent := parents.get(ident)) is not None and parent not in seen:
            seen.add(parent)
            ident = parent
        return places[ident]

    return sorted(found, key=lambda row: (eldest(row[0]), places[row[0]]))


def _messages(db: Db, session: str) -> Iterator[Json]:
    parts: dict[str, list[JsonValue]] = {}
    for ident, message, data in db.execute(
        "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)
    ):
        parts.setdefault(str(message), []).append({**_parsed(data), "id": ident, "messageID": message})
    for ident, data in db.execute(
        "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
    ):
        yield {"info": {**_parsed(data), "id": ident}, "parts": parts.get(str(ident), [])}


def _parsed(data: object) -> Json:
    try:
        return obj(cast("JsonValue", json.loads(str(data))))
    except (ValueError, RecursionError):
        return {}

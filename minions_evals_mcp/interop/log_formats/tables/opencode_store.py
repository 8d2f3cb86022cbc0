"""The database in which opencode keeps its sessions: each one as its own export would be."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
    """Each session as an export, the oldest first; a session that a sub-agent had is one of its own."""
    try:
        with translated(path), closing(open_raw(path, read_only=True)) as db:
            db.execute("BEGIN")  # one state of all tables, though opencode writes on
            found = db.execute("SELECT id, version, directory FROM session ORDER BY time_created, id").fetchall()
            for ident, version, directory in found:
                info: Json = {"id": ident, "version": version, "directory": directory}
                yield {"info": info, "messages": [*_messages(db, str(ident))]}
    except InvalidRecordError:
        raise
    except EvalsError:
        raise InvalidRecordError(_DAMAGED) from None


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

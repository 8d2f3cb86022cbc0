"""The sources that are down, as the agent last found them: events of one subject, so that status reads few rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import from_millis, iso
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append

SUBJECT = "sources"
DOWN, UP = "source-down", "source-up"
LOOKED_AT = 500


@dataclass(frozen=True, slots=True)
class SourceDown:
    """A source that is down: since when, and why."""

    name: str
    since: datetime
    reason: str

    def wire(self) -> Json:
        """The source as it is told."""
        return {"source": self.name, "since": iso(self.since), "reason": self.reason}


def sources_down(db: Db) -> list[SourceDown]:
    """The sources that are down, the one that is so for longest first."""
    rows = db.execute(
        "SELECT type, at, detail FROM event WHERE subject_id = ? AND type IN (?, ?) ORDER BY seq DESC LIMIT ?",
        (SUBJECT, DOWN, UP, LOOKED_AT),
    )
    newest: dict[str, SourceDown | None] = {}
    for kind, at, detail in rows:
        detail_read = json.loads(detail)
        source = (
            SourceDown(detail_read["source"], from_millis(at), detail_read.get("reason", "")) if kind == DOWN else None
        )
        newest.setdefault(detail_read["source"], source)
    return sorted(
        (source for source in newest.values() if source is not None), key=lambda source: (source.since, source.name)
    )


def note_source(db: Db, name: str, *, reason: str | None, at: datetime) -> None:
    """Notes that a source went down, for that reason, or is up again; what is known already is not noted again."""
    is_down = any(source.name == name for source in sources_down(db))
    if is_down == (reason is not None):
        return
    detail: Json = {"source": name} if reason is None else {"source": name, "reason": reason}
    append(db, Event(UP if reason is None else DOWN, "source", SUBJECT, detail), at=at)

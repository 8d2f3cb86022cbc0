"""What is to be erased, and the count of what was."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

FORGOTTEN = "content-forgotten"
"""The event that says that content was erased: who asked, and how many rows it was in."""
ErasedKind = Literal["outputs", "agent-runs", "messages"]
ALL_KINDS: frozenset[ErasedKind] = frozenset({"outputs", "agent-runs", "messages"})


@dataclass(slots=True)
class Forgotten:
    """The number of rows that were changed, by table (records by their type), and of sealed cases that could not be searched.

    While a seal stands no rows are counted: their number would tell what a sealed case says, and which of them failed.
    """

    rows: dict[str, int] = field(default_factory=dict[str, int])
    encrypted: int = 0
    sealed: bool = False

    def add(self, kind: str, count: int = 1) -> None:
        """Counts changed rows."""
        if count and not self.sealed:
            self.rows[kind] = self.rows.get(kind, 0) + count


@dataclass(frozen=True, slots=True)
class ErasureScope:
    """What is to be erased: texts that hold the subject, a record's content, or what is from before a time. One is given.

    Of a time the `kinds` are erased: outputs with what was said of them, recorded agent-runs and traces, messages that are done
    with. `retention`: a rule of the settings asks, not a person.
    """

    subject: str | None = None
    record: str | None = None
    before: datetime | None = None
    kinds: frozenset[ErasedKind] = ALL_KINDS
    retention: bool = False

    def detail(self) -> dict[str, Any]:
        """What is kept of it: never the subject itself."""
        if self.record is not None:
            return {"what": "record", "record": self.record}
        if self.before is not None:
            what = "retention" if self.retention else "before"
            return {"what": what, "before": self.before.date().isoformat(), "kinds": sorted(self.kinds)}
        return {"what": "subject"}

"""A folder with a store, and the real daemon and command line as processes of their own."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, cast

from pydantic import JsonValue

from minions_evals_mcp.store.connection import open_raw
from tests.hang import HANG_S
from tests.shared.cli.clerk import CLERKS
from tests.shared.cli.standby import Asked, Forked
from tests.shared.store.command_line import ROOT, Told, clean_environment, measured

DAEMON = (sys.executable, "-m", "agent")
AGENT = "minions-eval-agent"
EVALS = "minions-evals"
Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Desk:
    """A folder of its own; `more` is added to an environment that holds nothing of the test's."""

    folder: Path
    more: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def db(self) -> Path:
        """The store's file."""
        return self.folder / "evals.db"

    def environment(self) -> dict[str, str]:
        """All that a process sees."""
        return {**clean_environment(self.folder), **measured(), "MINIONS_EVALS_DB": str(self.db), **self.more}

    def ran(self, program: str, *arguments: str, stdin: str = "", limit_s: float = HANG_S) -> Told:
        """How the command ended, in a process that is as one of its own."""
        asked = Asked([*arguments], str(self.folder), self.environment(), program)
        code, out, err = CLERKS.carried_out(asked, stdin.encode(), limit_s)
        return Told(code, out.decode(), err.decode())

    def drained(self, *messages: Json, options: Sequence[str] = (), limit_s: float = HANG_S) -> Told:
        """The daemon has done what those messages ask for, and all that follows from it."""
        lines = "".join(f"{json.dumps(one)}\n" for one in messages)
        told = self.ran(AGENT, "drain", "--stdin", *options, stdin=lines, limit_s=limit_s)
        assert told.code == 0, told.err
        return told

    def imported(self, *records: Json) -> None:
        """The records are in the store."""
        suite = self.folder / "suite.json"
        minions = [one for one in records if "sourceId" not in one]
        suite.write_text(json.dumps({"minions": minions, "relations": [one for one in records if "sourceId" in one]}))
        told = self.ran(EVALS, "import", str(suite))
        assert told.code == 0, told.err

    def status(self) -> Json:
        """What the agent says of itself."""
        told = self.ran(AGENT, "status", "--json")
        assert told.code == 0, told.err
        return cast("Json", json.loads(told.out))

    def sound(self) -> bool:
        """Whether `db check` finds nothing."""
        told = self.ran(EVALS, "db", "check")
        assert told.code == 0, told.out
        return True

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query on what is committed."""
        db = open_raw(self.db, read_only=True)
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.close()

    def fields(self, table: str, where: str, *values: object) -> Json:
        """The JSON part of the one row there."""
        (row,) = self.rows(
            f"SELECT {'fields' if table in {'minion', 'outbox'} else 'rest'} FROM {table} WHERE {where}", *values
        )
        return cast("Json", json.loads(row[0]))

    def result(self, message_id: str) -> Json:
        """What came of the message."""
        ((state, reason, result),) = self.rows("SELECT state, reason, result FROM inbox WHERE id = ?", message_id)
        assert state == "done", reason
        return cast("Json", json.loads(result))

    def dead(self, message_id: str) -> str:
        """Why the message is a dead letter."""
        ((state, reason),) = self.rows("SELECT state, reason FROM inbox WHERE id = ?", message_id)
        assert state == "dead"
        return cast("str", reason)

    @contextmanager
    def running(self, *arguments: str) -> Generator[Popen[bytes]]:
        """The daemon at work; ended by SIGTERM where the test did not end it."""
        asked = Asked(["run", *arguments], str(self.folder), self.environment(), AGENT)
        with Forked(asked, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
                    process.communicate(timeout=HANG_S)


def message(ident: str, kind: str, **payload: JsonValue) -> Json:
    """A message of the orchestrator's."""
    return {"id": ident, "type": kind, "payload": payload, "fromAgentId": "orchestrator"}


def record(ident: str, kind: str, **fields: JsonValue) -> Json:
    """A record as it stands in a suite file."""
    return {"id": ident, "type": kind, "fields": fields}


__all__ = ["AGENT", "DAEMON", "EVALS", "ROOT", "Desk", "Json", "message", "record"]

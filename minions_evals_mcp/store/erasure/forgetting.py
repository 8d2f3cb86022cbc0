"""Erasure: content is replaced by a tombstone in every table, and no byte of it stays in the file or its log.

Figures, verdicts, times and the fact of each record stay. The rules that rows are never changed are lifted for the one
transaction that does it, and stand again at its end.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ValidationError

from minions_evals_mcp.domain.records import TYPES, fields_from_json
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.errors import BadInputError, InvalidRecordError, NotFoundError, StoreError
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.connection import Db, open_raw, sqlite, translated
from minions_evals_mcp.store.erasure.spellings import ForgottenSubject
from minions_evals_mcp.store.erasure.tombstones import Change, Tombstone, leaves, mapped, parsed, written
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.migrate import require_store
from minions_evals_mcp.store.rows import TABLES, record_of, select
from minions_evals_mcp.store.sealed_content import is_encrypted
from minions_evals_mcp.store.veil import is_anything_sealed

FORGOTTEN = "content-forgotten"
"""The event that says that content was erased: who asked, and how many rows it was in."""
RECORDS = "minion"
"""The table of records: its rows are counted by their type."""
PROSE = frozenset({"title", "rationale", "reason", "override_reason", "said", "outputs"})
"""Columns of free text; any other text that is no JSON names something, and is replaced alike wherever it is named."""
KEPT_PREFIX = ("person:", "implicit:")
ErasedKind = Literal["outputs", "agent-runs", "messages"]
ALL_KINDS: frozenset[ErasedKind] = frozenset({"outputs", "agent-runs", "messages"})
_DATED = re.compile(r"forgotten@\d{4}-\d\d-\d\d")
_ID = re.compile(r"[A-Za-z0-9._:/@-]{1,128}")


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


def forget(path: Path, wanted: ErasureScope, *, at: datetime, by: str) -> Forgotten:
    """Erases what is wanted.

    Raises `NotFoundError` for a record that is not there, `BadInputError` for a text that is part of the format, `StoreError`
    where another program keeps the file's log from being emptied.
    """
    with translated(path):
        db = open_raw(path)
        try:
            require_store(db, path)
            db.execute("PRAGMA secure_delete = ON")
            db.execute("PRAGMA foreign_keys = OFF")
            changed = _erased(db, wanted, at=at, by=by)
            if changed is None:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # a round before may have found the log in use
                return Forgotten()
            _leave_no_byte(db, path)
        finally:
            db.close()
    return changed


def count_erasable(path: Path, wanted: ErasureScope, *, at: datetime) -> Forgotten:
    """Counts what `forget` would erase, and changes nothing. Raises as `forget` does."""
    with translated(path):
        db = open_raw(path)
        try:
            require_store(db, path)
            db.execute("PRAGMA foreign_keys = OFF")
            db.execute("BEGIN IMMEDIATE")
            try:
                return _swept(db, wanted, at=at)[0].changed
            except sqlite.IntegrityError as error:
                raise _part_of_the_format() from error
            finally:
                db.execute("ROLLBACK")
        finally:
            db.close()


def _swept(db: Db, wanted: ErasureScope, *, at: datetime) -> tuple[_Erasure, list[str]]:
    """The erasure, carried out in the open transaction without the store's rules, and the rules to put back."""
    row_digests.can_digest(db)
    erasure = _Erasure(Tombstone(f"forgotten@{at.date()}"))
    erasure.changed.sealed = is_anything_sealed(db)
    rules = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid").fetchall()
    for name, _ in rules:
        db.execute(f'DROP TRIGGER "{name}"')
    erasure.of(db, wanted)
    return erasure, [sql for _, sql in rules]


def _erased(db: Db, wanted: ErasureScope, *, at: datetime, by: str) -> Forgotten | None:
    """Erases in one transaction, without the rules that rows are never changed; they stand again at its end.

    None where a rule of the settings asks and nothing is too old: nothing is written then.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        erasure, rules = _swept(db, wanted, at=at)
        if wanted.retention and not erasure.touched:
            db.execute("ROLLBACK")
            return None
        _vet(db)
        for sql in rules:
            db.execute(sql)
        detail = {"by": by, **wanted.detail()}
        if not erasure.changed.sealed:
            detail["rows"] = sum(erasure.changed.rows.values())
        append(db, Event(FORGOTTEN, "store", "store", detail), at=at)
        row_digests.renew(db)
        db.execute("COMMIT")
    except BaseException as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if isinstance(error, sqlite.IntegrityError):
            raise _part_of_the_format() from error
        raise
    return erasure.changed


def _part_of_the_format() -> BadInputError:
    return BadInputError(
        "the text is also a word of the stored format, so erasing it would make records unreadable.",
        remedy="Give a longer text, such as the whole name.",
    )


def _vet(db: Db) -> None:
    """Raises where a record could not be read any more."""
    if db.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise _part_of_the_format()
    try:
        for kind, fields in db.execute("SELECT type, fields FROM minion WHERE fields LIKE '%forgotten@%'"):
            if not is_encrypted(fields):
                fields_from_json(TYPES[kind], fields)
        for table in TABLES.values():
            for row in db.execute(
                select(table, "rest LIKE '%forgotten@%'" if table.has_rest else "rationale LIKE 'forgotten@%'")
            ):
                record_of(table, row)
    except (ValidationError, InvalidRecordError, ValueError) as error:
        raise _part_of_the_format() from error


def _leave_no_byte(db: Db, path: Path) -> None:
    """Writes the file anew without what was let go, and empties its log."""
    db.execute("VACUUM")
    row = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if row is not None and row[0]:
        raise StoreError(
            f"the content is erased, but another program is reading {path.name}, so its log could not be emptied.",
            remedy="Stop the server, the agent and the page, and run the same command again.",
        )


class _Erasure:
    """The erasure of one call: what it puts in place, and what it counted."""

    def __init__(self, tombstone: Tombstone) -> None:
        self.tombstone = tombstone
        self.changed = Forgotten()
        self.touched = 0
        """So many rows, under a seal too."""
        self._names: dict[str, str] = {}
        """Names that held the text, with those that stand in their place everywhere."""
        self._subject = ForgottenSubject("", "")
        self._counted: set[int] = set()
        """The rows that were counted: one with two texts is one row."""
        self._keys: dict[str, str] = {}

    def of(self, db: Db, wanted: ErasureScope) -> None:
        """Erases what is wanted."""
        if wanted.subject is not None:
            self.of_subject(db, wanted.subject)
        elif wanted.record is not None:
            self.of_record(db, wanted.record)
        else:
            assert wanted.before is not None, "one of them is given"
            self.of_time(db, to_millis(wanted.before), wanted.kinds, pending=not wanted.retention)

    def of_subject(self, db: Db, subject: str) -> None:
        """Erases every text that holds the subject, and the whole of each output and agent-run that does."""
        self._subject = ForgottenSubject.of(subject)

        def holds(text: object) -> bool:
            return text is not None and self._holds_stored(str(text))

        db.create_function("holds", 1, holds, deterministic=True)
        outputs = self._outputs_with(db)
        runs = self._agent_runs_with(db)
        self._drop(db, "trace_reading", "holds(note)", ())
        for ident in self._names_with(db):
            self._named(ident)
        for table, columns in _text_columns(db).items():
            for column in columns:
                self._sweep(db, table, column)
        self._erase_outputs(db, [self._names.get(ident, ident) for ident in outputs])
        self._erase_agent_runs(db, [self._names.get(ident, ident) for ident in runs])
        sealed = "SELECT fields FROM minion WHERE id IN (SELECT case_id FROM sealed_case WHERE ended_at IS NULL)"
        self.changed.encrypted = sum(is_encrypted(fields) for (fields,) in db.execute(sealed))

    def _holds(self, text: str) -> bool:
        return self._subject.is_in(text)

    def _holds_stored(self, stored: str) -> bool:
        """Whether a column's text holds the subject, written with escapes or without."""
        if self._holds(stored):
            return True
        return "\\" in stored and any(self._holds(leaf) for leaf in leaves(parsed(stored)))

    def _outputs_with(self, db: Db) -> list[str]:
        """The test-runs whose output or reasons hold the subject."""
        found = [ident for ident, rest in db.execute("SELECT id, rest FROM test_run") if self._holds_stored(rest)]
        of_units = db.execute("SELECT test_run_id, output, reason FROM unit WHERE test_run_id IS NOT NULL")
        found += [
            ident for ident, output, reason in of_units if self._holds_stored(f"{output or ''}") or self._holds(reason)
        ]
        said = db.execute("SELECT test_run_id, rationale FROM eval_judgment")
        found += [ident for ident, rationale in said if self._holds(rationale)]
        return [*dict.fromkeys(found)]

    def _agent_runs_with(self, db: Db) -> list[str]:
        rows = db.execute("SELECT id, fields FROM minion WHERE type IN ('agent-run', 'proposal-draft')")
        return [ident for ident, fields in rows if self._holds_stored(fields)]

    def _names_with(self, db: Db) -> list[str]:
        """Ids, keys and people's names that hold the subject, the shortest first: longer ones are made of them."""
        queries = ("SELECT id FROM minion", "SELECT id FROM job", "SELECT key FROM job", "SELECT name FROM person",
                   "SELECT id FROM inbox", "SELECT id FROM benchmark_run", "SELECT id FROM test_run")  # fmt: skip
        found = {row[0] for query in queries for row in db.execute(query) if self._holds(row[0])}
        return sorted(found, key=len)

    def _named(self, name: str) -> str:
        """The name that stands in place of one that held the subject."""
        known = self._names.get(name)
        if known is not None:
            return known
        prefix = next((start for start in KEPT_PREFIX if name.startswith(start) and not self._holds(start)), "")
        made = name
        for old in sorted(self._names, key=len, reverse=True):
            made = made.replace(old, self._names[old])
        if self._holds(made):
            made = f"{prefix}{self.tombstone.text}/{secrets.token_hex(4)}"
        self._names[name] = made
        return made

    def _leaf(self, text: str) -> str:
        """A text of a document: a name as it is called now, else the tombstone."""
        if not self._holds(text):
            return text
        if text in self._names:
            return self._names[text]
        if _ID.fullmatch(text) and any(old in text for old in self._names):
            return self._named(text)
        return self.tombstone.text

    def _sweep(self, db: Db, table: str, column: str) -> None:
        def without(text: object) -> str:
            return self._without(str(text), column)

        db.create_function("without", 1, without, deterministic=True)
        self._change(db, table, f'"{column}" = without("{column}") WHERE holds("{column}")', ())

    def _change(self, db: Db, table: str, change: str, wanted: tuple[Any, ...]) -> None:
        """Updates the rows of a table, and counts each once."""
        rows = db.execute(f'UPDATE "{table}" SET {change} RETURNING {self._key(db, table)}', wanted).fetchall()
        self.touched += len(rows)
        for row in rows:
            key = hash((table, *row))
            if key not in self._counted:
                self._counted.add(key)
                self.changed.add(row[-1] if table == RECORDS else table)

    def _key(self, db: Db, table: str) -> str:
        """The columns that tell the rows of a table apart; of records also the type."""
        if table not in self._keys:
            (sql,) = db.execute("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).fetchone()
            parts = [name for _, name, _, _, _, part in db.execute(f'PRAGMA table_info("{table}")') if part]
            key = ", ".join(f'"{part}"' for part in parts) if "WITHOUT ROWID" in sql else "rowid"
            self._keys[table] = f"{key}, type" if table == RECORDS else key
        return self._keys[table]

    def _without(self, stored: str, column: str) -> str:
        if stored[:1] in "{[" and (document := parsed(stored)) is not None:
            return written(mapped(document, self._leaf, keys=True))
        return self.tombstone.text if column in PROSE else self._named(stored)

    def of_record(self, db: Db, ident: str) -> None:
        """Erases the content of a record, and of every output, judgment and message that is about it."""
        minion = db.execute("SELECT type FROM minion WHERE id = ?", (ident,)).fetchone()
        job = db.execute("SELECT id FROM job WHERE id = ?1 OR key = ?1", (ident,)).fetchone()
        run = db.execute("SELECT id FROM test_run WHERE id = ?", (ident,)).fetchone()
        if minion is None and job is None and run is None:
            raise NotFoundError("record, run or test-run", ident, remedy="Use its full id.")
        about = [ident]
        if minion is not None:
            self._erase_minion(db, ident, minion[0])
            about += _column(db, "SELECT id FROM test_run WHERE test_case_id = ?1 OR agent_run_id = ?1", ident)
            self._erase_units(db, "case_id = ?", (ident,))
        if job is not None:
            about += _column(db, "SELECT test_run_id FROM unit WHERE job_id = ? AND test_run_id IS NOT NULL", job[0])
            self._erase_units(db, "job_id = ?", (job[0],))
        if run is not None:
            about.append(run[0])
        about = [*dict.fromkeys(about)]
        digests = _column(
            db,
            "SELECT rest ->> '$.digests.testCase' FROM test_run WHERE id IN (SELECT value FROM json_each(?))",
            json.dumps(about),
        )
        self._update(
            db,
            "expected",
            "outputs",
            self.tombstone.expected,
            "case_digest IN (SELECT value FROM json_each(?))",
            (json.dumps(digests),),
        )
        self._erase_outputs(db, about)
        self._erase_messages(db, about)

    def of_time(self, db: Db, until: int, kinds: Collection[ErasedKind], *, pending: bool) -> None:
        """Erases the content of those kinds from before that time; messages that still wait for their turn only if `pending`."""
        if "outputs" in kinds:
            self._of_old_outputs(db, until)
        if "agent-runs" in kinds:
            recorded = "SELECT id FROM minion WHERE type IN ('agent-run', 'proposal-draft') AND created_at < ?"
            self._erase_agent_runs(db, _column(db, recorded, until))
            self._drop(db, "trace_reading", "read_at < ?", (until,))
            self._drop(db, "telemetry", "came_at < ?", (until,), counted=False)
        if "messages" in kinds:
            done = "" if pending else " AND state <> 'pending'"
            self._update(db, "inbox", "payload", self.tombstone.document, f"sent_at < ?{done}", (until,))
            self._update(db, "inbox", "result", self.tombstone.document, "sent_at < ? AND result IS NOT NULL", (until,))
            self._update(db, "outbox", "fields", self.tombstone.document, "created_at < ?", (until,))
            self._update(db, "event", "detail", self.tombstone.document, f"at < ? AND type <> '{FORGOTTEN}'", (until,))

    def _of_old_outputs(self, db: Db, until: int) -> None:
        """Erases the outputs of runs from before that time, and what was said of them."""
        runs = _column(db, "SELECT id FROM test_run WHERE ran_at < ?", until)
        self._erase_outputs(db, runs)
        self._erase_units(db, "job_id IN (SELECT id FROM job WHERE updated_at < ?)", (until,))
        self._update(db, "probe_verdict", "said", self.tombstone.document, "judged_at < ?", (until,))
        self._update(db, "test_branch_execution", "rest", self.tombstone.execution, "created_at < ?", (until,))
        self._update(db, "failure_cause", "title", lambda _: self.tombstone.text, "last_at < ?", (until,))
        judged = "(SELECT rest ->> '$.digests.testCase' FROM test_run WHERE ran_at {} ?)"
        old = f"case_digest IN {judged.format('<')} AND case_digest NOT IN {judged.format('>=')}"
        self._update(db, "expected", "outputs", self.tombstone.expected, old, (until, until))

    def _erase_minion(self, db: Db, ident: str, kind: str) -> None:
        if kind in {"agent-run", "proposal-draft"}:
            self._erase_agent_runs(db, [ident])
            return
        self._update(db, "minion", "fields", self._minion, "id = ?", (ident,))
        self._update(db, "minion", "title", lambda _: self.tombstone.text, "id = ?", (ident,))

    def _minion(self, stored: str) -> str:
        """A record's fields without its words: names of other records, numbers and kinds stay."""
        document = cast("dict[str, Any]", parsed(stored))
        kept = {"promptId", "promptVersionRef", "rubricId", "agentId", "skillId", "status", "passRule", "createdAt", "createdBy",
                "type", "judgeType", "criteriaIds", "testCaseIds", "testCaseId", "provider", "model", "ownerId", "schedule", "group",
                "world"}  # fmt: skip
        emptied: dict[str, Any] = {}
        for key, value in document.items():
            if key in kept:
                emptied[key] = value
            elif key in {"assertions", "everyTurn", "agentTurns", "turns", "conversation"}:
                emptied[key] = self._checks(value) if key != "conversation" else {"opening": self.tombstone.text}
            elif key == "inputs" or (key == "expectedOutputs" and value):
                emptied[key] = {"forgotten": self.tombstone.text}
            elif key in {"tags", "acceptedOutputs", "extra", "written", "faults"}:
                emptied[key] = [] if isinstance(value, list) else {} if isinstance(value, dict) else None
            else:
                emptied[key] = mapped(value, lambda _: self.tombstone.text)
        return written(emptied)

    def _checks(self, value: Any) -> Any:
        """The checks of a case, or those of its turns by number."""
        if isinstance(value, dict):
            return {number: self._checks(checks) for number, checks in cast("dict[str, Any]", value).items()}
        return [self._assertion(part) for part in cast("list[dict[str, Any]]", value)]

    def _assertion(self, part: dict[str, Any]) -> dict[str, Any]:
        whole = {**part, "value": mapped(part.get("value"), lambda _: self.tombstone.text)}
        if part.get("assert"):
            whole["assert"] = [self._assertion(inner) for inner in part["assert"]]
        return whole

    def _erase_agent_runs(self, db: Db, idents: Sequence[str]) -> None:
        chosen = "id IN (SELECT value FROM json_each(?)) AND type IN ('agent-run', 'proposal-draft')"
        self._update(db, "minion", "fields", self.tombstone.agent_run, chosen, (json.dumps(idents),))
        self._update(db, "minion", "title", lambda _: self.tombstone.text, chosen, (json.dumps(idents),))
        self._drop(db, "trace_reading", "trace_id IN (SELECT value FROM json_each(?))", (json.dumps(idents),))
        judged = "SELECT id FROM test_run WHERE agent_run_id IN (SELECT value FROM json_each(?))"
        self._erase_outputs(db, _column(db, judged, json.dumps(idents)))

    def _erase_outputs(self, db: Db, idents: Iterable[str]) -> None:
        """Erases the outputs of those test-runs, and what was said of them."""
        wanted = (json.dumps([*idents]),)
        chosen = "IN (SELECT value FROM json_each(?))"
        self._update(db, "test_run", "rest", self.tombstone.test_run, f"id {chosen}", wanted)
        self._update(db, "eval_judgment", "rationale", lambda _: self.tombstone.text, f"test_run_id {chosen}", wanted)
        self._update(db, "eval_failure", "rest", self.tombstone.failure, f"test_run_id {chosen}", wanted)
        self._erase_units(db, f"test_run_id {chosen}", wanted)
        causes = f"SELECT rest ->> '$.causeKey' FROM eval_failure WHERE test_run_id {chosen}"
        self._update(db, "failure_cause", "title", lambda _: self.tombstone.text, f"cause_key IN ({causes})", wanted)

    def _erase_units(self, db: Db, chosen: str, wanted: tuple[Any, ...]) -> None:
        said = (
            "EXISTS (SELECT 1 FROM unit u WHERE u.job_id = verdict.job_id AND u.position = verdict.position"
            f" AND u.trial = verdict.trial AND u.{chosen})"
        )
        self._update(db, "verdict", "said", self.tombstone.verdict, said, wanted)
        self._update(db, "unit", "output", self.tombstone.unit_output, f"output IS NOT NULL AND {chosen}", wanted)
        self._update(db, "unit", "reason", lambda _: self.tombstone.text, f"reason <> '' AND {chosen}", wanted)
        of_talks = said.replace("verdict.", "talk.")
        self._update(db, "talk", "said", lambda _: written({}), of_talks, wanted)
        of_labels = said.replace("verdict.", "user_label.")
        self._update(db, "user_label", "reason", lambda _: self.tombstone.text, of_labels, wanted)
        of_notes = said.replace("verdict.", "output_note.")
        self._update(db, "output_note", "reason", lambda _: self.tombstone.text, of_notes, wanted)
        db.execute(f"UPDATE unit SET packet = NULL WHERE packet IS NOT NULL AND {chosen}", wanted)

    def _erase_messages(self, db: Db, about: Sequence[str]) -> None:
        """Erases the prose of messages, events and audits that name one of those records."""
        wanted = set(about)

        def names_one(text: object) -> bool:
            return text is not None and not wanted.isdisjoint(leaves(parsed(str(text))))

        for table, column in (
            ("event", "detail"),
            ("outbox", "fields"),
            ("inbox", "payload"),
            ("inbox", "result"),
            ("audit", "rest"),
        ):
            db.create_function("names_one", 1, names_one, deterministic=True)
            chosen = f"names_one({column})"
            if table == "event":
                chosen = f"({chosen} OR subject_id IN (SELECT value FROM json_each(?)))"
            self._update(
                db, table, column, self.tombstone.document, chosen, (json.dumps(about),) if table == "event" else ()
            )

    def _drop(self, db: Db, table: str, chosen: str, wanted: tuple[Any, ...], *, counted: bool = True) -> None:
        """Deletes rows that are nothing but content."""
        gone = db.execute(f"DELETE FROM {table} WHERE {chosen}", wanted).rowcount
        self.touched += gone
        if counted:
            self.changed.add(table, gone)

    def _update(self, db: Db, table: str, column: str, change: Change, chosen: str, wanted: tuple[Any, ...]) -> None:
        """Empties the column where it is not empty already: what was erased before keeps the day of it."""

        def emptied(text: object) -> str:
            made = change(str(text))
            return str(text) if _DATED.sub("", made) == _DATED.sub("", str(text)) else made

        db.create_function("emptied", 1, emptied)
        kept = f"{column} = emptied({column}) WHERE {chosen} AND emptied({column}) IS NOT {column}"
        self._change(db, table, kept, wanted)


def _text_columns(db: Db) -> dict[str, list[str]]:
    """The columns of every table that may hold a text of somebody's."""
    return {
        source.table: [name for name in (*source.texts, *source.nullable) if _is_text(db, source.table, name)]
        for source in row_digests.sources(db)
    }


def _is_text(db: Db, table: str, column: str) -> bool:
    kinds = {name: kind for _, name, kind, *_ in db.execute(f'PRAGMA table_info("{table}")')}
    return kinds[column] == "TEXT" and not column.endswith("digest") and column != "token_hash"


def _column(db: Db, query: str, *wanted: object) -> list[str]:
    return [row[0] for row in db.execute(query, wanted) if row[0] is not None]

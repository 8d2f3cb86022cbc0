"""The sweep: what is wanted is replaced in every table of an open transaction, and each changed row is counted once."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast

from minions_evals_mcp.domain.outputs import ERASED, TOMBSTONE
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.erasure.scope import FORGOTTEN, ErasedKind, ErasureScope, Forgotten
from minions_evals_mcp.store.erasure.spellings import ForgottenSubject
from minions_evals_mcp.store.erasure.tombstones import Change, Tombstone, leaves, mapped, parsed, written
from minions_evals_mcp.store.sealed_content import is_encrypted

RECORDS = "minion"
"""The table of records: its rows are counted by their type."""
PROSE = frozenset({"title", "rationale", "reason", "override_reason", "said", "outputs"})
"""Columns of free text; any other text that is no JSON names something, and is replaced alike wherever it is named."""
KEPT_PREFIX = ("person:", "implicit:")
_ID = re.compile(r"[A-Za-z0-9._:/@-]{1,128}")


class Erasure:
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
            return text is not None and self._holds(str(text))

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

    def _outputs_with(self, db: Db) -> list[str]:
        """The test-runs whose output or reasons hold the subject."""
        found = [ident for ident, rest in db.execute("SELECT id, rest FROM test_run") if self._holds(rest)]
        of_units = db.execute("SELECT test_run_id, output, reason FROM unit WHERE test_run_id IS NOT NULL")
        found += [ident for ident, output, reason in of_units if self._holds(f"{output or ''}") or self._holds(reason)]
        said = db.execute("SELECT test_run_id, rationale FROM eval_judgment")
        found += [ident for ident, rationale in said if self._holds(rationale)]
        return [*dict.fromkeys(found)]

    def _agent_runs_with(self, db: Db) -> list[str]:
        rows = db.execute("SELECT id, fields FROM minion WHERE type IN ('agent-run', 'proposal-draft')")
        return [ident for ident, fields in rows if self._holds(fields)]

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
            self._erase_ends(db, "id = ?", job[0])
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
            self._erase_reasons(db, "inbox", f"sent_at < ?{done}", (until,))
            self._erase_reasons(db, "delivery", f"seq IN (SELECT seq FROM outbox WHERE created_at < ?){done}", (until,))
            self._update(db, "outbox", "fields", self.tombstone.document, "created_at < ?", (until,))
            self._update(db, "event", "detail", self.tombstone.document, f"at < ? AND type <> '{FORGOTTEN}'", (until,))

    def _of_old_outputs(self, db: Db, until: int) -> None:
        """Erases the outputs of runs from before that time, and what was said of them."""
        runs = _column(db, "SELECT id FROM test_run WHERE ran_at < ?", until)
        self._erase_outputs(db, runs)
        self._erase_units(db, "job_id IN (SELECT id FROM job WHERE updated_at < ?)", (until,))
        self._update(db, "probe_verdict", "said", self.tombstone.document, "judged_at < ?", (until,))
        self._update(db, "test_branch_execution", "rest", self.tombstone.execution, "created_at < ?", (until,))
        self._update(db, "failure_cause", "title", self.tombstone.words, "last_at < ?", (until,))
        self._update(db, "audit", "rest", self.tombstone.document, "audited_at < ?", (until,))
        self._erase_ends(db, "updated_at < ?", until)
        judged = "(SELECT rest ->> '$.digests.testCase' FROM test_run WHERE ran_at {} ?)"
        old = f"case_digest IN {judged.format('<')} AND case_digest NOT IN {judged.format('>=')}"
        self._update(db, "expected", "outputs", self.tombstone.expected, old, (until, until))

    def _erase_minion(self, db: Db, ident: str, kind: str) -> None:
        if kind in {"agent-run", "proposal-draft"}:
            self._erase_agent_runs(db, [ident])
            return
        self._update(db, "minion", "fields", self._minion, "id = ?", (ident,))
        self._update(db, "minion", "title", self.tombstone.words, "id = ?", (ident,))

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
                emptied[key] = {ERASED: self.tombstone.text}
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
        self._update(db, "minion", "title", self.tombstone.words, chosen, (json.dumps(idents),))
        self._drop(db, "trace_reading", "trace_id IN (SELECT value FROM json_each(?))", (json.dumps(idents),))
        judged = "SELECT id FROM test_run WHERE agent_run_id IN (SELECT value FROM json_each(?))"
        self._erase_outputs(db, _column(db, judged, json.dumps(idents)))

    def _erase_outputs(self, db: Db, idents: Iterable[str]) -> None:
        """Erases the outputs of those test-runs, and what was said of them."""
        wanted = (json.dumps([*idents]),)
        chosen = "IN (SELECT value FROM json_each(?))"
        self._update(db, "test_run", "rest", self.tombstone.test_run, f"id {chosen}", wanted)
        self._update(db, "eval_judgment", "rationale", self.tombstone.words, f"test_run_id {chosen}", wanted)
        self._update(db, "eval_failure", "rest", self.tombstone.failure, f"test_run_id {chosen}", wanted)
        self._erase_units(db, f"test_run_id {chosen}", wanted)
        causes = f"SELECT rest ->> '$.causeKey' FROM eval_failure WHERE test_run_id {chosen}"
        self._update(db, "failure_cause", "title", self.tombstone.words, f"cause_key IN ({causes})", wanted)

    def _erase_units(self, db: Db, chosen: str, wanted: tuple[Any, ...]) -> None:
        said = (
            "EXISTS (SELECT 1 FROM unit u WHERE u.job_id = verdict.job_id AND u.position = verdict.position"
            f" AND u.trial = verdict.trial AND u.{chosen})"
        )
        self._update(db, "verdict", "said", self.tombstone.verdict, said, wanted)
        self._update(db, "unit", "output", self.tombstone.unit_output, f"output IS NOT NULL AND {chosen}", wanted)
        self._update(db, "unit", "reason", self.tombstone.words, f"reason <> '' AND {chosen}", wanted)
        of_talks = said.replace("verdict.", "talk.")
        self._update(db, "talk", "said", lambda _: written({}), of_talks, wanted)
        of_labels = said.replace("verdict.", "user_label.")
        self._update(db, "user_label", "reason", self.tombstone.words, of_labels, wanted)
        of_notes = said.replace("verdict.", "output_note.")
        self._update(db, "output_note", "reason", self.tombstone.words, of_notes, wanted)
        db.execute(f"UPDATE unit SET packet = NULL WHERE packet IS NOT NULL AND {chosen}", wanted)

    def _erase_ends(self, db: Db, chosen: str, wanted: object) -> None:
        """Erases why runs ended as they did: an error may repeat what it refused."""
        self._update(db, "job", "reason", self.tombstone.words, f"{chosen} AND reason <> ''", (wanted,))

    def _erase_reasons(self, db: Db, table: str, chosen: str, wanted: tuple[Any, ...]) -> None:
        """Erases why messages or deliveries failed and were dismissed: an error may repeat what it refused."""
        for column in ("reason", "dismissed"):
            self._update(db, table, column, self.tombstone.words, f"{column} <> '' AND {chosen}", wanted)

    def _erase_messages(self, db: Db, about: Sequence[str]) -> None:
        """Erases the prose of messages, events and audits that name one of those records."""
        wanted = set(about)

        def names_one(text: object) -> bool:
            return text is not None and not wanted.isdisjoint(leaves(parsed(str(text))))

        db.create_function("names_one", 1, names_one, deterministic=True)
        of_outbox = "seq IN (SELECT seq FROM outbox WHERE names_one(fields))"
        self._erase_reasons(db, "inbox", "(names_one(payload) OR names_one(result))", ())
        self._erase_reasons(db, "delivery", of_outbox, ())
        for table, column in (
            ("event", "detail"),
            ("outbox", "fields"),
            ("inbox", "payload"),
            ("inbox", "result"),
            ("audit", "rest"),
        ):
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
            return str(text) if TOMBSTONE.sub("", made) == TOMBSTONE.sub("", str(text)) else made

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

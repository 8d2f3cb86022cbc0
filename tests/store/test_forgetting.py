"""Erasure leaves no byte: a canary in every text that a row can hold is gone from the file and its log."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, urlencode

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.errors import BadInputError, EvalsError, NotFoundError
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.connection import Db, open_raw, sqlite
from minions_evals_mcp.store.discovery.trace_readings import keep_reading, readings_of
from minions_evals_mcp.store.erasure.forgetting import count_erasable, forget
from minions_evals_mcp.store.erasure.scope import ErasedKind, ErasureScope
from minions_evals_mcp.store.rows import TABLES, record_of, select
from tests.shared.store.file_bytes import bytes_of

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
CANARY = "Zqxcanary Löwe"
NAMES = ("id", "key", "_id", "_ref", "version_a", "version_b", "winner", "name", "series", "judged_alike", "source")
"""Columns that name something: a name is changed everywhere at once, which `test_a_name_is_another_one_everywhere` tries."""


def written(path: Path, change: Callable[[Db], None]) -> None:
    """Changes rows behind the store's rules, as only a test may."""
    with closing(open_raw(path)) as db:
        row_digests.can_digest(db)
        rules = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid").fetchall()
        db.execute("BEGIN")
        for name, _ in rules:
            db.execute(f'DROP TRIGGER "{name}"')
        change(db)
        for _, sql in rules:
            db.execute(sql)
        row_digests.renew(db)
        db.execute("COMMIT")


def in_every_leaf(value: JsonValue, fits: Callable[[JsonValue], bool]) -> JsonValue:
    """The document with the canary in each text that may be any text."""
    whole = value

    def places(part: JsonValue, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        if isinstance(part, str):
            return [path]
        steps: list[tuple[Any, JsonValue]] = (
            [*part.items()] if isinstance(part, dict) else [*enumerate(part)] if isinstance(part, list) else []
        )
        return [found for step, inner in steps for found in places(inner, (*path, step))]

    for place in places(value):
        tried = json.loads(json.dumps(whole))
        holder = tried
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = f"{holder[place[-1]]} {CANARY}"
        if fits(tried):
            whole = tried
    return whole


def fits_minion(kind: str) -> Callable[[JsonValue], bool]:
    def fits(fields: JsonValue) -> bool:
        with suppress(ValueError, EvalsError):
            TYPES[kind].model_validate_json(json.dumps(fields))
            return True
        return False

    return fits


def is_readable(table: str, row: dict[str, Any]) -> bool:
    """Whether the row is a record that can be read; of a table that holds no records any row is."""
    typed = next((typed for typed in TABLES.values() if typed.name == table), None)
    if typed is None:
        return True
    with closing(sqlite.connect(":memory:")) as db:
        columns = ", ".join(f'"{name}"' for name in row)
        db.execute(f"CREATE TABLE {table} ({columns})")
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
        with suppress(ValueError, EvalsError):
            record_of(typed, db.execute(select(typed, "1")).fetchone())
            return True
    return False


def fits_row(table: str, row: dict[str, Any], column: str) -> Callable[[JsonValue], bool]:
    return lambda value: is_readable(table, {**row, column: json.dumps(value)})


def is_json(text: str) -> bool:
    with suppress(ValueError):
        json.loads(text)
        return True
    return False


def put_canaries(db: Db) -> None:
    """Writes the canary into every text of every row that may hold any text."""
    for source in row_digests.sources(db):
        columns = [name for _, name, kind, *_ in db.execute(f"PRAGMA table_info({source.table})") if kind == "TEXT"]
        free = [
            name
            for name in columns
            if not name.endswith(NAMES) and not name.endswith("digest") and name not in source.keys
        ]
        rows = db.execute(f"SELECT * FROM {source.table}").fetchall()
        names = [name for _, name, *_ in db.execute(f"PRAGMA table_info({source.table})")]
        for row in rows:
            held = dict(zip(names, row, strict=True))
            known = " AND ".join(f"{key} IS ?" for key in source.keys)
            for column in free:
                value = held[column]
                if value is None:
                    continue
                if value[:1] in "{[" and is_json(value):
                    fits = (
                        fits_minion(held["type"])
                        if (source.table, column) == ("minion", "fields")
                        else fits_row(source.table, held, column)
                    )
                    value = json.dumps(in_every_leaf(json.loads(value), fits), ensure_ascii=False)
                else:
                    value = f"{value} {CANARY}"
                    if not is_readable(source.table, {**held, column: value}):
                        continue
                with suppress(sqlite.IntegrityError):  # a column of a few words
                    db.execute(
                        f"UPDATE {source.table} SET {column} = ? WHERE {known}",
                        (value, *(held[key] for key in source.keys)),
                    )


@pytest.mark.parametrize("told", [CANARY, CANARY.upper(), "zqxcanary"])
def test_a_canary_in_every_text_of_every_row_leaves_no_byte(small_store: Path, told: str) -> None:
    written(small_store, put_canaries)
    with closing(open_raw(small_store, read_only=True)) as db:
        before = {
            source.table: db.execute(f"SELECT count(*) FROM {source.table}").fetchone()[0]
            for source in row_digests.sources(db)
        }
        figures = db.execute("SELECT id, passed, total_score FROM test_run ORDER BY seq").fetchall()
    assert bytes_of(small_store).count(b"Zqxcanary") > 50
    as_it_was = bytes_of(small_store)
    counted = count_erasable(small_store, ErasureScope(told), at=NOW)
    assert bytes_of(small_store) == as_it_was
    erased = forget(small_store, ErasureScope(told), at=NOW, by="ada")
    assert erased == counted
    assert sum(erased.rows.values()) > 20
    assert b"zqxcanary" not in bytes_of(small_store).lower()
    with closing(open_raw(small_store)) as db:
        row_digests.can_digest(db)
        after = {
            source.table: db.execute(f"SELECT count(*) FROM {source.table}").fetchone()[0]
            for source in row_digests.sources(db)
        }
        assert after == {**before, "event": before["event"] + 1}
        assert db.execute("SELECT id, passed, total_score FROM test_run ORDER BY seq").fetchall() == figures
        assert not [line for source in row_digests.sources(db) for line in row_digests.damage(db, source, most=3)]
        detail = json.loads(db.execute("SELECT detail FROM event ORDER BY seq DESC LIMIT 1").fetchone()[0])
        assert (detail["by"], detail["what"]) == ("ada", "subject")
        with pytest.raises(sqlite.IntegrityError, match="HR1"):
            db.execute("DELETE FROM test_run")


def test_escaped_texts_are_found(small_store: Path) -> None:
    def put(db: Db) -> None:
        db.execute("UPDATE event SET detail = ? WHERE seq = 1", (json.dumps({"text": "of Zqxcanary Löwe"}),))

    written(small_store, put)
    assert forget(small_store, ErasureScope("canary löwe"), at=NOW, by="ada").rows == {"event": 1}
    assert b"Zqxcanary" not in bytes_of(small_store)


SPELLINGS = {
    "other code points": normalize("NFD", CANARY),
    "capitals": CANARY.upper(),
    "escaped in a text": json.dumps({"who": CANARY}),
    "escaped twice": json.dumps({"call": json.dumps({"who": CANARY})}),
    "in an address": f"https://example.org/?q={quote(CANARY)}",
    "in a form": urlencode({"who": CANARY}),
    "in a page": CANARY.encode("ascii", "xmlcharrefreplace").decode(),
    "in an address in a text": json.dumps({"url": "https://example.org/é?q=" + quote(CANARY)}),
    "over two lines": CANARY.replace(" ", "\n  "),
    "with a hard space": CANARY.replace(" ", "\u00a0"),
    "with a face": json.dumps("Löwe \U0001f981"),
    "in other letters": json.dumps("Лев Толстой"),
}
SUBJECTS = {"with a face": "Löwe \U0001f981", "in other letters": "лев толстой"}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_subject_is_found_however_it_is_written(small_store: Path, spelling: str) -> None:
    held = f"MARK{SPELLINGS[spelling]}"
    subject = SUBJECTS.get(spelling, CANARY)

    def put(db: Db) -> None:
        db.execute(
            "UPDATE event SET detail = ? WHERE seq = 1", (json.dumps({"text": held, "kept": "A+B 100 % & more"}),)
        )
        db.execute("UPDATE minion SET title = ? WHERE seq = 1", (held,))
        db.execute("UPDATE eval_judgment SET rationale = ? WHERE seq = 1", (held,))
        db.execute(
            "UPDATE test_run SET rest = json_set(rest, '$.actualOutput', json(?)) WHERE seq = 1",
            (json.dumps({"output": held}, ensure_ascii=False),),
        )

    written(small_store, put)
    assert b"MARK" in bytes_of(small_store)
    forget(small_store, ErasureScope(subject), at=NOW, by="ada")
    assert b"MARK" not in bytes_of(small_store)
    assert b"A+B 100 % & more" in bytes_of(small_store)


def test_a_space_at_the_end_of_a_subject_counts(small_store: Path) -> None:
    def put(db: Db) -> None:
        db.execute("UPDATE event SET detail = ? WHERE seq = 1", ('{"text":"Zqxcanaryson"}',))

    written(small_store, put)
    assert forget(small_store, ErasureScope("Zqxcanary "), at=NOW, by="ada").rows == {}
    assert b"Zqxcanaryson" in bytes_of(small_store)


def test_what_is_a_word_of_the_format_is_refused_and_changes_nothing(small_store: Path) -> None:
    before = bytes_of(small_store)
    with pytest.raises(BadInputError, match="also a word of the stored format"):
        forget(small_store, ErasureScope("scored"), at=NOW, by="ada")
    with pytest.raises(NotFoundError):
        forget(small_store, ErasureScope(record="nobody"), at=NOW, by="ada")
    assert len(bytes_of(small_store)) >= len(before) > 0
    with closing(open_raw(small_store, read_only=True)) as db:
        assert db.execute("SELECT count(*) FROM event WHERE type = 'content-forgotten'").fetchone() == (0,)


def test_what_is_older_than_a_day_loses_its_words_and_keeps_its_figures(small_store: Path) -> None:
    with closing(open_raw(small_store, read_only=True)) as db:
        figures = db.execute("SELECT id, passed, total_score FROM test_run ORDER BY seq").fetchall()
        rationales = {text for (text,) in db.execute("SELECT rationale FROM eval_judgment")}
    assert rationales
    assert not forget(small_store, ErasureScope(before=datetime(1960, 1, 1, tzinfo=UTC)), at=NOW, by="ada").rows
    forget(small_store, ErasureScope(before=NOW + timedelta(days=9000)), at=NOW, by="ada")
    held = bytes_of(small_store)
    assert not [text for text in rationales if " " in text and text.encode() in held]
    with closing(open_raw(small_store, read_only=True)) as db:
        assert db.execute("SELECT id, passed, total_score FROM test_run ORDER BY seq").fetchall() == figures


@pytest.mark.parametrize(
    ("kind", "emptied", "left"),
    [
        ("outputs", ("test_run", "rest"), ("minion", "fields")),
        ("agent-runs", ("minion", "fields"), ("outbox", "fields")),
        ("messages", ("outbox", "fields"), ("eval_judgment", "rationale")),
    ],
)
def test_a_rule_erases_its_kind_alone_once_and_leaves_what_waits(
    small_store: Path, kind: ErasedKind, emptied: tuple[str, str], left: tuple[str, str]
) -> None:
    def stored(table: str, column: str) -> list[str]:
        with closing(open_raw(small_store, read_only=True)) as db:
            return [row[0] for row in db.execute(f"SELECT {column} FROM {table} ORDER BY 1")]

    with closing(open_raw(small_store, read_only=True)) as db:
        waiting = [row[0] for row in db.execute("SELECT payload FROM inbox WHERE state = 'pending'")]
    untouched = stored(*left)
    later = NOW + timedelta(days=9000)
    rule = ErasureScope(before=later, kinds=frozenset({kind}), retention=True)
    assert forget(small_store, rule, at=NOW, by="agent").rows
    assert any("forgotten@" in text for text in stored(*emptied))
    assert stored(*left) == untouched
    assert set(waiting) <= set(stored("inbox", "payload"))
    before = bytes_of(small_store)
    assert not forget(small_store, rule, at=NOW + timedelta(days=1), by="agent").rows, "what is erased keeps its day"
    assert bytes_of(small_store) == before


def test_a_rule_writes_nothing_where_nothing_is_too_old(small_store: Path) -> None:
    before = bytes_of(small_store)
    rule = ErasureScope(before=datetime(1960, 1, 1, tzinfo=UTC), retention=True)
    assert forget(small_store, rule, at=NOW, by="agent").rows == {}
    assert bytes_of(small_store) == before


@pytest.mark.parametrize(
    "wanted",
    [
        ErasureScope(subject="Countess"),
        ErasureScope(record="t"),
        ErasureScope(before=NOW + timedelta(seconds=1), kinds=frozenset({"agent-runs"}), retention=True),
    ],
    ids=["by what it says", "with its trace", "by its age"],
)
def test_what_a_model_read_in_a_trace_is_erased(small_store: Path, wanted: ErasureScope) -> None:
    def fill(db: Db) -> None:
        fields = '{"agentId":"a","status":"success"}'
        row = ("t", "agent-run", "t", fields, "[]", "active", "d", 1, 1)
        db.execute("INSERT INTO minion VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", row)
        keep_reading(db, "t", "m", "d" * 32, {"kind": "rude to the Countess"}, at=NOW)

    written(small_store, fill)
    assert b"Countess" in bytes_of(small_store)
    rows = forget(small_store, wanted, at=NOW, by="ada").rows
    assert rows["trace_reading"] == 1
    assert b"Countess" not in bytes_of(small_store)


def test_what_a_model_read_in_other_traces_stays(small_store: Path) -> None:
    written(small_store, lambda db: keep_reading(db, "t", "m", "d" * 32, {"kind": "rude"}, at=NOW))
    for wanted in (ErasureScope(subject="Countess"), ErasureScope(before=NOW, kinds=frozenset({"agent-runs"}))):
        assert "trace_reading" not in forget(small_store, wanted, at=NOW, by="ada").rows
    with closing(open_raw(small_store, read_only=True)) as db:
        assert readings_of(db, "m", {"t": "d" * 32}) == {"t": {"kind": "rude"}}
        assert readings_of(db, "m", {"t": "e" * 32}) == readings_of(db, "n", {"t": "d" * 32}) == {}

"""`db check --deep`: every row against the digest that was written beside it."""

from __future__ import annotations

import json
import os
import random
from datetime import timedelta
from pathlib import Path

import pytest

from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.agent import delivery, inbox, lease
from minions_evals_mcp.store.agent.inbox import Arriving
from minions_evals_mcp.store.check import DEEP_UP_TO, Found, Looking, Problem, check_store, is_deep_by_default
from minions_evals_mcp.store.connection import APPLICATION_ID, Db
from minions_evals_mcp.store.database import open_store
from minions_evals_mcp.store.migrate import migrations
from tests.shared.store.command_line import told
from tests.shared.store.small_store import raw
from tests.store.test_bad_disks import spoil
from tests.store.test_check import tamper
from tests.workshop import START

FLIPS = 200
BEFORE_DIGESTS = 4
SEED = 20_261_122


def visible(path: Path) -> str:
    """Every row of every table that a reader sees."""
    with raw(path) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        return repr(
            [db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names if name != "row_digest"]
        )


async def deep(path: Path) -> tuple[str, ...]:
    """What the deep check finds; a store that cannot be read at all is a finding too."""
    try:
        return (await check_store(path, deep=True)).problems
    except EvalsError as error:
        return (error.message,)


async def test_of_200_flipped_bits_none_that_a_reader_sees_passes(small_store: Path) -> None:
    whole, before = small_store.read_bytes(), visible(small_store)  # noqa: ASYNC240  a small file of our own
    assert await deep(small_store) == ()
    chance, page = random.Random(SEED), 4096  # noqa: S311  no secret
    passed: list[int] = []
    for _ in range(FLIPS):
        at = chance.randrange(8 * page, 8 * len(whole))  # the first page is the header and the schema's root
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << at % 8
        small_store.write_bytes(damaged)  # noqa: ASYNC240  as above
        if not await deep(small_store) and visible(small_store) != before:
            passed.append(at)
    assert passed == []


@pytest.mark.parametrize(
    ("done", "problem"),
    [
        ("UPDATE test_run SET rest = json_set(rest, '$.durationMs', 13) WHERE seq = 2", "of test_run has changed since it was written"),
        ("UPDATE eval_judgment SET score = 0.8999999999999999 WHERE seq = 1", "row 1 of eval_judgment has changed since it was written"),
        ("UPDATE event SET detail = '{\"a\":1}' WHERE seq = 4", "row 4 of event has changed since it was written"),
        ("UPDATE delivery SET attempts = 3 WHERE seq = 1", "row 1 of delivery has changed since it was written"),
        ("UPDATE unit SET reason = 'x'", 'row ["job",0,1] of unit has changed since it was written'),
        ("DELETE FROM eval_metric WHERE seq = 2", "row 2 of eval_metric is gone"),
        ("INSERT INTO metric_score VALUES ('run1:1.1', 'new', 1)", 'row ["run1:1.1","new"] of metric_score was not written by this'
         " program"),
        ("INSERT INTO row_digest VALUES ('loot', 1, 1)", "table loot is missing"),
    ],
)  # fmt: skip
async def test_what_was_changed_behind_the_stores_back_is_named(small_store: Path, done: str, problem: str) -> None:
    tamper(small_store, done)
    assert f"digest: {problem}" in await deep(small_store)


async def test_an_event_that_was_exchanged_together_with_its_digest_shows_in_the_next_one(small_store: Path) -> None:
    swap = "UPDATE {0} SET {1} = (SELECT {1} FROM {0} WHERE {2} = 6) WHERE {2} = 5"
    tamper(
        small_store,
        *(swap.format("event", column, "seq") for column in ("type", "subject_type", "subject_id", "detail")),
        "UPDATE row_digest SET digest = (SELECT digest FROM row_digest WHERE source = 'event' AND key = 6)"
        " WHERE source = 'event' AND key = 5",
    )
    assert "digest: row 6 of event has changed since it was written" in await deep(small_store)


async def test_rows_that_change_as_they_may_stay_whole(small_store: Path) -> None:
    later = START + timedelta(hours=1)

    def work(db: Db) -> None:
        jobs.add_spent(db, "job", {"calls": 3})
        jobs.set_state(db, "job", "stopped", reason="later", at=later)
        inbox.put(db, Arriving("m", "run-benchmark", "b", None, {"ä": None}), at=later)
        inbox.put_off(db, "m", "busy", until=later)
        inbox.finish(db, "m", {}, at=later)
        lease.advance(db, "events", 3)
        lease.advance(db, "events", 5)
        lease.take(db, lease.AgentLease("me", "here", later), at=START)
        lease.release(db, "me")
        delivery.put_off(db, 1, "down", until=later)
        delivery.deliver(db, 1, at=later)

    async with open_store(small_store) as store:
        await store.write(work)
    assert await deep(small_store) == ()


async def test_a_store_of_the_schema_before_digests_has_them_after_its_migration(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with raw(path) as db:
        for number, script in migrations():
            if number <= BEFORE_DIGESTS:
                db.executescript(script)
        db.execute("INSERT INTO event VALUES (1, 0, 'one', 'x', 'x', '{}'), (2, 0, 'two', 'x', 'x', '{}')")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {BEFORE_DIGESTS}")
        db.commit()
    async with open_store(path):
        pass
    assert await deep(path) == ()
    tamper(path, "UPDATE event SET type = 'other' WHERE seq = 2")
    assert await deep(path) == ("digest: row 2 of event has changed since it was written",)


async def test_problems_are_told_as_they_are_found_and_with_what_is_looked_at(small_store: Path) -> None:
    tamper(small_store, "UPDATE unit SET reason = 'x'")
    seen: list[Found] = []
    report = await check_store(small_store, deep=True, tell=seen.append)
    assert tuple(found.said for found in seen if isinstance(found, Problem)) == report.problems
    assert Looking("rows of unit") == seen[seen.index(Problem(report.problems[0])) - 1]


async def test_the_command_line_compares_digests_unless_told_not_to_and_says_what_it_left_out(
    small_store: Path,
) -> None:
    tamper(small_store, "UPDATE unit SET reason = 'x'")
    plain = await told(small_store.parent, "db", "check", "--no-deep", "--db", str(small_store))
    checked = await told(small_store.parent, "db", "check", "--db", str(small_store))
    assert (plain.code, checked.code) == (0, 3)
    assert "Not checked: the content of each row, the indexes." in plain.out
    assert "minions-evals db check --deep" in plain.out
    assert 'problem: digest: row ["job",0,1] of unit has changed since it was written' in checked.out
    assert "Not checked" not in checked.out
    as_json = await told(small_store.parent, "db", "check", "--no-deep", "--json", "--db", str(small_store))
    assert json.loads(as_json.out)["notChecked"] == ["the content of each row", "the indexes"]


async def test_one_flipped_bit_in_a_text_is_seen_by_the_plain_command_and_by_the_doctor(small_store: Path) -> None:
    raw_bytes = bytearray(small_store.read_bytes())  # noqa: ASYNC240  a small file of our own
    at = raw_bytes.index(b"It says so.")
    raw_bytes[at] ^= 1
    small_store.write_bytes(raw_bytes)  # noqa: ASYNC240  as above
    for verb in (("db", "check"), ("doctor",)):
        assert (await told(small_store.parent, *verb, "--db", str(small_store))).code == 3, verb


async def test_what_is_not_looked_at_behind_a_damaged_page_is_said(small_store: Path) -> None:
    spoil(small_store, "test_run_history", lambda page: page.replace(b"c1", b"c9"))
    said = await told(small_store.parent, "db", "check", "--db", str(small_store))
    assert said.code == 3
    assert "Not checked: the references, the schema, the hard rules, known secrets, the gapless events" in said.out


def test_a_store_is_checked_row_by_row_unasked_up_to_a_size(tmp_path: Path) -> None:
    file = tmp_path / "sparse.db"
    file.touch()
    os.truncate(file, DEEP_UP_TO)
    assert is_deep_by_default(file)
    os.truncate(file, DEEP_UP_TO + 1)
    assert not is_deep_by_default(file)
    assert not is_deep_by_default(tmp_path / "missing.db")


@pytest.mark.parametrize(
    "forged",
    [
        "UPDATE agent_cursor SET position = 9999",
        "INSERT OR REPLACE INTO agent_cursor VALUES ('events', 9999)",
        "UPDATE delivery SET state = 'delivered', settled_at = 1 WHERE seq = 3",
    ],
)
async def test_delivery_and_cursor_cannot_be_set_past_what_happened(small_store: Path, forged: str) -> None:
    with raw(small_store) as db:
        db.execute("INSERT INTO agent_cursor VALUES ('events', 1)")
        columns = "type, addressee, fields, created_at"
        db.execute(
            f"INSERT INTO outbox (id, key, {columns}) SELECT id || '2', key || '2', {columns} FROM outbox WHERE seq = 1"
        )
        db.commit()
        with pytest.raises(Exception, match=r"agent-cursor|HR5"):
            db.execute(forged)

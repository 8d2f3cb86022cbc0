"""`db salvage`: the new store holds what was whole, nothing else, and every rule."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from minions_evals_mcp.errors import ConflictError, EvalsError, StoreError
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.database import open_store
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.salvage import LOST_STATE, TO_RESUME, salvage
from tests.shared.store.command_line import told
from tests.shared.store.small_store import raw
from tests.store.test_check import tamper
from tests.store.test_check_deep import visible
from tests.workshop import START

PAGE = 4096


def ids(path: Path, table: str, column: str = "id") -> list[str]:
    """What a column of a table holds."""
    with raw(path) as db:
        return [row[0] for row in db.execute(f"SELECT {column} FROM {table} ORDER BY 1")]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where the new store goes."""
    return tmp_path / "salvaged.db"


async def test_of_a_whole_store_everything_is_salvaged(small_store: Path, target: Path) -> None:
    found = await salvage(small_store, target)
    assert (set(found.lost.values()), found.problems) == ({0}, ())
    assert visible(target) == visible(small_store)


async def test_a_changed_row_is_left_out_with_what_rests_on_it(small_store: Path, target: Path) -> None:
    with raw(small_store) as db:
        db.execute("INSERT INTO job VALUES ('run2', 'k2', 'benchmark', 'bench', '{}', 'completed', '', '{}', 3, 0, 0)")
    tamper(
        small_store,
        "UPDATE test_run SET total_score = 0.95 WHERE id = 'run2:2.1'",
        "UPDATE event SET detail = '{\"a\":1}' WHERE seq = 4",
        "UPDATE delivery SET attempts = 1 WHERE seq = 1",
    )
    found = await salvage(small_store, target)
    assert found.problems == ()
    assert "run2:2.1" not in ids(target, "test_run")
    assert "run1:1.1" in ids(target, "test_run")
    assert ids(target, "benchmark_run") == ["run1", "run3"]  # run2 no longer counts its own runs
    assert ids(target, "prompt_comparison") == ["unclear"]
    assert ids(target, "approval") == []
    assert ids(target, "event", "type").count("event-lost") == 1
    assert ids(target, "delivery", "reason").count(LOST_STATE) == 1
    assert (found.lost["test_run"], found.lost["event"], found.lost["minion"]) == (1, 1, 0)


async def test_a_run_that_may_lack_a_judgment_is_not_called_whole(small_store: Path, target: Path) -> None:
    tamper(small_store, "UPDATE eval_judgment SET rationale = 'other' WHERE seq = 5")
    found = await salvage(small_store, target)
    assert found.problems == ()
    assert 5 not in ids(target, "eval_judgment", "seq")
    assert found.lost["test_run"] == 3  # the one before and the one behind may have lost it too


async def test_a_completed_job_whose_result_is_lost_can_be_resumed(small_store: Path, target: Path) -> None:
    async with open_store(small_store) as store:
        done = Job("run2", "k2", "benchmark", "bench", {}, "completed", "", {}, 3, START, START)
        await store.write(lambda db: jobs.start(db, done))
    tamper(small_store, "UPDATE benchmark_run SET rest = json_set(rest, '$.notes', 'x') WHERE id = 'run2'")
    assert (await salvage(small_store, target)).problems == ()
    with raw(target) as db:
        assert db.execute("SELECT state, reason FROM job WHERE id = 'run2'").fetchone() == ("stopped", TO_RESUME)


async def test_pages_full_of_nonsense_cost_what_lies_on_them(small_store: Path, tmp_path: Path) -> None:
    whole = small_store.read_bytes()  # noqa: ASYNC240  a small file of our own
    chance = random.Random(7)  # noqa: S311  no secret
    salvaged = 0
    for number in range(12):
        at = PAGE * chance.randrange(1, len(whole) // PAGE)
        damaged = tmp_path / f"damaged{number}.db"
        damaged.write_bytes(whole[:at] + chance.randbytes(PAGE) + whole[at + PAGE :])
        new = tmp_path / f"new{number}.db"
        try:
            found = await salvage(damaged, new)
        except EvalsError as error:  # the schema itself does not read
            assert error.remedy
            continue
        salvaged += 1
        assert found.problems == ()
        assert set(ids(new, "test_run")) <= set(ids(small_store, "test_run"))
        assert (await check_store(new, deep=True)).problems == ()
    assert salvaged >= 6


async def test_nothing_is_overwritten_and_what_is_not_there_is_said(small_store: Path, target: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        await salvage(target, small_store.with_name("new.db"))
    with pytest.raises(ConflictError, match="already exists"):
        await salvage(small_store, small_store)
    assert list(target.parent.glob(".*.part*")) == []


async def test_the_command_says_what_is_kept_and_what_is_lost(small_store: Path, target: Path) -> None:
    tamper(small_store, "UPDATE eval_metric SET score = 0 WHERE seq = 1")
    said = await told(small_store.parent, "db", "salvage", str(target), "--db", str(small_store))
    assert said.code == 0, said.err
    assert "eval_metric: 2 whole, 1 lost" in said.out
    assert (await check_store(target, deep=True)).problems == ()

"""`db salvage`: what is provably whole of a damaged store, written into a new one that holds every rule."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.backup import already_there, settle
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.connection import Db, make_durable, open_raw, sqlite, translated
from minions_evals_mcp.store.migrate import migrate, require_store
from minions_evals_mcp.store.provable_rows import Provable, Row, provable_rows

BEFORE = ("minion", "agent_run_key", "relation")
AFTER = (
    "outbox",
    "benchmark_run",
    "eval_metric",
    "prompt_comparison",
    "approval",
    "test_branch_execution",
    "event",
    "job",
    "unit",
    "talk",
    "user_label",
    "output_note",
)
OF_A_RUN = ("eval_failure", "test_run", "eval_judgment", "metric_score")
NOT_COPIED = ("lease", "delivery", *OF_A_RUN)
LOST_STATE = "salvaged: its delivery state is unknown"
TO_RESUME = "salvaged: its benchmark-run was damaged"


@dataclass(slots=True)
class Salvage:
    """The number of rows of each table that are in the new store and that are not; `problems` is what its check finds."""

    kept: dict[str, int] = field(default_factory=dict[str, int])
    lost: dict[str, int] = field(default_factory=dict[str, int])
    problems: tuple[str, ...] = ()


async def salvage(path: Path, target: Path) -> Salvage:
    """Writes the new store; the damaged one is only read.

    Raises `ConflictError` where the target exists, `StoreError` where the damaged file cannot be opened at all.
    """
    if await anyio.Path(target).exists():
        raise already_there(target)
    if not await anyio.Path(path).exists():
        raise StoreError(f"no store at {path}.", remedy=f"Name it with {argument('db')}.")
    half = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        salvaged = await anyio.to_thread.run_sync(partial(_salvaged, path, half))
        salvaged.problems = (await check_store(half, deep=True)).problems
        await anyio.to_thread.run_sync(settle, half, target)
    finally:
        for suffix in ("", "-wal", "-shm"):
            await anyio.Path(f"{half}{suffix}").unlink(missing_ok=True)
    return salvaged


def _salvaged(path: Path, half: Path) -> Salvage:
    with translated(path), closing(open_raw(path, read_only=True)) as damaged:
        require_store(damaged, path)
        provable = provable_rows(damaged)
    without: set[str] = set()
    while True:  # a benchmark-run that its rows no longer show takes its failures along
        half.unlink(missing_ok=True)
        with translated(half), closing(open_raw(half)) as new:
            migrate(new, half)
            make_durable(new)
            row_digests.keep(new)
            refused = _Copy(new, provable, without).write()
            if refused <= without:
                return _counted(new, provable)
        without |= refused


def _counted(new: Db, provable: Provable) -> Salvage:
    counted = Salvage()
    for table, rows in provable.rows.items():
        if table == "lease":
            continue
        there: int = new.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        counted.kept[table] = there
        counted.lost[table] = max(len(rows) + len(provable.lost[table]) - there, 0)
    lost_events: int = new.execute("SELECT count(*) FROM event WHERE type = 'event-lost'").fetchone()[0]
    counted.kept["event"] -= lost_events
    counted.lost["event"] += lost_events
    return counted


class _Copy:
    """One try at writing the whole rows into a new store, whose own triggers refuse what does not hold."""

    def __init__(self, new: Db, provable: Provable, without: set[str]) -> None:
        self._new = new
        self._provable = provable
        self._without = without
        self._refused: set[str] = set(without)

    def write(self) -> set[str]:
        """Writes everything in one transaction; the benchmark-runs that could not be written."""
        self._new.execute("BEGIN IMMEDIATE")
        self._rows(BEFORE)
        self._runs()
        self._rows(AFTER)
        self._rows(table for table in self._provable.rows if table not in {*BEFORE, *AFTER, *NOT_COPIED})
        self._deliveries()
        self._new.execute("COMMIT")
        return self._refused

    def _rows(self, tables: Iterable[str]) -> None:
        for table in tables:
            for row in self._provable.of(table):
                if table == "event":
                    self._fill_gap(row)
                if not self._insert(table, self._as_it_stands(table, row)) and table == "benchmark_run":
                    self._refused.add(row["id"])

    def _insert(self, table: str, row: Row | None) -> bool:
        """Returns whether the row could be written."""
        if row is None or (table == "benchmark_run" and row["id"] in self._without):
            return False
        marks = ", ".join("?" * len(row))
        try:
            self._new.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", [*row.values()])
        except sqlite.IntegrityError:
            return False
        return True

    def _as_it_stands(self, table: str, row: Row) -> Row | None:
        """A job whose result is lost is to be resumed; a unit whose test-run is lost is to be made again."""
        match table:
            case "job" if row["kind"] == "benchmark" and row["state"] == "completed":
                there = self._new.execute("SELECT 1 FROM benchmark_run WHERE id = ?", (row["id"],)).fetchone()
                return row if there else {**row, "state": "stopped", "reason": TO_RESUME}
            case "unit" if row["test_run_id"] is not None:
                there = self._new.execute("SELECT 1 FROM test_run WHERE id = ?", (row["test_run_id"],)).fetchone()
                return row if there else None
            case _:
                return row

    def _fill_gap(self, event: Row) -> None:
        """Puts a mark for each event that is lost, for their numbers have no gaps."""
        last: int = self._new.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()[0]
        self._new.executemany(
            "INSERT INTO event (seq, at, type, subject_type, subject_id, detail) VALUES (?, ?, 'event-lost', 'store', 'salvage', '{}')",
            [(seq, event["at"]) for seq in range(last + 1, event["seq"])],
        )

    def _runs(self) -> None:
        """Each test-run with its failures, judgments and metrics, all or nothing."""
        parts = {table: self._by_run(table) for table in OF_A_RUN if table != "test_run"}
        doubtful = self._runs_with_lost_judgments()
        regressions = {f"{run}:regression" for run in self._without}
        for run in self._provable.of("test_run"):
            ident = run["id"]
            failures = [row for row in parts["eval_failure"][ident] if row["id"] not in regressions]
            if ident in doubtful or not parts["eval_judgment"][ident]:
                continue
            rows = [
                *(("eval_failure", row) for row in failures),
                ("test_run", run),
                *((table, row) for table in ("eval_judgment", "metric_score") for row in parts[table][ident]),
            ]
            self._new.execute("SAVEPOINT run")
            if not all(self._insert(table, row) for table, row in rows):
                self._new.execute("ROLLBACK TO run")
            self._new.execute("RELEASE run")

    def _by_run(self, table: str) -> defaultdict[str, list[Row]]:
        rows_by_run: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self._provable.of(table):
            rows_by_run[row["test_run_id"]].append(row)
        return rows_by_run

    def _runs_with_lost_judgments(self) -> set[str]:
        """The judgments of a run are written one after the other: a lost one belongs to the run before or behind it."""
        whole = [(int(row["seq"]), str(row["test_run_id"])) for row in self._provable.of("eval_judgment")]
        doubtful: set[str] = set()
        for seq in self._provable.lost["eval_judgment"]:
            at = bisect_left(whole, (int(str(seq)), ""))
            doubtful.update(run for _, run in whole[max(at - 1, 0) : at + 1])
        lost_metrics = {str(key).split('"')[1] for key in self._provable.lost["metric_score"]}
        return doubtful | lost_metrics

    def _deliveries(self) -> None:
        """Takes over how far each message was; one of which that is lost waits, and is told again under its key."""
        known = {row["seq"]: row for row in self._provable.of("delivery")}
        waiting = [seq for (seq,) in self._new.execute("SELECT seq FROM delivery ORDER BY seq").fetchall()]
        for seq in waiting:
            if seq not in known:
                self._new.execute("UPDATE delivery SET reason = ? WHERE seq = ?", (LOST_STATE, seq))
        for seq in waiting:
            if seq in known:
                row = known[seq]
                self._new.execute(
                    "UPDATE delivery SET state = ?, attempts = ?, next_at = ?, reason = ?, settled_at = ? WHERE seq = ?",
                    (row["state"], row["attempts"], row["next_at"], row["reason"], row["settled_at"], seq),
                )

"""Reading a long history out of a great store: python -m tests.bench.figures.history [test-runs].

A benchmark of 1,000 runs in a store of a million test-runs (of 1,000 cases): the CPU of `detect_trend`, `trend` and
`get_statistics` in the process that serves them, through the MCP server and through the engine alone.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from minions_evals_mcp.engine.answers.trend_summary import summarize_trend
from minions_evals_mcp.engine.cases.test_history import test_case_stats
from minions_evals_mcp.store.connection import Db
from tests.shared.server.hosts import hosted
from tests.workshop import answer, bench, config_in, fleet, opened, save

RUNS = 1_000
CALLS = 60
COPIES = """
INSERT INTO test_run (id, test_case_id, benchmark_run_id, agent_run_id, prompt_version_ref, trial, outcome, passed,
                      total_score, max_possible_score, judge_type, ran_at, rest)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
SELECT 'j' || (i / 1000) || ':' || (i % 1000 + 1) || '.1', 'c' || (i % 1000), NULL, NULL, NULL, 1, 'scored', 1, 1.0, 1.0,
       'heuristic', ran_at + i * 60000, rest FROM n, (SELECT ran_at, rest FROM test_run WHERE passed ORDER BY seq LIMIT 1)
"""
OF_BENCHMARK = """
INSERT INTO test_run (id, test_case_id, benchmark_run_id, agent_run_id, prompt_version_ref, trial, outcome, passed,
                      total_score, max_possible_score, judge_type, ran_at, rest)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
SELECT 'old' || i || ':1.1', 'c0', 'old' || i, NULL, NULL, 1, 'scored', 1, 0.5 + (i % 7) * 0.05, 1.0, 'heuristic',
       ran_at - 3600000 * (:count - i + 1), rest FROM n, (SELECT ran_at, rest FROM test_run WHERE passed ORDER BY seq LIMIT 1)
"""
BENCHMARK_RUNS = """
INSERT INTO benchmark_run (id, benchmark_id, prompt_version_ref, purpose, overall_score, passed_count, total_count, error_count,
                           is_regression, judged_alike, series, ran_at, rest)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
SELECT 'old' || i, benchmark_id, prompt_version_ref, purpose, 0.5 + (i % 7) * 0.05, 1, 1, 0, 0, judged_alike, series,
       ran_at - 3600000 * (:count - i + 1), rest FROM n, (SELECT * FROM benchmark_run LIMIT 1)
"""


async def main(test_runs: int) -> None:
    """Builds the store, and prints the CPU of each read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await built(folder, test_runs)
        async with opened(config_in(folder)) as engine:
            await shown("summarize_trend (engine)", lambda: summarize_trend(engine, "b"))
            await shown("test_case_stats (engine)", lambda: test_case_stats(engine, "c1"))
        async with hosted(config_in(folder)) as host:
            await shown("detect_trend (MCP)", lambda: host.call("detect_trend", benchmarkId="b"))
            await shown("get_statistics (MCP)", lambda: host.call("get_statistics", testCaseId="c1"))


async def built(folder: Path, test_runs: int) -> None:
    """A store with one real run, and rows like its own by the thousand."""
    async with opened(config_in(folder)) as engine:
        await fleet(engine, 4)
        await save(engine, [answer(f"a{n}", f"c{n}", "good") for n in range(4)])
        await bench(engine, "b")
        await engine.store.write(lambda db: fill(db, test_runs))


def fill(db: Db, test_runs: int) -> None:
    """Rows like those of the real run."""
    db.execute(COPIES, {"count": test_runs})
    db.execute(OF_BENCHMARK, {"count": RUNS})
    db.execute(BENCHMARK_RUNS, {"count": RUNS})
    db.execute("INSERT INTO trend_reading SELECT id, 'stable' FROM benchmark_run WHERE id LIKE 'old%'")


async def shown(what: str, read: Callable[[], Awaitable[object]]) -> None:
    """The p50 and p95 of the process's CPU for one call."""
    await read()
    spent: list[float] = []
    for _ in range(CALLS):
        before = time.process_time()
        await read()
        spent.append((time.process_time() - before) * 1000)
    spent.sort()
    sys.stdout.write(f"{what:<28} p50 {spent[CALLS // 2]:6.2f} ms  p95 {spent[int(CALLS * 0.95)]:6.2f} ms of CPU\n")


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)

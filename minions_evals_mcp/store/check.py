"""`db check`: the file's integrity, and every hard rule over every row, told in words."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import anyio

from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.store.connection import Db, connect, sqlite, translated
from minions_evals_mcp.store.migrate import migrations, require_store, statements
from minions_evals_mcp.store.queries.leaks import leaks
from minions_evals_mcp.store.records import counts

AT_MOST = 20
"""How many rows of one kind of problem are named."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong, in words, and how many rows were looked at."""

    problems: tuple[str, ...]
    checked: dict[str, int]


RULES: tuple[tuple[str, str], ...] = (
    (
        "HR3: the failed test-run {} has no eval-failure",
        "SELECT r.id FROM test_run r WHERE r.passed = 0 AND NOT EXISTS (SELECT 1 FROM eval_failure f WHERE f.test_run_id = r.id)",
    ),
    (
        "HR3: the eval-failure {} belongs to no test-run",
        "SELECT f.id FROM eval_failure f WHERE NOT EXISTS (SELECT 1 FROM test_run r WHERE r.id = f.test_run_id)",
    ),
    (
        "the judgment {} belongs to no test-run",
        "SELECT j.id FROM eval_judgment j WHERE NOT EXISTS (SELECT 1 FROM test_run r WHERE r.id = j.test_run_id)",
    ),
    (
        "the test-run {} has no judgment",
        "SELECT r.id FROM test_run r WHERE NOT EXISTS (SELECT 1 FROM eval_judgment j WHERE j.test_run_id = r.id)",
    ),
    (
        "the benchmark-run {} does not count its own test-runs",
        "SELECT b.id FROM benchmark_run b WHERE b.total_count <> (SELECT count(*) FROM test_run WHERE benchmark_run_id = b.id)"
        " OR b.passed_count <> (SELECT count(*) FROM test_run WHERE benchmark_run_id = b.id AND passed = 1)",
    ),
    (
        "HR2: the benchmark-run {} has not the score of its own test-runs",
        "SELECT b.id FROM benchmark_run b WHERE (SELECT abs(min(1.0, max(0.0, total(total_score) / total(max_possible_score)))"
        " - b.overall_score) < 1e-9 FROM test_run WHERE benchmark_run_id = b.id) IS NOT 1",
    ),
    (
        "HR2: the prompt-comparison {} does not rest on benchmark-runs with its scores",
        "SELECT c.id FROM prompt_comparison c WHERE NOT EXISTS (SELECT 1 FROM benchmark_run a JOIN benchmark_run b"
        " WHERE a.id = c.benchmark_run_id_a AND b.id = c.benchmark_run_id_b AND a.id <> b.id"
        " AND a.prompt_version_ref = c.prompt_version_a AND b.prompt_version_ref = c.prompt_version_b"
        " AND abs(a.overall_score - c.score_a) < 1e-9 AND abs(b.overall_score - c.score_b) < 1e-9)",
    ),
    (
        "HR5: the regression in {} was not told",
        "SELECT b.id FROM benchmark_run b WHERE b.is_regression = 1"
        " AND (NOT EXISTS (SELECT 1 FROM outbox WHERE key = 'benchmark-regression:' || b.id)"
        " OR NOT EXISTS (SELECT 1 FROM outbox WHERE key = 'investigate-regression:' || b.id)"
        " OR NOT EXISTS (SELECT 1 FROM eval_failure WHERE benchmark_run_id = b.id))",
    ),
    (
        "HR2: the approval {} rests on no comparison that it wins",
        "SELECT a.id FROM approval a WHERE a.decision = 'approved' AND NOT EXISTS (SELECT 1 FROM prompt_comparison c"
        " WHERE c.id = a.comparison_id AND c.winner = a.prompt_version_ref)",
    ),
    (
        "the completed run {} has no benchmark-run",
        "SELECT j.id FROM job j WHERE j.kind = 'benchmark' AND j.state = 'completed'"
        " AND NOT EXISTS (SELECT 1 FROM benchmark_run b WHERE b.id = j.id)",
    ),
    (
        "the unit {} names a test-run that is not there",
        "SELECT u.job_id || ':' || u.position || '.' || u.trial FROM unit u WHERE u.test_run_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM test_run r WHERE r.id = u.test_run_id)",
    ),
    (
        "HR4: the judgment {} lies outside its range",
        "SELECT id FROM eval_judgment WHERE score NOT BETWEEN min_score AND max_score OR confidence NOT BETWEEN 0 AND 1",
    ),
    (
        "HR5: the outbox's row {} is on its way to nobody",
        "SELECT o.id FROM outbox o WHERE NOT EXISTS (SELECT 1 FROM delivery d WHERE d.seq = o.seq AND d.addressee = o.addressee)",
    ),
    (
        "the message {} is settled and pending at once",
        "SELECT id FROM inbox WHERE (state = 'pending') <> (settled_at IS NULL)",
    ),
    (
        "the message {} is dead without a reason",
        "SELECT id FROM inbox WHERE state = 'dead' AND length(trim(reason)) = 0",
    ),
    (
        "the message {} is done with nothing to show",
        "SELECT id FROM inbox WHERE state = 'done' AND result IS NULL",
    ),
    (
        "the agent has read on beyond the last event: {}",
        "SELECT position FROM agent_cursor WHERE name = 'events' AND position > (SELECT coalesce(max(seq), 0) FROM event)",
    ),
    (
        "the judgment {} is written twice",
        "SELECT min(id) FROM eval_judgment GROUP BY test_run_id, criterion_id HAVING count(*) > 1",
    ),
)


async def check_store(path: Path) -> Report:
    """Everything that is wrong with the store; raises `StoreError` where it cannot be read at all."""
    if not await anyio.Path(path).exists():
        raise StoreError(f"there is no store at {path}.", remedy="Name it with --db, or make one: minions-evals demo.")
    connection = connect(path, read_only=True)
    try:
        await connection
        with translated(path):
            return await connection.run(lambda db: _report(db, path))
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


def _report(db: Db, path: Path) -> Report:
    require_store(db, path)
    damage = [row[0] for row in db.execute(f"PRAGMA integrity_check({AT_MOST})") if row[0] != "ok"]
    if damage:
        return Report(tuple(f"integrity: {line}" for line in damage), {})
    problems = [
        f"reference: {table} row {row} points to no {parent}"
        for table, row, parent, _ in db.execute("PRAGMA foreign_key_check")
    ]
    problems.extend(_schema_problems(db))
    for said, sql in RULES:
        problems.extend(said.format(row[0]) for row in db.execute(f"{sql} LIMIT {AT_MOST}"))
    problems.extend(_blank_rationales(db))
    problems.extend(leaks(db))
    last, number = db.execute("SELECT coalesce(max(seq), 0), count(*) FROM event").fetchone()
    if last != number:
        problems.append(f"events: {number} rows, yet the last has number {last}: {last - number} are missing")
    return Report(tuple(problems), dict(counts(db)))


def _schema_problems(db: Db) -> list[str]:
    """The tables and the triggers that hold the rules must all be there, word for word."""
    with closing(sqlite.connect(":memory:", isolation_level=None)) as fresh:
        for _, script in migrations():
            for statement in statements(script):
                fresh.execute(statement)
        wanted = _schema(fresh)
    there = _schema(db)
    return [
        f"schema: the {kind} {name} is {'missing' if (kind, name) not in there else 'not as we made it'}"
        for (kind, name), sql in sorted(wanted.items())
        if there.get((kind, name)) != sql
    ]


def _schema(db: Db) -> dict[tuple[str, str], str]:
    rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
    return {(kind, name): sql for kind, name, sql in rows}


def _blank_rationales(db: Db) -> list[str]:
    """A rationale without one plain letter, digit or sign is looked at in code, which knows what shows nothing."""
    rows = db.execute("SELECT id, rationale FROM eval_judgment WHERE rationale NOT GLOB '*[!-~]*'")
    return [f"HR4: the judgment {ident} has no rationale" for ident, rationale in rows if is_blank(rationale)][:AT_MOST]

"""Results: a unit's end in one transaction, and the figures from which a benchmark-run is concluded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from minions_evals_mcp.domain.outcomes import Ended, UnitKey
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, EvalFailure, EvalJudgment, TestRun
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store import unit_rows
from minions_evals_mcp.store.connection import AT_MOST, Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.rows import WHOLE, insert, record_of, select, table_of


def record_unit(db: Db, key: UnitKey, case_id: str, ended: Ended, *, at: datetime) -> None:
    """Keeps how one unit ended: its run with judgments, failure and events, all or nothing."""
    unit_rows.write(db, [unit_rows.rows_of(key, case_id, ended)], at=at)


@frozen_type
class Sums:
    """The sums that a benchmark-run's score, rate and intervals are made of, added up by case; `possible` is maxPossibleScore."""

    runs: int
    passed: int
    cases: int
    score: float
    possible: float
    score_squared: float
    score_possible: float
    possible_squared: float


def sums(db: Db, run_id: str) -> Sums:
    """The sums over a benchmark-run's test-runs."""
    row = db.execute(
        "SELECT total(n), total(p), count(*), total(s), total(m), total(s * s), total(s * m), total(m * m) FROM"
        " (SELECT count(*) AS n, sum(passed) AS p, sum(total_score) AS s, sum(max_possible_score) AS m"
        "  FROM test_run WHERE benchmark_run_id = ? GROUP BY test_case_id)",
        (run_id,),
    ).fetchone()
    return Sums(int(row[0]), int(row[1]), *row[2:])


def canaries_passed(db: Db, run_id: str) -> list[str]:
    """The canaries that a benchmark's job passed: their test-runs are units of the job and belong to no benchmark-run."""
    rows = db.execute(
        "SELECT DISTINCT u.case_id FROM unit u JOIN test_run r ON r.id = u.test_run_id"
        " WHERE u.job_id = ? AND r.benchmark_run_id IS NULL AND r.passed = 1 ORDER BY u.case_id",
        (run_id,),
    )
    return [row[0] for row in rows]


@frozen_type
class Earlier:
    """An earlier benchmark-run, as far as a later one is compared with it."""

    id: str
    judged_alike: str
    series: str
    passed: int
    total: int
    score: float


def earlier(db: Db, benchmark_id: str, *, judged_alike: str | None = None) -> Earlier | None:
    """The newest whole run of the benchmark, judged under the same digests where they are given."""
    row = db.execute(
        "SELECT id, judged_alike, series, passed_count, total_count, overall_score FROM benchmark_run"
        f" WHERE benchmark_id = ? AND {WHOLE} AND (? IS NULL OR judged_alike = ?) ORDER BY ran_at DESC, seq DESC LIMIT 1",
        (benchmark_id, judged_alike, judged_alike),
    ).fetchone()
    return None if row is None else Earlier(*row)


def series_of(db: Db, run_id: str) -> str:
    """Returns which trend the benchmark-run belongs to: equal for runs that are measured alike."""
    return db.execute("SELECT series FROM benchmark_run WHERE id = ?", (run_id,)).fetchone()[0]


def newest_with_event(db: Db, kind: str, *, first: str, last: str) -> str | None:
    """The newest whole run of a benchmark about which there is such an event, from the one run to the other."""
    row = db.execute(
        f"SELECT id FROM benchmark_run WHERE benchmark_id = (SELECT benchmark_id FROM benchmark_run WHERE id = ?1) AND {WHOLE}"
        " AND seq BETWEEN (SELECT seq FROM benchmark_run WHERE id = ?1) AND (SELECT seq FROM benchmark_run WHERE id = ?2)"
        " AND EXISTS (SELECT 1 FROM event WHERE subject_id = benchmark_run.id AND type = ?3) ORDER BY seq DESC LIMIT 1",
        (first, last, kind),
    ).fetchone()
    return None if row is None else row[0]


def same_yardsticks(db: Db, previous: str, current: str) -> bool:
    """Returns whether the cases that both runs have were judged under the same rubrics by the same judges."""
    query = (
        "SELECT test_case_id, json_extract(rest, '$.digests.rubric') AS rubric, json_extract(rest, '$.digests.judge') AS judge"
        " FROM test_run WHERE benchmark_run_id = ? GROUP BY test_case_id"
    )
    changed = db.execute(
        f"SELECT 1 FROM ({query}) p JOIN ({query}) c USING (test_case_id)"
        " WHERE p.rubric IS NOT c.rubric OR p.judge IS NOT c.judge LIMIT 1",
        (previous, current),
    )
    return changed.fetchone() is None


def all_edited(db: Db, previous: str, current: str) -> bool:
    """Returns whether the runs have cases in common, and each of them or what scores it was edited in between."""
    query = (
        "SELECT test_case_id, json_extract(rest, '$.digests.testCase') AS content, json_extract(rest, '$.digests.scorer') AS scorer,"
        " json_extract(rest, '$.digests.embedder') AS embedder FROM test_run WHERE benchmark_run_id = ? GROUP BY test_case_id"
    )
    in_common, alike = db.execute(
        "SELECT count(*), total(p.content IS c.content AND p.scorer IS c.scorer AND p.embedder IS c.embedder)"
        f" FROM ({query}) p JOIN ({query}) c USING (test_case_id)",
        (previous, current),
    ).fetchone()
    return in_common > 0 and not alike


@frozen_type
class Mean:
    """A criterion's or named metric's mean over a benchmark-run."""

    dimension: str
    title: str
    score: float
    max_score: float
    runs: int


def means(db: Db, run_id: str) -> list[Mean]:
    """The mean of every criterion and every named metric; the implicit criteria of single cases are left out."""
    criteria = db.execute(
        "SELECT j.criterion_id, coalesce((SELECT json_extract(fields, '$.name') FROM minion WHERE id = j.criterion_id), j.criterion_id),"
        " avg(j.score), max(j.max_score), count(*)"
        " FROM eval_judgment j JOIN test_run r ON r.id = j.test_run_id"
        " WHERE r.benchmark_run_id = ? AND j.criterion_id NOT LIKE 'implicit:%' GROUP BY j.criterion_id ORDER BY j.criterion_id",
        (run_id,),
    ).fetchall()
    named = db.execute(
        "SELECT m.name, m.name, avg(m.score), 1.0, count(*) FROM metric_score m JOIN test_run r ON r.id = m.test_run_id"
        " WHERE r.benchmark_run_id = ? GROUP BY m.name ORDER BY m.name",
        (run_id,),
    ).fetchall()
    return [Mean(*row) for row in (*criteria, *named)]


def kept_means(db: Db, run_id: str) -> dict[str, float]:
    """The eval-metrics of an earlier benchmark-run, by dimension."""
    return dict(db.execute("SELECT dimension, score FROM eval_metric WHERE benchmark_run_id = ?", (run_id,)).fetchall())


def newest_id(db: Db) -> str | None:
    """The newest benchmark-run."""
    row = db.execute("SELECT id FROM benchmark_run ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else row[0]


def last_passing(db: Db, benchmark_id: str, threshold: float) -> str | None:
    """The newest run of the benchmark that reached the threshold."""
    row = db.execute(
        f"SELECT id FROM benchmark_run WHERE benchmark_id = ? AND {WHOLE} AND overall_score >= ?"
        " ORDER BY ran_at DESC, seq DESC LIMIT 1",
        (benchmark_id, threshold),
    ).fetchone()
    return None if row is None else row[0]


def runs_of(
    db: Db, run_id: str, *, passed: bool | None = None, after: int = 0, limit: int = 100
) -> list[tuple[int, Record[TestRun]]]:
    """A page of a benchmark-run's test-runs in the order in which they were recorded."""
    table = table_of(TestRun)
    rows = db.execute(
        select(table, f"benchmark_run_id = ? AND (? IS NULL OR passed = ?) AND seq > ? ORDER BY seq {AT_MOST}"),
        (run_id, passed, passed, after, limit),
    )
    return [(row[0], record_of(table, row)) for row in rows]


def failing_of(db: Db, job_id: str, *, limit: int) -> list[Record[TestRun]]:
    """The failed runs of a job, the gravest and the lowest scores first."""
    table = table_of(TestRun)
    rows = db.execute(
        select(
            table,
            "passed = 0 AND id IN (SELECT test_run_id FROM unit WHERE job_id = ?)"
            f" ORDER BY total_score / max_possible_score, seq {AT_MOST}",
        ),
        (job_id, limit),
    )
    return [record_of(table, row) for row in rows]


def failed_ids(db: Db, job_id: str) -> list[str]:
    """The ids of a job's failed runs, in the order in which they were recorded."""
    rows = db.execute(
        "SELECT id FROM test_run WHERE passed = 0 AND id IN (SELECT test_run_id FROM unit WHERE job_id = ?) ORDER BY seq",
        (job_id,),
    )
    return [row[0] for row in rows]


def failed_cases(db: Db, job_id: str) -> set[str]:
    """The cases of which a run failed in that job."""
    rows = db.execute(
        "SELECT test_case_id FROM test_run WHERE passed = 0 AND id IN (SELECT test_run_id FROM unit WHERE job_id = ?)",
        (job_id,),
    )
    return {row[0] for row in rows}


def newest_verdicts(db: Db, case_ids: Sequence[str]) -> dict[str, bool]:
    """Returns whether the newest run of each of those cases passed, as far as they ran."""
    rows = db.execute(
        "SELECT value, (SELECT passed FROM test_run WHERE test_case_id = value ORDER BY seq DESC LIMIT 1) FROM json_each(?)",
        (json.dumps(list(case_ids)),),
    )
    return {case_id: bool(passed) for case_id, passed in rows if passed is not None}


def job_runs(db: Db, job_id: str, *, limit: int) -> list[Record[TestRun]]:
    """The runs of a job in the order of its cases and trials."""
    table = table_of(TestRun)
    rows = db.execute(
        select(
            table,
            f"id IN (SELECT test_run_id FROM unit WHERE job_id = ? ORDER BY position, trial {AT_MOST}) ORDER BY seq",
        ),
        (job_id, limit),
    )
    return [record_of(table, row) for row in rows]


def runs_of_case(db: Db, job_id: str, case_id: str) -> list[Record[TestRun]]:
    """The runs of one case in a job, in the order of its trials."""
    table = table_of(TestRun)
    rows = db.execute(
        select(table, "id IN (SELECT test_run_id FROM unit WHERE job_id = ? AND case_id = ?) ORDER BY trial"),
        (job_id, case_id),
    )
    return [record_of(table, row) for row in rows]


def judgments_of(db: Db, test_run_id: str) -> list[Record[EvalJudgment]]:
    """A test-run's judgments."""
    table = table_of(EvalJudgment)
    rows = db.execute(select(table, "test_run_id = ? ORDER BY seq"), (test_run_id,))
    return [record_of(table, row) for row in rows]


def failures_of(db: Db, test_run_ids: Sequence[str]) -> dict[str, Record[EvalFailure]]:
    """The first eval-failure of each of those test-runs, by test-run."""
    table = table_of(EvalFailure)
    rows = db.execute(
        select(table, "test_run_id IN (SELECT value FROM json_each(?)) ORDER BY seq DESC"),
        (json.dumps(list(test_run_ids)),),
    )
    failures = [record_of(table, row) for row in rows]
    return {record.fields.test_run_id: record for record in failures}


def failure_types(db: Db, run_id: str) -> dict[str, int]:
    """Returns how many of a benchmark-run's failed runs failed how."""
    rows = db.execute(
        "SELECT f.failure_type, count(*) FROM test_run r JOIN eval_failure f ON f.test_run_id = r.id AND f.id = r.id || ':failure'"
        " WHERE r.benchmark_run_id = ? AND r.passed = 0 GROUP BY 1 ORDER BY 2 DESC, 1",
        (run_id,),
    )
    return dict(rows.fetchall())


def benchmark_run(db: Db, run_id: str) -> Record[BenchmarkRun] | None:
    """A benchmark-run without the list of its test-runs."""
    table = table_of(BenchmarkRun)
    row = db.execute(select(table, "id = ?"), (run_id,)).fetchone()
    return None if row is None else record_of(table, row)


def run_before(db: Db, *, run_id: str) -> str | None:
    """The newest whole run of the same benchmark that ended before that one."""
    row = db.execute(
        f"SELECT id FROM benchmark_run WHERE benchmark_id = (SELECT benchmark_id FROM benchmark_run WHERE id = ?) AND {WHOLE}"
        " AND seq < (SELECT seq FROM benchmark_run WHERE id = ?) ORDER BY seq DESC LIMIT 1",
        (run_id, run_id),
    ).fetchone()
    return None if row is None else row[0]


def rationales(db: Db, job_id: str) -> dict[str, str]:
    """Returns why each test-run of a job was scored as it was: its judgments' rationales, one after the other."""
    return _rationales(db, "SELECT test_run_id FROM unit WHERE job_id = ?", job_id)


def rationales_of(db: Db, test_run_ids: Iterable[str]) -> dict[str, str]:
    """As `rationales`, of those test-runs."""
    return _rationales(db, "SELECT value FROM json_each(?)", json.dumps([*test_run_ids]))


def _rationales(db: Db, whose: str, given: str) -> dict[str, str]:
    rows = db.execute(
        f"SELECT test_run_id, rationale FROM eval_judgment WHERE test_run_id IN ({whose}) ORDER BY seq", (given,)
    )
    by_run: dict[str, str] = {}
    for test_run_id, rationale in rows:
        by_run[test_run_id] = f"{by_run[test_run_id]}; {rationale}" if test_run_id in by_run else rationale
    return by_run


def record_benchmark_run(
    db: Db, run: Record[BenchmarkRun], *, judged_alike: str, series_key: str, at: datetime
) -> None:
    """Keeps a concluded benchmark-run and its event."""
    insert(db, run, judged_alike=judged_alike, series=series_key)
    fields = run.fields
    detail = {
        "benchmarkId": fields.benchmark_id,
        "overallScore": fields.overall_score,
        "isRegression": fields.is_regression,
    }
    append(db, Event("benchmark-run-recorded", "benchmark-run", run.id, {**detail}), at=at)

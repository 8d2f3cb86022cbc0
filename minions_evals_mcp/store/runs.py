"""Results: a unit's end in one transaction, and the figures from which a benchmark-run is concluded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import add

from minions_evals_mcp.domain.outcomes import Ended, UnitKey
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, EvalFailure, EvalJudgment, TestRun
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.intervals import ScoreSums
from minions_evals_mcp.store import unit_rows
from minions_evals_mcp.store.connection import AT_MOST, Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.rows import BY_OWN_JUDGE, WHOLE, insert, record_of, select, table_of


def record_unit(db: Db, key: UnitKey, case_id: str, ended: Ended, *, at: datetime) -> None:
    """Keeps how one unit ended: its run with judgments, failure and events, all or nothing."""
    unit_rows.write(db, [unit_rows.rows_of(key, case_id, ended)], at=at)


@frozen_type
class Sums:
    """The sums of a benchmark-run, over groups: of scores and maxPossibleScore, and of passed and all test-runs.

    A case without a group is its own. `passes_score`: every score is all of its maximum for a pass and 0 for a fail, and the
    maxima are equal, so that pass rate and score are one figure.
    """

    runs: int
    passed: int
    cases: int
    scores: ScoreSums
    passes: ScoreSums
    passes_score: bool


BY_CASE = (
    "FROM unit u CROSS JOIN test_run r ON r.id = u.test_run_id WHERE u.job_id = ? AND r.benchmark_run_id = u.job_id"
    " GROUP BY u.position"
)
"""The test-runs `r` of a benchmark-run by case, in their order. SQLite sorts in memory: these are kept so, and never sorted."""


def has_any(db: Db, run_id: str) -> bool:
    """Returns whether a test-run belongs to that benchmark-run."""
    return db.execute("SELECT 1 FROM test_run WHERE benchmark_run_id = ? LIMIT 1", (run_id,)).fetchone() is not None


def sums(db: Db, run_id: str) -> Sums:
    """The sums over a benchmark-run's test-runs."""
    cases, odd, lowest, highest, grouped, *alone = db.execute(
        f"SELECT count(*), total(odd), min(lowest), max(highest), count(g), {_SUMS_OF.format(when=' FILTER (WHERE g IS NULL)')}"
        f" FROM ({_OF_CASES})",
        (run_id,),
    ).fetchone()
    together = [0.0] * len(alone)
    if grouped:  # a second pass, for few runs have groups and those of a million cases are not sorted for none
        together = db.execute(
            f"SELECT {_SUMS_OF.format(when='')} FROM (SELECT sum(n) AS n, sum(p) AS p, sum(s) AS s, sum(m) AS m"
            f" FROM ({_OF_CASES}) WHERE g IS NOT NULL GROUP BY g)",
            (run_id,),
        ).fetchone()
    units, score, possible, ss, sm, mm, per_point, passed, tried, pp, pn, nn, per_trial = map(add, alone, together)
    return Sums(
        int(tried),
        int(passed),
        cases,
        ScoreSums(int(units), score, possible, ss, sm, mm, per_point),
        ScoreSums(int(units), passed, tried, pp, pn, nn, per_trial),
        passes_score=not odd and lowest == highest,
    )


_OF_CASES = (
    "SELECT count(*) AS n, sum(r.passed) AS p, sum(r.total_score) AS s, sum(r.max_possible_score) AS m,"
    " min(r.rest ->> '$.group') AS g, sum(r.total_score <> r.passed * r.max_possible_score) AS odd,"
    f" min(r.max_possible_score) AS lowest, max(r.max_possible_score) AS highest {BY_CASE}"
)
_SUMS_OF = (
    "count(*){when}, total(s){when}, total(m){when}, total(s * s){when}, total(s * m){when}, total(m * m){when},"
    " total(s * s * 1.0 / m){when}, total(p){when}, total(n){when}, total(p * p){when}, total(p * n){when},"
    " total(n * n){when}, total(p * p * 1.0 / n){when}"
)


def canaries_passed(db: Db, run_id: str) -> list[str]:
    """The canaries that a benchmark's job passed: their test-runs are units of the job and belong to no benchmark-run."""
    rows = db.execute(
        "SELECT DISTINCT u.case_id FROM unit u JOIN test_run r ON r.id = u.test_run_id"
        " WHERE u.job_id = ?1 AND r.benchmark_run_id IS NULL AND r.passed = 1"
        # Most have no canary: all that was judged is part of the figures, which two counts tell.
        " AND (SELECT count(test_run_id) FROM unit WHERE job_id = ?1) > (SELECT count(*) FROM test_run WHERE benchmark_run_id = ?1)"
        " ORDER BY u.case_id",
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


def earlier(db: Db, benchmark_id: str, *, judged_alike: str | None = None, target: str | None = None) -> Earlier | None:
    """The newest whole run of the benchmark, judged under the same digests and made by the target of that name, if given."""
    row = db.execute(
        "SELECT id, judged_alike, series, passed_count, total_count, overall_score FROM benchmark_run"
        f" WHERE benchmark_id = ? AND {WHOLE} AND (? IS NULL OR judged_alike = ?)"
        " AND (? IS NULL OR (SELECT spec ->> '$.request.target' FROM job WHERE job.id = benchmark_run.id) = ?)"
        " ORDER BY ran_at DESC, seq DESC LIMIT 1",
        (benchmark_id, judged_alike, judged_alike, target, target),
    ).fetchone()
    return None if row is None else Earlier(*row)


def answering_models(db: Db, run_id: str, *, shared_with: str | None = None) -> str | None:
    """The models that the replies of the run's judges name, in the order of their names; None where none is named.

    With `shared_with`, those of the cases that this other run has, too.
    """
    shared = (
        ""
        if shared_with is None
        else " AND test_case_id IN (SELECT test_case_id FROM test_run WHERE benchmark_run_id = ?)"
    )
    rows = db.execute(
        f"SELECT DISTINCT rest ->> '$.answeredBy' AS model FROM test_run WHERE benchmark_run_id = ? AND model IS NOT NULL{shared}",
        (run_id,) if shared_with is None else (run_id, shared_with),
    )
    return _each_once(row[0] for row in rows)


def answering_models_in(db: Db, *, run_id: str | None = None, series: str = "") -> str | None:
    """The models that judged in that finished run, or in the newest whole run of the series."""
    where, value = ("id = ?", run_id) if run_id is not None else (f"series = ? AND {WHOLE}", series)
    row = db.execute(
        f"SELECT rest ->> '$.answeredBy' FROM benchmark_run WHERE {where} ORDER BY ran_at DESC, seq DESC LIMIT 1",
        (value,),
    ).fetchone()
    return None if row is None or row[0] is None else _each_once(row)


def _each_once(named: Iterable[str]) -> str | None:
    """The models of several outputs: of one output with several criteria there may be several already."""
    return ", ".join(sorted({model for names in named for model in names.split(", ")})) or None


def judges_of(db: Db, run_id: str) -> tuple[str, ...]:
    """The models, callers and people that judged the benchmark-run; none where rules did."""
    rows = db.execute(
        "SELECT DISTINCT j.judged_by FROM test_run r JOIN eval_judgment j ON j.test_run_id = r.id"
        " WHERE r.benchmark_run_id = ? AND j.judged_by_type <> 'heuristic' ORDER BY j.judged_by LIMIT 10",
        (run_id,),
    )
    return tuple(row[0] for row in rows)


def own_run(db: Db, benchmark_id: str) -> str | None:
    """The newest run in the standing of the benchmark that its own judge judged."""
    row = db.execute(
        f"SELECT id FROM benchmark_run WHERE benchmark_id = ? AND {WHOLE} AND {BY_OWN_JUDGE} ORDER BY ran_at DESC, seq DESC LIMIT 1",
        (benchmark_id,),
    ).fetchone()
    return None if row is None else row[0]


def newest_of_two_versions(db: Db, benchmark_id: str) -> list[tuple[str, str]]:
    """The newest run of the benchmark under a prompt version and the newest under another, the earlier first; each with its version."""
    rows = db.execute(
        "SELECT id, prompt_version_ref FROM (SELECT id, prompt_version_ref, max(seq) AS newest FROM benchmark_run"
        f" WHERE benchmark_id = ? AND {WHOLE} AND prompt_version_ref IS NOT NULL GROUP BY prompt_version_ref)"
        " ORDER BY newest DESC LIMIT 2",
        (benchmark_id,),
    ).fetchall()
    return [(run_id, version) for run_id, version in reversed(rows)]


def newest_two(db: Db, benchmark_id: str) -> list[str]:
    """The two newest whole runs of the benchmark, the earlier first; fewer where there are not two."""
    rows = db.execute(
        f"SELECT id FROM benchmark_run WHERE benchmark_id = ? AND {WHOLE} ORDER BY seq DESC LIMIT 2", (benchmark_id,)
    ).fetchall()
    return [run_id for (run_id,) in reversed(rows)]


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


def has_regressed_since(db: Db, benchmark_id: str, since: str) -> bool:
    """Whether a run of the benchmark was recorded as a regression since that run, by more than chance."""
    regressed = (
        "SELECT EXISTS (SELECT 1 FROM benchmark_run WHERE benchmark_id = ? AND is_regression"
        " AND rest ->> '$.evidence' = 'supported' AND rest ->> '$.fall.since' = ?)"
    )
    return bool(db.execute(regressed, (benchmark_id, since)).fetchone()[0])


@frozen_type
class Mean:
    """A criterion's or named metric's mean over a benchmark-run."""

    dimension: str
    title: str
    score: float
    max_score: float
    runs: int


_OF_RUN = "FROM test_run r CROSS JOIN {0} ON test_run_id = r.id WHERE r.benchmark_run_id = ?1"
_OF_CRITERION = (
    "SELECT ?2, coalesce((SELECT json_extract(fields, '$.name') FROM minion WHERE id = ?2), ?2), avg(j.score), max(j.max_score), count(*)"
    f" {_OF_RUN.format('eval_judgment j')} AND j.criterion_id = ?2"
)
_OF_METRIC = f"SELECT ?2, ?2, avg(m.score), 1.0, count(*) {_OF_RUN.format('metric_score m')} AND m.name = ?2"
"""One criterion or metric after the other: those of a run are few, and grouping all that was judged would hold it."""


def means(db: Db, run_id: str) -> list[Mean]:
    """The mean of every criterion and every named metric; the implicit criteria of single cases are left out."""
    criteria = db.execute(
        f"SELECT DISTINCT j.criterion_id {_OF_RUN.format('eval_judgment j')} AND j.criterion_id NOT LIKE 'implicit:%'",
        (run_id,),
    ).fetchall()
    named = db.execute(f"SELECT DISTINCT m.name {_OF_RUN.format('metric_score m')}", (run_id,)).fetchall()
    return [
        *(Mean(*db.execute(_OF_CRITERION, (run_id, *row)).fetchone()) for row in sorted(criteria)),
        *(Mean(*db.execute(_OF_METRIC, (run_id, *row)).fetchone()) for row in sorted(named)),
    ]


def kept_means(db: Db, run_id: str) -> dict[str, float]:
    """The eval-metrics of an earlier benchmark-run, by dimension."""
    return dict(db.execute("SELECT dimension, score FROM eval_metric WHERE benchmark_run_id = ?", (run_id,)).fetchall())


def kept_scales(db: Db, run_id: str) -> dict[str, float]:
    """The highest score of each of them, by dimension."""
    return dict(
        db.execute("SELECT dimension, max_score FROM eval_metric WHERE benchmark_run_id = ?", (run_id,)).fetchall()
    )


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
    gravest = "total_score / max_possible_score, seq"
    rows = db.execute(
        select(
            table,
            "seq IN (SELECT seq FROM unit u CROSS JOIN test_run r ON r.id = u.test_run_id WHERE u.job_id = ? AND r.passed = 0"
            f" ORDER BY {gravest} {AT_MOST}) ORDER BY {gravest}",
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
        "SELECT f.failure_type FROM test_run r JOIN eval_failure f ON f.test_run_id = r.id AND f.id = r.id || ':failure'"
        " WHERE r.benchmark_run_id = ? AND r.passed = 0",
        (run_id,),
    )
    counted = Counter(row[0] for row in rows)
    return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


def benchmark_run(db: Db, run_id: str) -> Record[BenchmarkRun] | None:
    """A benchmark-run without the list of its test-runs."""
    table = table_of(BenchmarkRun)
    row = db.execute(select(table, "id = ?"), (run_id,)).fetchone()
    return None if row is None else record_of(table, row)


def run_before(db: Db, *, run_id: str) -> str | None:
    """The run that this one is compared with: the newest whole run of its benchmark before it, unless it names an older one."""
    row = db.execute(
        "SELECT coalesce(r.rest ->> '$.comparedWith', (SELECT id FROM benchmark_run WHERE benchmark_id = r.benchmark_id"
        f" AND {WHOLE} AND (ran_at, seq) < (r.ran_at, r.seq) ORDER BY ran_at DESC, seq DESC LIMIT 1))"
        " FROM benchmark_run r WHERE r.id = ?",
        (run_id,),
    ).fetchone()
    return None if row is None else row[0]


def rationales(db: Db, job_id: str) -> dict[str, str]:
    """Returns why each test-run of a job was scored as it was: its judgments' rationales, one after the other."""
    return _rationales(db, "SELECT test_run_id FROM unit WHERE job_id = ?", job_id)


def rationales_of(db: Db, test_run_ids: Iterable[str]) -> dict[str, str]:
    """As `rationales`, of those test-runs."""
    return _rationales(db, "SELECT value FROM json_each(?)", json.dumps([*test_run_ids]))


@frozen_type
class NamedJudgment:
    """A judgment of a test-run: its criterion's name, the share of its range that it reached, and why."""

    name: str
    fraction: float
    rationale: str


def judgments_in(db: Db, job_id: str) -> dict[str, list[NamedJudgment]]:
    """The judgments of a job's test-runs, by test-run, in the order of the rubric."""
    rows = db.execute(
        "SELECT j.test_run_id, coalesce((SELECT json_extract(fields, '$.name') FROM minion WHERE id = j.criterion_id), j.criterion_id),"
        " (j.score - j.min_score) / (j.max_score - j.min_score), j.rationale"
        " FROM unit u CROSS JOIN eval_judgment j ON j.test_run_id = u.test_run_id WHERE u.job_id = ? ORDER BY j.seq",
        (job_id,),
    )
    judgments: dict[str, list[NamedJudgment]] = {}
    for run_id, *judgment in rows:
        judgments.setdefault(run_id, []).append(NamedJudgment(*judgment))
    return judgments


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


def outputs_of(db: Db, run_id: str) -> int | None:
    """The number of test-runs that a concluded benchmark-run counts; None where there is none of that id."""
    row = db.execute("SELECT total_count FROM benchmark_run WHERE id = ?", (run_id,)).fetchone()
    return None if row is None else row[0]

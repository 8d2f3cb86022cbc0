"""The parts of a comparison of two benchmark-runs: each case's scores, passes and digests, and the scores of each criterion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Approval, PromptComparison
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.compared import given_back
from minions_evals_mcp.store.rows import UNSELECTED, record_of, select, table_of

MEASURED = ("testCase", "rubric", "judge", "scorer", "embedder")
"""The digests that must agree for two scores to be compared."""


@dataclass(slots=True, eq=False)
class CaseScores:
    """One case of a run: the share of its points that each trial reached, whether it passed, and what measured it."""

    possible: float
    fractions: list[float] = field(default_factory=list[float])
    passed: list[bool] = field(default_factory=list[bool])
    digests: tuple[str | None, ...] = ()
    self_judged: bool = False
    group: str | None = None


def case_scores(db: Db, run_id: str) -> dict[str, CaseScores]:
    """The cases of a benchmark-run by id, in the order in which they were recorded; trials in theirs."""
    extracted = ", ".join(f"json_extract(rest, '$.digests.{name}')" for name in MEASURED)
    rows = db.execute(
        f"SELECT test_case_id, total_score, max_possible_score, passed,"
        f" coalesce(json_extract(rest, '$.selfJudged'), 0) OR (judge_type = 'llm' AND json_extract(rest, '$.producedBy') IS NULL),"
        f" json_extract(rest, '$.group'), {extracted} FROM test_run WHERE benchmark_run_id = ? ORDER BY trial, seq",
        (run_id,),
    )
    scores: dict[str, CaseScores] = {}
    for case_id, score, possible, passed, self_judged, group, *digests in rows:
        case = scores.setdefault(case_id, CaseScores(possible, digests=tuple(digests), group=group))
        case.fractions.append(min(1.0, max(0.0, score / possible)))
        case.passed.append(bool(passed))
        case.self_judged = case.self_judged or bool(self_judged)
    return scores


BothScores = tuple[dict[str, CaseScores], dict[str, CaseScores]]


def both_scores(db: Db, run_a: str, run_b: str) -> BothScores:
    """The cases of two benchmark-runs, as `case_scores`."""
    return case_scores(db, run_a), case_scores(db, run_b)


def checked_by_assertions(db: Db, case_ids: Sequence[str]) -> list[str]:
    """Those of the cases that have assertions and no rubric."""
    rows = db.execute(
        "SELECT id FROM minion WHERE id IN (SELECT value FROM json_each(?)) AND json_extract(fields, '$.rubricId') IS NULL"
        " AND (json_array_length(fields, '$.assertions') > 0 OR json_array_length(fields, '$.everyTurn') > 0"
        " OR json_array_length(fields, '$.agentTurns') > 0 OR json_extract(fields, '$.turns') IS NOT NULL)",
        (json.dumps(list(case_ids)),),
    )
    return [row[0] for row in rows]


def newest_whole(db: Db, benchmark_id: str, *, limit: int) -> list[str]:
    """The newest benchmark-runs of all of the benchmark's cases, comparisons' runs among them; newest first."""
    rows = db.execute(
        f"SELECT id FROM benchmark_run WHERE benchmark_id = ? AND {UNSELECTED} ORDER BY ran_at DESC, seq DESC LIMIT ?",
        (benchmark_id, limit),
    )
    return [row[0] for row in rows]


def passes_in_order(db: Db, run_a: str, run_b: str) -> list[tuple[bool, bool]]:
    """Returns whether each case passed in A and in B, of the cases scored in both, in the order in which they were run."""
    rows = db.execute(
        "SELECT a.passed, b.passed FROM unit u JOIN test_run a ON a.id = u.test_run_id"
        " JOIN test_run b ON b.benchmark_run_id = ?2 AND b.test_case_id = a.test_case_id WHERE u.job_id = ?1 ORDER BY u.position",
        (run_a, run_b),
    )
    return [(bool(before), bool(after)) for before, after in rows]


@dataclass(slots=True, eq=False)
class CriterionScores:
    """One criterion of a run: by case, the share of its range that each trial reached."""

    title: str
    fractions: dict[str, list[float]] = field(default_factory=dict[str, list[float]])


def criterion_scores(db: Db, run_id: str) -> dict[str, CriterionScores]:
    """The criteria of a benchmark-run by id; the implicit criteria of single cases are left out."""
    rows = db.execute(
        "SELECT j.criterion_id, coalesce((SELECT json_extract(fields, '$.name') FROM minion WHERE id = j.criterion_id), j.criterion_id),"
        " r.test_case_id, (j.score - j.min_score) / (j.max_score - j.min_score)"
        " FROM eval_judgment j JOIN test_run r ON r.id = j.test_run_id"
        " WHERE r.benchmark_run_id = ? AND j.criterion_id NOT LIKE 'implicit:%' ORDER BY j.criterion_id, r.trial, r.seq",
        (run_id,),
    )
    scores: dict[str, CriterionScores] = {}
    for criterion_id, title, case_id, fraction in rows:
        scores.setdefault(criterion_id, CriterionScores(title)).fractions.setdefault(case_id, []).append(fraction)
    return scores


def comparison(db: Db, ident: str) -> Record[PromptComparison] | None:
    """The prompt-comparison under that id, or the earlier one of the same outputs that a job of that id gave back."""
    table = table_of(PromptComparison)
    row = db.execute(select(table, "id = ?"), (given_back(db, ident),)).fetchone()
    return None if row is None else record_of(table, row)


def comparisons_of(db: Db, version: str, *, limit: int = 20) -> list[Record[PromptComparison]]:
    """The newest comparisons in which that prompt version is the candidate (B), newest first."""
    table = table_of(PromptComparison)
    rows = db.execute(select(table, "prompt_version_b = ? ORDER BY seq DESC LIMIT ?"), (version, limit))
    return [record_of(table, row) for row in rows]


def approved_of(db: Db, versions: Sequence[str]) -> Record[Approval] | None:
    """The newest approval of one of those prompt versions."""
    table = table_of(Approval)
    marks = ",".join("?" * len(versions))
    row = db.execute(
        select(table, f"decision = 'approved' AND prompt_version_ref IN ({marks}) ORDER BY seq DESC LIMIT 1"),
        tuple(versions),
    ).fetchone()
    return None if row is None else record_of(table, row)


def comparison_of(db: Db, run_a: str, run_b: str) -> Record[PromptComparison] | None:
    """The newest comparison of those two runs, A the earlier; None where nobody compared them."""
    table = table_of(PromptComparison)
    which = "benchmark_run_id_a = ? AND benchmark_run_id_b = ? ORDER BY seq DESC LIMIT 1"
    row = db.execute(select(table, which), (run_a, run_b)).fetchone()
    return None if row is None else record_of(table, row)

"""A small store that holds at least one row of everything, and raw connections that attack it from outside."""

from __future__ import annotations

import json
import sqlite3  # noqa: TID251  the attacker's SQLite: default pragmas, no rules of ours
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.outcomes import NotJudgeable, Observed, UnitKey, Verdict
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.store import jobs, leases, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import open_store
from minions_evals_mcp.store.events import Event, append, tell
from minions_evals_mcp.store.jobs import Job, VerdictKey
from minions_evals_mcp.store.queries.judging.judge_labels import ProbeVerdict, save_probe
from minions_evals_mcp.store.rows import insert
from tests.workshop import START, Json, answer, benchmark, case, minion, rubric

NOW = "2026-11-21T09:00:00Z"
CASES = ("c1", "c2", "c3")
RUNS: dict[str, tuple[str, float, tuple[float, float, float]]] = {
    "run1": ("p@1", 0.7, (1.0, 0.9, 0.2)),
    "run2": ("p@2", 0.9, (1.0, 0.9, 0.8)),
    "run3": ("p@3", 0.4, (0.4, 0.5, 0.3)),
}
"""Benchmark-run: its version, its score, its three test-runs' scores; 0.6 passes; run3 is a regression."""
ABOUT = VerdictKey("subject", "criterion", "judge")


def definitions() -> list[Record[Fields]]:
    """One record of every type that is kept as it was given."""
    return [
        *rubric("rubric", 0.6, tone={"judgeType": "llm"}),
        *(case(one, rubricId="rubric", expectedOutputs={"output": None, "deep": {"null": None}}) for one in CASES),
        benchmark("bench", *CASES, passingThreshold=0.5),
        *(minion(f"p@{number}", "prompt-version", content="Hi", versionNumber=number) for number in (1, 2, 3)),
        *(answer(f"answer-{one}", one, "said") for one in CASES),
        answer("answer-open", "c1", "not yet", status="running"),
        minion("skill", "skill-definition", name="Skill", qualityGates=[{"benchmarkId": "bench", "minScore": 0.5}]),
        minion("draft", "proposal-draft", title="Draft", content="Text", scores={"clear": 0.5}, agentRunId="answer-c1"),
        minion("branch", "test-branch", testCaseId="c1", name="Branch", provider="anthropic", model="claude"),
        minion("trend:bench", "eval-trend", benchmarkId="bench", dataPoints="[]", direction="stable", lastComputedAt=NOW),
    ]  # fmt: skip


def a_test_run(ident: str, *, passed: bool, score: float = 0.9, **fields: JsonValue) -> Record[Fields]:
    """A test-run of c1 out of 1."""
    given: dict[str, JsonValue] = {
        "testCaseId": "c1", "outcome": "scored", "actualOutput": {"output": "said", "none": None}, "passed": passed,
        "totalScore": score, "maxPossibleScore": 1.0, "ranAt": NOW, "durationMs": 12, "judgeType": "heuristic",
        "passRule": "rubric_threshold", **fields,
    }  # fmt: skip
    return minion(ident, "test-run", **given)


def judgment(run_id: str, criterion: str = "rubric/tone", score: float = 0.9) -> Record[Fields]:
    """A judgment of that run."""
    return minion(
        f"{run_id}:j:{criterion}", "eval-judgment", testRunId=run_id, criterionId=criterion, score=score, minScore=0.0,
        maxScore=1.0, rationale="It says so.", judgedBy="rules", judgedByType="heuristic", judgedAt=NOW, confidence=0.9,
    )  # fmt: skip


def failure(run_id: str, ident: str = "", **fields: JsonValue) -> Record[Fields]:
    """The eval-failure of that run."""
    given: dict[str, JsonValue] = {
        "testRunId": run_id, "failureType": "wrong-output", "description": "Got x.", "severity": "major",
        "classifiedBy": "rules/1", "confidence": 0.8, **fields,
    }  # fmt: skip
    return minion(ident or f"{run_id}:failure", "eval-failure", **given)


def benchmark_run(ident: str, **fields: JsonValue) -> Record[Fields]:
    """The benchmark-run over the three test-runs of that name in `RUNS`."""
    version, score, scores = RUNS[ident]
    passed = sum(one >= 0.6 for one in scores)
    given: dict[str, JsonValue] = {
        "benchmarkId": "bench", "overallScore": score, "passRate": 100 * passed / 3, "passedCount": passed,
        "totalCount": 3, "errorCount": 0, "passed": score >= 0.5, "ranAt": NOW, "triggeredBy": "test",
        "promptVersionRef": version, "isRegression": ident == "run3", **fields,
    }  # fmt: skip
    return minion(ident, "benchmark-run", **given)


def comparison(
    ident: str, version_a: str, version_b: str, run_a: str, run_b: str, **fields: JsonValue
) -> Record[Fields]:
    """A comparison of two benchmark-runs of `RUNS`."""
    a, b = RUNS[run_a][1], RUNS[run_b][1]
    given: dict[str, JsonValue] = {
        "benchmarkId": "bench", "promptVersionA": version_a, "promptVersionB": version_b, "benchmarkRunIdA": run_a,
        "benchmarkRunIdB": run_b, "scoreA": a, "scoreB": b, "winner": version_b if b > a else version_a, "sampleSize": 3,
        "comparedAt": NOW, "scoreDelta": b - a, "deltaCi": [0.1, 0.5], "pValue": 0.001, "verdict": "improved", **fields,
    }  # fmt: skip
    return minion(ident, "prompt-comparison", **given)


def approval(ident: str, comparison_id: str | None, **fields: JsonValue) -> Record[Fields]:
    """An approval of p@2 by a person."""
    given: dict[str, JsonValue] = {
        "promptVersionRef": "p@2", "comparisonId": comparison_id, "decision": "approved", "reason": "It is better.",
        "decidedBy": "ada", "decidedByType": "human", "decidedAt": NOW, **fields,
    }  # fmt: skip
    return minion(ident, "approval", **given)


def execution(ident: str) -> Record[Fields]:
    """One output of the branch."""
    return minion(
        ident, "test-branch-execution", branchId="branch", output="said", status="success", latencyMs=12.5, inputTokens=1,
        outputTokens=2, totalTokens=3, estimatedCost=0.1, qualityScore=0.5, validJson=False, consistencyHash="h",
    )  # fmt: skip


def verdict(score: float = 0.9) -> Verdict:
    """A verdict on the rubric's criterion."""
    return Verdict(
        criterion_id="rubric/tone", score=score, min_score=0.0, max_score=1.0, rationale="It says so.", judged_by="rules",
        judged_by_type="heuristic", confidence=0.9,
    )  # fmt: skip


def licence(ident: str, **fields: JsonValue) -> Record[Fields]:
    """What labels say of a judge."""
    probe: JsonValue = {"probe": "padded", "outputs": 20, "wrong": 1, "failed": False}
    usual: Json = {
        "criterionId": "rubric/tone", "judgeDigest": "digest", "judgedBy": "a:model", "state": "qualified",
        "reason": "80 labels agree with it", "labels": 80, "labelsDigest": "labels", "attempt": 2, "level": 0.99, "agreed": 0.9,
        "kappa": 0.8, "kappaCi": [0.6, 0.9], "sensitivity": 0.9, "specificity": 0.9, "probes": [probe], "computedAt": NOW,
    }  # fmt: skip
    return minion(ident, "judge-licence", **{**usual, **fields})


def audit(ident: str, **fields: JsonValue) -> Record[Fields]:
    """What cheats and mutants showed of a suite."""
    passed: JsonValue = {"kind": "echo", "text": "what is asked", "told": "", "counted": True}
    case: JsonValue = {
        "testCaseId": "c1", "cheatsPassed": ["echo"], "mutantsSurvived": ["number"], "findings": ["never-fails"],
        "letThrough": [passed], "checks": [{"finding": "never-fails", "check": "regex '.*'"}],
        "suggestion": {"assertions": [{"type": "equals", "value": "7"}], "closes": ["echo"], "inWords": "Add equals."},
    }  # fmt: skip
    usual: Json = {
        "subject": "b", "digest": "cases", "cheatPassRate": 0.5, "mutationScore": 0.25, "caseCount": 2,
        "cheatedCount": 1, "mutantCount": 4, "killedCount": 1, "byKind": {"echo": 1}, "findings": {"never-fails": 1},
        "covers": {"b": "cases"}, "cases": [case], "auditedAt": NOW,
    }  # fmt: skip
    return minion(ident, "audit", **{**usual, **fields})


def write_run(db: Db, ident: str) -> None:
    """Writes a benchmark-run of `RUNS` with its test-runs, failures and, where it regressed, what is told."""
    version, _, scores = RUNS[ident]
    for number, (case_id, score) in enumerate(zip(CASES, scores, strict=True), 1):
        run = a_test_run(
            f"{ident}:{number}.1", passed=score >= 0.6, score=score, testCaseId=case_id, benchmarkRunId=ident,
            promptVersionRef=version, agentRunId=f"answer-{case_id}",
        )  # fmt: skip
        if score < 0.6:
            insert(db, failure(run.id))
        insert(db, run)
        insert(db, judgment(run.id, score=score))
        db.execute("INSERT INTO metric_score VALUES (?, 'named', ?)", (run.id, score))
    if ident == "run3":
        tell_regression(db, ident)
    insert(db, benchmark_run(ident), judged_alike="same", series="series")
    metric = minion(
        f"{ident}:m1", "eval-metric", benchmarkRunId=ident, dimension="tone", score=0.5, maxScore=1.0, notes="n"
    )
    insert(db, metric)
    append(db, Event("benchmark-run-recorded", "benchmark-run", ident, {}), at=START)


def tell_regression(db: Db, ident: str) -> None:
    """The critical eval-failure, the task and the message without which a regression cannot be kept."""
    insert(db, failure(f"{ident}:1.1", f"{ident}:regression", severity="critical", benchmarkRunId=ident))
    task = minion(f"{ident}:task", "task", title="Investigate benchmark regression")
    tell(db, task, key=f"investigate-regression:{ident}", addressee="tasks")
    message = minion(
        f"{ident}:message", "agent-message", fromAgentId="eval-agent", toAgentId="orchestrator", sentAt=NOW,
        type="benchmark-regression",
    )  # fmt: skip
    tell(db, message, key=f"benchmark-regression:{ident}", addressee="orchestrator")


def fill(db: Db) -> None:
    """Writes one of everything."""
    for record in definitions():
        records.save(db, record)
        append(db, Event("record-saved", record.type, record.id, {}), at=START)
    records.save_relation(db, Relation("p@2", "p@1", "follows"))
    records.save_relation(db, Relation("p@3", "p@2", "follows"))
    for ident in RUNS:
        write_run(db, ident)
    insert(db, comparison("better", "p@1", "p@2", "run1", "run2"))
    insert(db, comparison("unclear", "p@3", "p@1", "run3", "run1", verdict="inconclusive"))
    insert(db, approval("approved", "better"))
    insert(db, execution("branch:1"))
    insert(db, licence("licence:1"))
    insert(db, audit("audit:1"))
    save_probe(db, ProbeVerdict("digest", "rubric/tone", "padded", "run1:1.1", wrong=False, said="{}"), at=0)
    job = Job("job", "key", "test-case", "c1", {}, "awaiting-judgments", "", {}, 1, START, START)
    jobs.start(db, job)
    unit = UnitKey("job", 0, 1)
    said = Observed(output={"output": "said"})
    jobs.save_units(db, [jobs.UnitRow(unit, "c1", "awaiting-judgments", observed=said, packet="p")])
    leases.grant(db, leases.ChunkLease("job", 1, 1, "tcp://10.0.0.1:1", [unit]), at=START, lasts=timedelta(seconds=60))
    jobs.save_verdict(db, unit, ABOUT, verdict(), at=START)
    later = START + timedelta(seconds=1)
    jobs.save_verdict(db, UnitKey("job", 1, 1), ABOUT, NotJudgeable("rubric/tone", "no picture"), at=later)


async def make(path: Path) -> None:
    """Makes the small store in that file and closes it, so that the file is all there is."""
    async with open_store(path) as store:
        await store.write(fill)


TABLES = (
    "minion", "agent_run_key", "relation", "test_run", "eval_failure", "eval_judgment", "metric_score", "benchmark_run",
    "eval_metric", "prompt_comparison", "approval", "test_branch_execution", "outbox", "event", "job", "unit", "verdict",
    "judge_licence", "probe_verdict", "explained_day", "failure_cause", "audit", "unit_lease",
)  # fmt: skip


@contextmanager
def raw(path: Path) -> Generator[sqlite3.Connection]:
    """A connection of the standard library's with its defaults: no foreign keys, no recursive triggers."""
    with closing(sqlite3.connect(path)) as db:
        yield db


def contents(path: Path) -> str:
    """Every row of every table."""
    with raw(path) as db:
        return json.dumps({table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES})


def refusal(path: Path, *statements: str) -> str | None:
    """What the database answers to those statements in one transaction; None where it takes them all."""
    with raw(path) as db:
        try:
            for statement in statements:
                db.execute(statement)
            db.commit()
        except sqlite3.Error as error:
            return str(error)
    return None

"""The rules of what a seal hides and what it still shows: the redaction of every table, and the verdict that answers instead."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.frozen_types import frozen_type

SEALED = "sealed"
"""The status of a case whose content is hidden, and what stands in place of its words."""
SHOWN_OF_A_CASE = (
    "promptId", "promptVersionRef", "rubricId", "agentId", "skillId", "status", "threshold", "passRule", "maxScore",
    "timeoutMs", "createdAt", "createdBy",
)  # fmt: skip
"""The fields of a sealed case that are shown: where it belongs and how strict it is, nothing of what it says."""

_CASE = "case_id IN veiled_case"


@frozen_type
class Redaction:
    """The showing of a table where something is sealed: rows that are left out, and columns whose value is replaced.

    Both are SQL over the table's columns and the names of what is sealed: `veiled_case`, `veiled_run`, `veiled_benchmark`,
    `veiled_output` (recorded outputs that stood when the seal was made, or are marked) and `veiled_test_run`, each a table of ids.
    """

    leaves_out: str = "0"
    replaces: Mapping[str, str] = field(default_factory=dict[str, str])


def _case_fields() -> str:
    """A case with the fields that are shown, and a name that says that it is sealed."""
    shown = ", ".join(f"'{name}', fields -> '$.{name}'" for name in SHOWN_OF_A_CASE)
    return f"json_patch(json_object('name', 'sealed case'), json_object({shown}))"


def _for_case(value: str, column: str) -> str:
    return f"CASE WHEN type = 'test-case' AND id IN veiled_case THEN {value} ELSE {column} END"


def _blanked(column: str, *, where: str) -> str:
    """A message or task whose words are taken away, so that its place in the queue stays."""
    words = (
        "'$.title', 'sealed', '$.description', 'sealed', '$.payload', json('{\"sealed\":true}'), '$.value', 'sealed'"
    )
    return f"CASE WHEN {where} THEN json_replace({column}, {words}) ELSE {column} END"


def _names(column: str, *paths: str) -> str:
    """Returns whether the JSON names something sealed under one of the paths."""
    kinds = {"testCaseId": "veiled_case", "testRunId": "veiled_test_run"}
    return " OR ".join(
        f"json_extract({column}, '$.{path}') IN {kinds.get(path.split('.')[-1], 'veiled_run')}" for path in paths
    )


_ABOUT = _names(
    "fields", "contextRefId", "contextRef.id", "payload.runId", "payload.benchmarkRunId", "payload.testCaseId",
    "sourceRefId", "payload.previousRunId", "value.testCaseId", "value.testRunId",
)  # fmt: skip

REDACTIONS: Mapping[str, Redaction] = {
    "minion": Redaction(
        "(type IN ('agent-run', 'proposal-draft')"
        " AND (id IN veiled_output OR json_extract(fields, '$.agentRunId') IN veiled_output))"
        " OR (type = 'eval-trend' AND json_extract(fields, '$.benchmarkId') IN veiled_benchmark)"
        " OR (type = 'test-branch' AND json_extract(fields, '$.testCaseId') IN veiled_case)",
        {
            "title": _for_case("'sealed case'", "title"),
            "fields": f"CASE WHEN type = 'test-case' AND id IN veiled_case THEN {_case_fields()}"
            " WHEN type = 'benchmark' AND id IN veiled_benchmark THEN json_remove(fields, '$.lastScore', '$.lastRunAt',"
            " '$.lastJudgedBy')"
            " ELSE fields END",
            "tags": _for_case("'[]'", "tags"),
            "status": _for_case(f"'{SEALED}'", "status"),
            "digest": _for_case("''", "digest"),
        },
    ),
    "agent_run_key": Redaction("id IN veiled_output"),
    "trace_reading": Redaction("trace_id IN veiled_output"),
    "test_run": Redaction("test_case_id IN veiled_case"),
    "eval_failure": Redaction("test_run_id IN veiled_test_run OR benchmark_run_id IN veiled_run"),
    "eval_judgment": Redaction("test_run_id IN veiled_test_run"),
    "metric_score": Redaction("test_run_id IN veiled_test_run"),
    "benchmark_run": Redaction("id IN veiled_run"),
    "eval_metric": Redaction("benchmark_run_id IN veiled_run"),
    "prompt_comparison": Redaction("benchmark_run_id_a IN veiled_run OR benchmark_run_id_b IN veiled_run"),
    "trend_reading": Redaction("run_id IN veiled_run"),
    "level_start": Redaction("run_id IN veiled_run"),
    "audit": Redaction(
        "subject IN veiled_benchmark OR EXISTS (SELECT 1 FROM json_each(rest, '$.cases') c"
        " WHERE json_extract(c.value, '$.testCaseId') IN veiled_case)"
    ),
    "failure_cause": Redaction(
        "benchmark_id IN veiled_benchmark OR first_run_id IN veiled_run OR last_run_id IN veiled_run"
    ),
    "test_branch_execution": Redaction(
        "json_extract(rest, '$.testCaseId') IN veiled_case OR branch_id IN (SELECT id FROM main.minion"
        " WHERE type = 'test-branch' AND json_extract(fields, '$.testCaseId') IN veiled_case)"
    ),
    "unit": Redaction(_CASE),
    "talk": Redaction(_CASE),
    "user_label": Redaction(_CASE),
    "output_note": Redaction(_CASE),
    "verdict": Redaction("job_id IN veiled_run"),
    "expected": Redaction(
        "case_digest IN (SELECT json_extract(rest, '$.digests.testCase') FROM main.test_run"
        " WHERE test_case_id IN veiled_case)"
    ),
    "job": Redaction(
        "subject_id IN veiled_case AND kind = 'ab-test'",
        {"reason": "CASE WHEN id IN veiled_run AND reason <> '' THEN 'sealed' ELSE reason END"},
    ),
    "outbox": Redaction(replaces={"fields": _blanked("fields", where=_ABOUT)}),
    "event": Redaction(
        "type NOT IN ('sealed', 'unsealed', 'sealed-verdict-given') AND (subject_id IN veiled_run"
        " OR subject_id IN veiled_test_run OR subject_id IN veiled_output OR "
        + _names("detail", "testCaseId", "testRunId", "benchmarkRunId", "runId")
        + " OR subject_id IN (SELECT id FROM main.eval_failure WHERE test_run_id IN veiled_test_run)"
        " OR (subject_id IN veiled_case AND type NOT IN ('record-saved', 'record-deleted', 'record-accepted')))"
    ),
}  # fmt: skip
"""What is hidden of each table while a seal stands."""

OPEN_TABLES = frozenset({
    "explained_day", "relation", "approval", "delivery", "inbox", "lease", "agent_cursor", "agent_setup", "person", "handed_in",
    "telemetry", "named_current", "judge_licence", "probe_verdict", "row_digest", "unit_lease", "seal", "sealed_case", "sealed_run",
    "sealed_output", "exposure", "exposed_case", "assignment",
})  # fmt: skip
"""The tables that hold nothing of a sealed case but digests, counts and ids; each other one needs its redaction."""

Verdict = Literal["improved", "regressed", "equivalent", "inconclusive"]


class BudgetLeft(Value):
    """The rest of the error budget: the next attempt's number and its error, and how much all later ones have in all."""

    attempt: int
    level: float
    left: float
    can_decide: bool


class SealedVerdict(Value):
    """All that is told of a comparison on sealed cases, and of the budget that it spent."""

    comparison_id: str
    benchmark_id: str
    version_a: str
    version_b: str
    verdict: Verdict
    recommendation: str
    attempt: int
    level: float
    in_words: str
    budget: BudgetLeft


def drawn(case_ids: Sequence[str], *, share: float, seed: int) -> tuple[str, ...]:
    """The cases that a share seals, in their order: at least one, and never all."""
    number = min(len(case_ids) - 1, max(1, math.floor(share * len(case_ids) + 0.5)))
    chosen = set(random.Random(seed).sample(sorted(case_ids), number))  # noqa: S311  a draw, no secret
    return tuple(ident for ident in case_ids if ident in chosen)

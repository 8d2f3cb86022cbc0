"""The arguments of each tool as one value. Field texts are short: hosts pay for every word in every conversation."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, model_validator

from minions_evals_mcp.domain.values import VersionName
from minions_evals_mcp.server.edge.argument_types import (
    LISTED,
    ROWS_AT_ONCE,
    SAVED_AT_ONCE,
    Cap,
    Cases,
    Cursor,
    Detail,
    Dry,
    Fields,
    Id,
    Json,
    Judge,
    Key,
    Name,
    Target,
    Wait,
)
from minions_evals_mcp.server.edge.guard import Arguments

Version = Annotated[
    VersionName | None,
    Field(description="Id, number or latest"),
]
Trials = Annotated[int, Field(ge=1, le=100)]
Limit = Annotated[int, Field(ge=1, le=100)]
Rows = Annotated[list[Json], Field(min_length=1, max_length=ROWS_AT_ONCE)]
Table = Annotated[list[Json], Field(min_length=1, max_length=2000)]


class _Run(Arguments):
    """What every run may be asked for."""

    judge: Judge = "auto"
    target: Target | None = None
    trials: Trials = 1
    fresh: Annotated[bool, Field(description="Reuse no judgment")] = False
    idempotency_key: Key = None
    wait_seconds: Wait = 0
    max_cost_usd: Cap | None = None
    dry_run: Dry = False
    triggered_by: Name = "mcp"


class RunTestCase(_Run):
    """run_test_case"""

    test_case_id: Annotated[Id | None, Field(examples=["support/refund"])] = None
    prompt_id: Annotated[Id | None, Field(description="A batch")] = None
    test_case_ids: Cases | None = None
    agent_run_id: Annotated[Id | None, Field(description="Judge this recorded output")] = None
    prompt_version_ref: VersionName | None = None

    @model_validator(mode="after")
    def _one_case_or_a_batch(self) -> RunTestCase:
        if (self.test_case_id is None) == (self.prompt_id is None):
            raise ValueError("give testCaseId, or promptId for a batch of its cases")
        if self.test_case_ids is not None and self.prompt_id is None:
            raise ValueError("testCaseIds goes with promptId, whose cases they are")
        if self.agent_run_id is not None and self.test_case_id is None:
            raise ValueError("agentRunId goes with testCaseId")
        return self


class RunBenchmark(_Run):
    """run_benchmark"""

    benchmark_id: Annotated[Id, Field(examples=["support/quality"])]
    prompt_version_ref: VersionName | None = None
    rejudge_run_id: Name | None = None
    test_case_ids: Cases | None = None
    limit: Limit = 5

    @model_validator(mode="after")
    def _one_choice_of_cases(self) -> RunBenchmark:
        if self.test_case_ids is not None and self.rejudge_run_id is not None:
            raise ValueError("testCaseIds goes without rejudgeRunId, which judges that run's cases")
        if self.test_case_ids is not None and len(set(self.test_case_ids)) < len(self.test_case_ids):
            raise ValueError("testCaseIds: a case is named twice")
        return self


class AuditBenchmark(Arguments):
    """audit_benchmark"""

    benchmark_id: Annotated[Id, Field(examples=["support/quality"])]
    detail: Detail = "summary"
    cursor: Cursor | None = None


class ComparePromptVersions(_Run):
    """compare_prompt_versions"""

    benchmark_id: Id | None = None
    version_a: Annotated[Id | None, Field(description="In use now")] = None
    version_b: Annotated[Id | None, Field(description="Candidate")] = None
    run_ids: (
        Annotated[list[Name], Field(min_length=2, max_length=2, description="Or two stored runs, current first")] | None
    ) = None
    tie_threshold: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _two_sides(self) -> ComparePromptVersions:
        named = (self.benchmark_id, self.version_a, self.version_b)
        if self.run_ids is None and None in named:
            raise ValueError("give benchmarkId, versionA and versionB, or runIds")
        if self.run_ids is not None and any(named):
            raise ValueError("runIds goes without benchmarkId, versionA and versionB")
        if self.run_ids is None and self.version_a == self.version_b:
            raise ValueError("versionB is versionA; name two versions")
        if self.run_ids is not None and self.run_ids[0] == self.run_ids[1]:
            raise ValueError("runIds: name two runs")
        return self


class TryVersion(Arguments):
    """try_version"""

    benchmark_id: Id
    version: Annotated[VersionName, Field(description="Candidate")]
    content: Annotated[str | None, Field(max_length=100_000, description="Its text, kept as a new version")] = None
    against: Version = None
    sealed: Annotated[bool, Field(description="Ask the sealed part: spends budget")] = False
    judge: Annotated[Literal["auto", "heuristic", "llm"], Field(description="auto: each criterion's own")] = "auto"
    target: Target | None = None
    trials: Trials = 1
    idempotency_key: Key = None
    wait_seconds: Annotated[float, Field(ge=1, le=50)] = 50
    max_cost_usd: Cap | None = None


class GetRun(Arguments):
    """get_run"""

    run_id: Annotated[Name, Field(description="A run's id or idempotencyKey")]
    wait_seconds: Wait = 0
    limit: Limit = 5
    cursor: Cursor | None = None
    detail: Detail = "summary"
    fields: Fields = []
    packet: Annotated[str, Field(max_length=80, description="A packet's digest: read it in whole")] | None = None


class CancelRun(Arguments):
    """cancel_run"""

    run_id: Name


class Judgment(Arguments):
    """One criterion's score."""

    criterion_id: Id
    score: Annotated[float, Field(ge=-1e9, le=1e9)]
    rationale: Annotated[str, Field(min_length=1, max_length=4000)]
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0


class AnsweredPacket(Arguments):
    """All judgments of one packet."""

    digest: Annotated[str, Field(min_length=1, max_length=80)]
    judgments: Annotated[list[Judgment], Field(min_length=1, max_length=100)]


class SubmitJudgments(Arguments):
    """submit_judgments"""

    run_id: Id
    judged_by: Annotated[Name | None, Field(description="Your agent's id; else your client's name")] = None
    packets: Annotated[list[AnsweredPacket], Field(min_length=1, max_length=50)]
    limit: Limit = 5


class ClassifyFailure(Arguments):
    """classify_failure"""

    id: Annotated[Name, Field(description="A failed test-run, or a run: each of its failures")]
    ask_model: bool = False
    max_cost_usd: Cap | None = None
    dry_run: Dry = False
    wait_seconds: Annotated[float, Field(ge=1, le=50)] = 20
    limit: Limit = 5
    cursor: Cursor | None = None
    detail: Detail = "summary"


class PromoteFailure(Arguments):
    """promote_failure"""

    id: Annotated[Name, Field(description="RUN:CASE, a failed test-run or an agent-run")]
    corrected: Annotated[
        str | None, Field(min_length=1, max_length=40_000, description="The right output; else a draft")
    ] = None
    why: Annotated[str | None, Field(min_length=1, max_length=2000, description="What was wrong")] = None
    into: Annotated[Id | None, Field(description="A benchmark")] = None


class DetectTrend(Arguments):
    """detect_trend"""

    benchmark_id: Id
    limit: Annotated[int, Field(ge=1, le=1000, description="Newest points")] = 12
    what_changed: Annotated[bool, Field(description="Levels, causes, flaky cases, cost")] = False
    since: Annotated[date | None, Field(description="whatChanged from this day")] = None
    detail: Detail = "summary"


class RunAbTest(Arguments):
    """run_ab_test"""

    test_case_id: Id | None = None
    test_case_ids: Cases | None = None
    benchmark_id: Id | None = None
    branch_ids: Annotated[list[Id], Field(max_length=5, description="The control first")] = []
    branches: Annotated[list[Json], Field(max_length=5, description="{name, provider, model, …}")] = []
    prompt_version: Version = None
    winner_criteria: Literal["best_quality", "fastest", "cheapest", "best_value", "balanced"] = "best_quality"
    iterations: Annotated[int, Field(ge=1, le=100)] = 1
    idempotency_key: Key = None
    wait_seconds: Wait = 0
    max_cost_usd: Cap | None = None
    dry_run: Dry = False
    triggered_by: Name = "mcp"

    @model_validator(mode="after")
    def _branches_differ(self) -> RunAbTest:
        if len(set(self.branch_ids)) < len(self.branch_ids):
            raise ValueError("branchIds: a branch is named twice")
        if not 2 <= len(self.branch_ids) + len(self.branches) <= 5:
            raise ValueError("branchIds, branches: 2 to 5 are run side by side")
        if [self.test_case_id, self.test_case_ids, self.benchmark_id].count(None) != 2:
            raise ValueError("give exactly one of testCaseId, testCaseIds, benchmarkId")
        return self


class GetStatistics(Arguments):
    """get_statistics"""

    test_case_id: Annotated[Id | None, Field(description="Its figures, regressions and days")] = None
    prompt_id: Annotated[Id | None, Field(description="The figures of its test cases")] = None
    branch_id: Annotated[Id | None, Field(description="An A/B branch's executions")] = None
    executions: Annotated[bool, Field(description="The case's runs, newest first")] = False
    limit: Limit = 10
    cursor: Cursor | None = None
    detail: Detail = "summary"

    @model_validator(mode="after")
    def _one_subject(self) -> GetStatistics:
        if sum(one is not None for one in (self.test_case_id, self.prompt_id, self.branch_id)) != 1:
            raise ValueError("give exactly one of testCaseId, promptId, branchId")
        if self.executions and self.test_case_id is None:
            raise ValueError("executions goes with testCaseId")
        return self


class ScoreOutputs(Arguments):
    """score_outputs"""

    rows: (
        Annotated[Rows, Field(description="{id, output, assert: [{type, value, …}], threshold?, latencyMs?, cost?}")]
        | None
    ) = None
    picks: (
        Annotated[Rows, Field(description="{id, outputs: […], assert: […]}: selects the best (max-score)")] | None
    ) = None
    table: Annotated[Table, Field(description="Rows {column: cell}: a score card")] | None = None
    run_id: Annotated[Name | None, Field(description="A benchmark-run: its score card")] = None
    columns: Annotated[list[Name], Field(max_length=50, description="Of the card; else the last")] = []
    compare_table: Table | None = None
    compare_run_id: Name | None = None
    cursor: Cursor | None = None
    detail: Detail = "summary"

    @model_validator(mode="after")
    def _one_question(self) -> ScoreOutputs:
        given = [self.rows, self.picks, self.table, self.run_id]
        if sum(one is not None for one in given) != 1:
            raise ValueError("give exactly one of rows, picks, table, runId")
        if (self.compare_table or self.compare_run_id) and not (self.table or self.run_id):
            raise ValueError("compareTable and compareRunId go with table or runId")
        if self.compare_table and self.compare_run_id:
            raise ValueError("give compareTable or compareRunId, not both")
        return self


class ListRecords(Arguments):
    """list_records"""

    type: Literal[LISTED]  # pyright: ignore[reportInvalidTypeForm]  the names stand in one place
    limit: Limit = 20
    cursor: Cursor | None = None
    detail: Detail = "summary"
    fields: Fields = []


class GetRecord(Arguments):
    """get_record"""

    id: Id
    detail: Detail = "summary"
    fields: Fields = []
    cursor: Annotated[Cursor | None, Field(description="Read the record's JSON text from here on")] = None


class Follows(Arguments):
    """A newer prompt version follows an older one."""

    source_id: Id
    target_id: Id
    type: Literal["follows"] = "follows"


class SaveRecords(Arguments):
    """save_records"""

    records: Annotated[
        list[Json],
        Field(
            min_length=1,
            max_length=SAVED_AT_ONCE,
            examples=[
                [
                    {
                        "id": "c1",
                        "type": "test-case",
                        "fields": {"name": "Refund", "inputs": {"q": "…"}, "expectedOutputs": {"output": "30 days"}},
                    },
                    {"id": "b1", "type": "benchmark", "fields": {"name": "Support", "testCaseIds": ["c1"]}},
                ]
            ],
        ),
    ]
    relations: Annotated[list[Follows], Field(max_length=SAVED_AT_ONCE)] = []
    merge: Annotated[bool, Field(description="Keep the fields that a record leaves out")] = False


class DeleteRecord(Arguments):
    """delete_record"""

    id: Id


class ApprovePromptVersion(Arguments):
    """approve_prompt_version"""

    prompt_version_ref: Id
    comparison_id: Annotated[Id | None, Field(description="The evidence; else the newest comparison")] = None
    decision: Literal["approved", "refused", "in-use"] = "approved"
    reason: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    decided_by: Annotated[Name | None, Field(description="Your agent's id; else your client's name")] = None
    override_reason: Annotated[
        str | None, Field(min_length=1, max_length=2000, description="A person's: why an inconclusive win will do")
    ] = None


class SendMessage(Arguments):
    """send_message"""

    type: Literal[
        "run-test-case", "run-benchmark", "compare-prompts", "classify-failure", "detect-trend", "agent-run-completed", "instruction"
    ]  # fmt: skip
    payload: Annotated[Json, Field(examples=[{"benchmarkId": "support/quality"}])]
    id: Annotated[Id | None, Field(description="Under one id it is taken once")] = None
    from_agent_id: Annotated[Id | None, Field(description="Told in the outbox how it ended")] = None

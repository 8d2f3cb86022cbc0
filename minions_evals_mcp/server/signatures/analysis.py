"""The arguments and answers of the tools that explain, look back and examine."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import Names
from minions_evals_mcp.domain.values import Timestamp
from minions_evals_mcp.server.edge.answer import Object, Objects, ToolAnswer
from minions_evals_mcp.server.edge.argument_types import Cursor, Detail, Id, Limit
from minions_evals_mcp.server.edge.guard import ToolArguments


class GetStatistics(ToolArguments):
    """get_statistics"""

    test_case_id: Annotated[
        Annotated[Id, Names(("test-case",))] | None, Field(description="Its figures, regressions and days")
    ] = None
    prompt_id: Annotated[Annotated[Id, Names(("prompt",))] | None, Field(description="Its test cases")] = None
    skill_id: Annotated[Id | None, Field(description="A skill's test cases")] = None
    branch_id: Annotated[
        Annotated[Id, Names(("test-branch",))] | None, Field(description="An A/B branch's executions")
    ] = None
    executions: Annotated[bool, Field(description="The case's runs, newest first")] = False
    limit: Limit = 10
    cursor: Cursor | None = None
    detail: Detail = "summary"

    @model_validator(mode="after")
    def _one_subject(self) -> GetStatistics:
        subjects = (self.test_case_id, self.prompt_id, self.skill_id, self.branch_id)
        if sum(subject is not None for subject in subjects) != 1:
            raise ValueError("give exactly one of testCaseId, promptId, skillId, branchId")
        if self.executions and self.test_case_id is None:
            raise ValueError("executions needs testCaseId")
        return self


class FailuresAnswer(ToolAnswer):
    """Causes of a run's failures, then eval-failures, each with class, cause and evidence; `spent` by this call."""

    causes: Objects = []
    failures: Objects = []
    spent: dict[str, float] | None = None
    estimate: Object | None = None


class TraceSuiteAnswer(ToolAnswer):
    """Failures of an agent's traces by kind, the drafts that were saved, and traces to read."""

    agent_id: str = ""
    read: int = 0
    failed: int = 0
    kinds: Objects = []
    drafts: Objects = []
    unchecked: int = 0
    masked: dict[str, int] = {}
    coverage: Object | None = None
    packets: Objects = []
    accepted: list[str] = []
    unread: int = 0
    stopped: str = ""


class PromptSuiteAnswer(ToolAnswer):
    """The drafts that were saved, cases that were refused or asked before, and texts to write of."""

    passages: int = 0
    written: int = 0
    drafts: Objects = []
    repeated: Objects = []
    refused: Objects = []
    packets: Objects = []
    prompt: str = ""
    inputs: list[str] = []
    how: str = ""
    accepted: list[str] = []
    unwritten: int = 0
    stopped: str = ""


class PromotedAnswer(ToolAnswer):
    """The test case that was made, and its checks."""

    test_case_id: str = ""
    status: str = ""
    name: str = ""
    source_id: str = ""
    wrong_output: str = ""
    corrected: str | None = None
    assertions: Objects = []
    what_was_wrong: str = ""
    benchmark_id: str | None = None
    asked_before: list[str] = []


class TrendAnswer(ToolAnswer):
    """The direction of a benchmark's series; `points` are oldest first."""

    benchmark_id: str = ""
    dimension: str = ""
    direction: str | None = None
    reason: str = ""
    consecutive_degrading: int = 0
    slope: float | None = None
    slope_interval: list[float] | None = None
    p_value: float | None = None
    volatile: bool = False
    provisional: bool = False
    window: int = 0
    change_points: list[str] = []
    series_length: int = 0
    earlier_series: int = 0
    change: Object | None = None
    level_change: Object | None = None
    points: Objects = []
    judged_by: list[str] = []
    since: str | None = None
    runs: int = 0
    levels: Objects = []
    drops: Objects = []
    flaky: Objects = []
    spent_usd: float = 0


class AuditAnswer(ToolAnswer):
    """The findings of cheats and mutants; rates are 0–1, `cases` those of the benchmark with holes, the worst first."""

    audit_id: str = ""
    subject: str = ""
    kind: str = ""
    digest: str = ""
    cheat_pass_rate: float | None = None
    mutation_score: float | None = None
    case_count: int = 0
    cheated_count: int = 0
    mutant_count: int = 0
    killed_count: int = 0
    look_count: int = 0
    not_audited_count: int = 0
    by_kind: Object = {}
    findings: Object = {}
    with_judge: str | None = None
    judge_error_count: int = 0
    judge_problem: str = ""
    spent_usd: float = 0
    covers: dict[str, str] = {}
    auditor: str = ""
    audited_at: Timestamp | None = None
    cases: Objects = []


class PlanAnswer(ToolAnswer):
    """The sample that finds a difference: `unitsNeeded` cases or groups (`unit`), or `trialsNeeded` trials of those at hand."""

    benchmark_id: str = ""
    effect: float = 0
    power: float = 0
    trials: int = 1
    unit: str = ""
    units: int = 0
    cases: int = 0
    units_needed: int = 0
    trials_needed: int | None = None
    minimum_detectable: float | None = None
    deviation: float = 0
    run_ids: list[str] = []
    is_bound: bool = False


class StatisticsAnswer(ToolAnswer):
    """Figures of a test case (`passRate` 0–100, `avgScore` 0–1), of a prompt's or skill's test cases, or of a branch and its case."""

    test_case_id: str = ""
    test_case: Object | None = None
    total_runs: int = 0
    pass_rate: float | None = None
    avg_score: float | None = None
    recent_runs: Objects = []
    regressions: Objects = []
    trend_data: Objects = []
    executions: Objects = []
    test_cases: Objects = []
    branches: Objects = []
    configurations: Objects = []

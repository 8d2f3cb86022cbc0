"""The request of an A/B test."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator

from minions_evals_mcp.domain.definitions import Json, TestBranch
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.providers import Provider
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.request_fields import (
    NAME_SAYS_IT,
    Asker,
    BenchmarkId,
    BranchId,
    More,
    Repeats,
    TestCaseId,
    VersionRef,
)
from minions_evals_mcp.domain.values import Text, Unit, Value
from minions_evals_mcp.engine.request import MOST_CASES, CostCap
from minions_evals_mcp.scoring.ab import Criterion

LEAST, MOST = 2, 5


class InlineBranch(Value):
    """One model configuration, given with the test; what is not given has its documented default."""

    name: Text
    provider: Provider
    model: Text
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    top_p: Unit | None = None
    other_params: Json = {}
    is_control: bool = False

    @property
    def id(self) -> str:
        """Equal for equal configurations of one name."""
        return f"inline:{digest(self.model_dump(mode='json', exclude={'is_control'}))[:16]}"

    def record(self, case_id: str, at: datetime) -> Record[TestBranch]:
        """The branch as those that are kept stand."""
        fields = TestBranch(test_case_id=case_id, **self.model_dump(by_alias=False))
        return Record(self.id, fields, self.name, at, at)


class AbTestRequest(Value):
    """Run two to five branches side by side on a test case, on several, or on a benchmark, and rank them.

    Branches are named by their ids, or given inline.
    """

    test_case_id: Annotated[TestCaseId | None, Field(description="A test case"), NAME_SAYS_IT] = None
    test_case_ids: Annotated[
        tuple[TestCaseId, ...],
        Field(strict=False, max_length=MOST_CASES, description="Several test cases"),
        NAME_SAYS_IT,
    ] = ()
    benchmark_id: Annotated[
        BenchmarkId | None, Field(description="A benchmark: its active test cases"), NAME_SAYS_IT
    ] = None
    branch_ids: Annotated[
        tuple[BranchId, ...],
        Field(strict=False, max_length=MOST, description="The control first"),
        More("A branch id (repeatable, the control first). Default: every active branch of the case."),
    ] = ()
    branches: Annotated[
        tuple[InlineBranch, ...],
        Field(strict=False, max_length=MOST, description="{name, provider, model, …}"),
        More(
            "A branch as PROVIDER:MODEL with its parameters: anthropic:MODEL,temperature=0.2,max_tokens=500,name=cool."
        ),
    ] = ()
    prompt_version: Annotated[
        VersionRef | None,
        Field(description="Id, number or latest"),
        More("The prompt version: number, id or latest. Default: the version that the case names, or else the latest."),
    ] = None
    winner_criteria: Annotated[
        Criterion,
        Field(description="How the winner is chosen"),
        NAME_SAYS_IT,
        More(
            "How the winner is chosen: best_quality, fastest, cheapest, best_value (quality per dollar), balanced (40 %"
            " quality, 30 %"
            " speed, 30 % cost), best_checked (the cases' own checks, then quality)."
        ),
    ] = "best_quality"
    iterations: Annotated[
        Repeats,
        Field(description="Runs of each branch on each case"),
        NAME_SAYS_IT,
        More("Runs of each branch on each case. With five or more the answer includes how often each branch wins."),
    ] = 1
    triggered_by: Asker = "command-line"
    key: Annotated[
        Text | None,
        Field(description="Same key, same run"),
        More("Names the test. The same key resumes it without paying twice."),
    ] = None
    max_cost_usd: CostCap = None

    @model_validator(mode="after")
    def _branches_differ(self) -> Self:
        idents = self.all_branch_ids
        if len(set(idents)) < len(idents):
            raise ValueError("branchIds: a branch is named twice")
        if not LEAST <= len(idents) <= MOST:
            raise ValueError(f"branchIds: {LEAST} to {MOST} branches can run side by side, got {len(idents)}")
        return self

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if [self.test_case_id is not None, bool(self.test_case_ids), self.benchmark_id is not None].count(True) != 1:
            raise ValueError("testCaseId: give exactly one of testCaseId, testCaseIds, benchmarkId")
        if len(set(self.test_case_ids)) < len(self.test_case_ids):
            raise ValueError("testCaseIds: a case is named twice")
        return self

    @property
    def all_branch_ids(self) -> tuple[str, ...]:
        """The ids of the branches, those that are given inline last."""
        return (*self.branch_ids, *(branch.id for branch in self.branches))

    @property
    def is_single(self) -> bool:
        """Returns whether one test case is run."""
        return self.test_case_id is not None

    @property
    def subject_id(self) -> str:
        """Returns what the test is about: the benchmark, or the first of its cases."""
        return self.benchmark_id or self.test_case_id or self.test_case_ids[0]

    def frozen(self) -> Json:
        """Returns what must be the same when the test is resumed under its key."""
        return self.model_dump(mode="json", exclude={"key", "max_cost_usd"})

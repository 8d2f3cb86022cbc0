"""The plan of an A/B test, made before anything runs: the cases, their prompts, the branches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from minions_evals_mcp.domain.definitions import MAX_TOKENS, Benchmark, Json, TestBranch, TestCase
from minions_evals_mcp.domain.digests import combined, digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record, wire_fields
from minions_evals_mcp.engine.ab_test.request import AbTestRequest
from minions_evals_mcp.engine.budget import vet_cap
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.likeness import expects_text
from minions_evals_mcp.engine.records.branch_parameters import sent_parameters, vet_parameters
from minions_evals_mcp.engine.version_chain import common_prompt, default_name, find_version
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.models.registry import ModelRef
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.scoring.ab import BY_QUALITY
from minions_evals_mcp.scoring.prompt_texts.version_text import version_text
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job


def request_of(job: Job) -> AbTestRequest:
    """Returns what an A/B test was asked for; raises `NotFoundError` for a run of another kind."""
    if job.kind != "ab-test":
        raise NotFoundError("A/B test", job.id, remedy=f"It is a {job.kind}.")
    return AbTestRequest.model_validate(job.spec["request"], strict=False).model_copy(update={"key": job.key})


@dataclass(frozen=True, slots=True)
class AbPlan:
    """The part of an A/B test on one case: the branches in the order given, and the prompt that all of them are sent."""

    case: Record[TestCase]
    branches: tuple[Record[TestBranch], ...]
    version: Record[PromptVersion] | None
    prompt: str

    @property
    def version_number(self) -> int | None:
        """The number of the prompt version, where there is one."""
        return None if self.version is None else self.version.fields.version_number

    def case_digest(self) -> str:
        """The digest of all of the case that bears on its figures."""
        included = {"inputs", "expected_outputs", "pass_rule", "assertions", "threshold", "timeout_ms"}
        return digest(self.case.fields.model_dump(mode="json", include=included))

    def version_digest(self) -> str | None:
        """The digest of the version, where there is one."""
        return None if self.version is None else digest([self.version.id, self.version.fields.content])


@dataclass(frozen=True, slots=True)
class AbTestPlan:
    """The branches and units of an A/B test: the same branches on each of its cases."""

    cases: tuple[AbPlan, ...]

    @property
    def branches(self) -> tuple[Record[TestBranch], ...]:
        """The branches in the order given."""
        return self.cases[0].branches

    def spec(self, request: AbTestRequest) -> Json:
        """Returns what is frozen with the test's key: the request, digests of all that bears on its figures, and the branches."""
        measured: Json = {
            "testCase": combined(case.case_digest() for case in self.cases),
            "promptVersion": combined(case.version_digest() for case in self.cases),
            **{f"branch {branch.id}": configuration_digest(branch.fields) for branch in self.branches},
        }
        numbers = {case.version_number for case in self.cases}
        return {
            "request": request.frozen(),
            "measured": measured,
            "versionNumber": numbers.pop() if len(numbers) == 1 else None,
            "caseIds": [case.case.id for case in self.cases],
            "branches": {branch.id: wire_fields(branch.fields) for branch in self.branches},
        }


def configuration(branch: TestBranch, dropped: Collection[str] = ()) -> Json:
    """The model and the parameters that a branch asks its provider with, without those that the provider refused."""
    limit = branch.max_tokens or MAX_TOKENS
    sent = sent_parameters(branch, dropped)
    return {"provider": branch.provider, "model": branch.model, "maxTokens": limit, **sent}


def configuration_digest(branch: TestBranch, dropped: Collection[str] = ()) -> str:
    """Equal for branches that ask alike."""
    limit = branch.max_tokens or MAX_TOKENS
    return digest([branch.provider, branch.model, limit, sent_parameters(branch, dropped)])


async def planned(engine: Engine, request: AbTestRequest) -> AbTestPlan:
    """The plan of an A/B test; raises by name what is not there or could not be run, before anything runs."""
    plan = await engine.store.read(partial(_read, request=request, at=engine.clock()))
    for branch in plan.branches:
        fields = branch.fields
        vet_parameters(fields, record=f"test-branch {branch.id}")
        vet_cap(request.max_cost_usd, fields.provider, fields.model)
        engine.models.client(ModelRef(fields.provider, fields.model))
    return plan


def _read(db: Db, *, request: AbTestRequest, at: datetime) -> AbTestPlan:
    case_ids = _case_ids(db, request)
    records_read = records.get_all(db, request.branch_ids, TestBranch)
    inline = tuple(branch.record(case_ids[0], at) for branch in request.branches)
    branches = (*(_branch(records_read.get(ident), ident, case_ids[0]) for ident in request.branch_ids), *inline)
    return AbTestPlan(tuple(_case_plan(db, request, case_id, branches) for case_id in case_ids))


def _case_ids(db: Db, request: AbTestRequest) -> Sequence[str]:
    """The cases that are run: those that are named, else the benchmark's active ones."""
    if request.benchmark_id is None:
        return request.test_case_ids or (request.subject_id,)
    wanted = records.require(db, request.benchmark_id, Benchmark, hidden=False).fields.test_case_ids
    cases = records.get_all(db, wanted, TestCase)
    active = [ident for ident in wanted if ident in cases and _is_active(cases[ident])]
    if not active:
        raise BadInputError(f"{request.benchmark_id} has no active test case.")
    return active


def _is_active(case: Record[TestCase]) -> bool:
    return case.deleted_at is None and case.fields.status == "active"


def _case_plan(db: Db, request: AbTestRequest, case_id: str, branches: tuple[Record[TestBranch], ...]) -> AbPlan:
    case = records.require(db, case_id, TestCase, hidden=False)
    if request.winner_criteria in BY_QUALITY and not expects_text(case.fields):
        raise BadInputError(
            f"{request.winner_criteria} needs quality, the similarity to an expected output, and the test case {case.id} has"
            " none.",
            remedy="Give it expectedOutputs, or choose fastest or cheapest.",
        )
    version = _version(db, case.fields, request.prompt_version)
    inputs = case.fields.inputs
    prompt = output_text(inputs) if version is None else version_text(version.fields, inputs)
    return AbPlan(case, branches, version, prompt)


def _branch(branch_read: Record[TestBranch] | None, ident: str, case_id: str) -> Record[TestBranch]:
    if branch_read is None or branch_read.deleted_at is not None:
        raise NotFoundError(
            "test-branch", ident, remedy=f"{Next('branches', {'test_case_id': case_id}, 'shows them')}."
        )
    if not branch_read.fields.is_active:
        raise BadInputError(
            f"the branch {ident} is not active.", remedy="Set isActive to true, or leave the branch out."
        )
    return branch_read


def _version(db: Db, case: TestCase, version: str | None) -> Record[PromptVersion] | None:
    """The version that is asked for, else the case's default; None where it names no prompt. Raises as `find_version`."""
    name = version or default_name(case)
    return None if name is None else find_version(db, name, prompt=common_prompt(db, [case]))

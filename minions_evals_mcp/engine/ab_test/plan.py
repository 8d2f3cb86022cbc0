"""What an A/B test is asked for, and what is settled before anything runs: the case, its prompt, the branches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Self, cast

from pydantic import Field, model_validator

from minions_evals_mcp.domain.definitions import Fields, Json, TestBranch, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Id, Text, Value, VersionName
from minions_evals_mcp.engine.budget import vet_cap
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.likeness import expects_text
from minions_evals_mcp.engine.records.branch_parameters import MAX_TOKENS, sent_parameters, vet_parameters
from minions_evals_mcp.engine.version_chain import common_prompt, default_name, find_version
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.models.registry import ModelRef
from minions_evals_mcp.scoring.ab import BY_QUALITY, Criterion
from minions_evals_mcp.scoring.version_text import version_text
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job

LEAST, MOST = 2, 5


class AbTestRequest(Value):
    """Branches of a test case to be run side by side. The fields down to `triggered_by` are frozen with the test's key.

    `prompt_version` is a version's number, its id, `PROMPT@NUMBER` or `latest`; without it the case's default is run: the
    version that it names, else the latest of its prompt.
    """

    test_case_id: Id
    branch_ids: Annotated[tuple[Id, ...], Field(strict=False, min_length=LEAST, max_length=MOST)]
    prompt_version: VersionName | None = None
    winner_criteria: Criterion = "best_quality"
    iterations: Annotated[int, Field(ge=1, le=1000)] = 1
    triggered_by: Text = "command-line"
    key: Text | None = None
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _branches_differ(self) -> Self:
        if len(set(self.branch_ids)) < len(self.branch_ids):
            raise ValueError("branchIds: a branch is named twice")
        return self

    def frozen(self) -> Json:
        """What must be the same when the test is resumed under its key."""
        return self.model_dump(mode="json", exclude={"key", "max_cost_usd"})


def request_of(job: Job) -> AbTestRequest:
    """What an A/B test was asked for; raises `NotFoundError` for a run of another kind."""
    if job.kind != "ab-test":
        raise NotFoundError("A/B test", job.id, remedy=f"It is a {job.kind}.")
    return AbTestRequest.model_validate(job.spec["request"], strict=False).model_copy(update={"key": job.key})


@dataclass(frozen=True, slots=True)
class AbPlan:
    """What an A/B test runs: the branches in the order given, and the prompt that all of them are sent."""

    case: Record[TestCase]
    branches: tuple[Record[TestBranch], ...]
    version: Record[PromptVersion] | None
    prompt: str

    @property
    def version_number(self) -> int | None:
        """The number of the prompt version, where there is one."""
        return None if self.version is None else self.version.fields.version_number

    def spec(self, request: AbTestRequest) -> Json:
        """What is frozen with the test's key: the request, and digests of all that bears on its figures."""
        case = self.case.fields
        told = {"inputs", "expected_outputs", "pass_rule", "assertions", "threshold", "timeout_ms"}
        measured: Json = {
            "testCase": digest(case.model_dump(mode="json", include=told)),
            "promptVersion": None if self.version is None else digest([self.version.id, self.version.fields.content]),
            **{f"branch {one.id}": _digest_of(one.fields) for one in self.branches},
        }
        return {"request": request.frozen(), "measured": measured, "versionNumber": self.version_number}


def _digest_of(branch: TestBranch) -> str:
    limit = branch.max_tokens or MAX_TOKENS
    return digest([branch.provider, branch.model, limit, sent_parameters(branch)])


async def planned(engine: Engine, request: AbTestRequest) -> AbPlan:
    """The plan of an A/B test; raises by name what is not there or could not be run, before anything runs."""
    plan = await engine.store.read(partial(_read, request=request))
    for branch in plan.branches:
        fields = branch.fields
        vet_parameters(fields, record=f"test-branch {branch.id}")
        vet_cap(request.max_cost_usd, fields.provider, fields.model)
        engine.models.client(ModelRef(fields.provider, fields.model))
    return plan


def _read(db: Db, *, request: AbTestRequest) -> AbPlan:
    case = records.minion(db, request.test_case_id)
    if case is None or not isinstance(case.fields, TestCase) or case.deleted_at is not None:
        raise NotFoundError("test-case", request.test_case_id, remedy="`minions-evals list test-case` shows them.")
    if request.winner_criteria in BY_QUALITY and not expects_text(case.fields):
        raise BadInputError(
            f"{request.winner_criteria} needs quality, the likeness to an expected output: the test-case {case.id} expects no text.",
            remedy="Give it expectedOutputs, or choose fastest or cheapest.",
        )
    found = records.minions(db, request.branch_ids)
    branches = tuple(_branch(found.get(ident), ident, case.id) for ident in request.branch_ids)
    version = _version(db, case.fields, request.prompt_version)
    inputs = case.fields.inputs
    prompt = output_text(inputs) if version is None else version_text(version.fields, inputs)
    return AbPlan(cast("Record[TestCase]", case), branches, version, prompt)


def _branch(found: Record[Fields] | None, ident: str, case_id: str) -> Record[TestBranch]:
    if found is None or not isinstance(found.fields, TestBranch) or found.deleted_at is not None:
        raise NotFoundError("test-branch", ident, remedy=f"`minions-evals branches {case_id}` shows them.")
    if found.fields.test_case_id != case_id:
        raise BadInputError(
            f"the branch {ident} belongs to the test-case {found.fields.test_case_id}, not to {case_id}.",
            remedy=f"`minions-evals branches {case_id}` shows what does.",
        )
    if not found.fields.is_active:
        raise BadInputError(f"the branch {ident} is not active.", remedy="Set its isActive, or leave it out.")
    return cast("Record[TestBranch]", found)


def _version(db: Db, case: TestCase, asked: str | None) -> Record[PromptVersion] | None:
    """The version that is asked for, else the case's default; None where it names no prompt. Raises as `find_version`."""
    name = asked or default_name(case)
    return None if name is None else find_version(db, name, prompt=common_prompt(db, [case]))

"""Approve a prompt version on a comparison that it wins, refuse it, or name the version that is in use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, BenchmarkId, ComparisonId, More, VersionId
from minions_evals_mcp.domain.values import Value, Visible
from minions_evals_mcp.frozen_types import frozen_type

if TYPE_CHECKING:
    from minions_evals_mcp.domain.records import Record
    from minions_evals_mcp.domain.results import Approval
    from minions_evals_mcp.domain.speaker import Speaker
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.licences.standing import JudgeStanding

IN_USE = "in-use"


class Request(Value):
    """Approve a prompt version that a comparison shows to be better than the current one, or refuse it."""

    prompt_version_ref: Annotated[VersionId, Field(description="The prompt version"), NAME_SAYS_IT]
    comparison_id: Annotated[
        ComparisonId | None,
        Field(description="The evidence (default: the strongest comparison)"),
        More("The comparison used as evidence (default: the strongest against the current version)."),
    ] = None
    benchmark_ids: Annotated[
        tuple[BenchmarkId, ...] | None,
        Field(strict=False, min_length=1, max_length=100, description="It must have won on each of these"),
        More(
            "A benchmark on which the version must have won (repeatable). All compared benchmarks are decided together."
        ),
    ] = None

    @model_validator(mode="after")
    def _one_choice_of_evidence(self) -> Self:
        if self.comparison_id is not None and self.benchmark_ids is not None:
            raise ValueError("benchmarkIds: cannot be combined with comparisonId, which already names the evidence")
        if self.benchmark_ids is not None and len(set(self.benchmark_ids)) < len(self.benchmark_ids):
            raise ValueError("benchmarkIds: a benchmark is named twice")
        return self

    decision: Annotated[Literal["approved", "refused", "in-use"], Field(description="The decision"), NAME_SAYS_IT] = (
        "approved"
    )
    reason: Annotated[
        Annotated[Visible, Field(min_length=1, max_length=2000)] | None,
        Field(description="The reason"),
        NAME_SAYS_IT,
        More("Why, in your words."),
    ] = None
    decided_by: Annotated[
        Annotated[Visible, Field(max_length=200)] | None,
        Field(description="Your agent's id; else your client's name"),
        More("Who decides: a person identified by their token or at a terminal, otherwise an agent."),
    ] = None
    decided_by_type: Annotated[
        Literal["human", "agent"] | None,
        Field(description="Ignored: the interface identifies who decides"),
    ] = None
    override_reason: Annotated[
        Annotated[Visible, Field(min_length=1, max_length=2000)] | None,
        Field(description="People only: why an inconclusive win is enough"),
        More("Reason to approve on an inconclusive win. Only a person can give one."),
    ] = None


@frozen_type
class Answer:
    """The decision as it is kept, and the trust in the judges that it rests on."""

    approval: Record[Approval]
    judge: JudgeStanding


async def run(engine: Engine, request: Request, *, by: Speaker, ident: str | None = None) -> Answer:
    """The decision of whoever speaks; under an `ident` that is kept already the decision that stands there.

    Raises `RuleError` (HR2) saying what is missing and what to do next, `NotFoundError` for an unknown version, `NotAllowedError` for
    a person who only reads or judges.
    """
    from minions_evals_mcp.domain.results import Approval  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.domain.speaker import EDITOR, require_role  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.compare.approve_prompt_version import (  # noqa: PLC0415  as above
        ApprovalAsked,
        approve_prompt_version,
        evidence_judges,
    )
    from minions_evals_mcp.store import records  # noqa: PLC0415  as above

    require_role(by, EDITOR)
    kept = None if ident is None else await engine.store.read(lambda db: records.get(db, ident, Approval))
    if kept is None:
        fields = request.model_dump(by_alias=False)
        said = {"benchmark_ids": request.benchmark_ids or (), "decided_by": by.name, "decided_by_type": by.kind}
        asked = ApprovalAsked.model_validate({**fields, **said})
        kept = await approve_prompt_version(engine if ident is None else replace(engine, new_id=lambda: ident), asked)
    return Answer(kept, await evidence_judges(engine, kept.fields))


async def name_in_use(engine: Engine, request: Request) -> str:
    """The version that is in use from now on, because a person says so; raises `RuleError` for an agent."""
    from minions_evals_mcp.engine.cases.current_version import name_current  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.version_chain import find_version  # noqa: PLC0415  as above

    version = (await engine.store.read(lambda db: find_version(db, request.prompt_version_ref))).id
    await name_current(engine, version)
    return version

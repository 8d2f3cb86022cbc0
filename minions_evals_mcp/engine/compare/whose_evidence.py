"""The owner of the evidence that an approval rests on: it must not be the approver's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.domain.speaker import AGENTS, Speaker
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.store import speakers
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judgment_origins import repeated_judgments


@dataclass(frozen=True, slots=True)
class Decider:
    """The one who decides, and the reason that they gave."""

    name: str
    kind: Literal["human", "agent"]
    reason: str | None


def vet_whose(db: Db, comparison: Record[PromptComparison], decider: Decider) -> None:
    """Raises `RuleError` (HR2) where an agent decides on what agents handed in, or a person on their own word without a reason."""
    fields = comparison.fields
    judged = speakers.judged_in(db, (fields.benchmark_run_id_a, fields.benchmark_run_id_b))
    remedy = _by_a_person(fields.prompt_version_b)
    if decider.kind == "agent":
        if own := judged.get(AGENTS):
            raise RuleError(
                "HR2",
                f"{own} judgments of {comparison.id} were handed in by agents, and an agent decides.",
                remedy=remedy,
            )
        if repeated := repeated_judgments(db, (fields.benchmark_run_id_a, fields.benchmark_run_id_b)):
            raise RuleError(
                "HR2",
                f"{repeated} judgments of {comparison.id} repeat one rationale for different outputs, and an agent decides.",
                remedy=remedy,
            )
        if outputs := speakers.outputs_not_of_people(db, fields.benchmark_run_id_b):
            raise RuleError(
                "HR2",
                f"{outputs} outputs of {fields.prompt_version_b} in {comparison.id} were handed in, by no person, and an agent decides.",
                remedy=f"{remedy} Or: {_by_a_target(fields)}.",
            )
        return
    own_word = Speaker(kind="human", name=decider.name).identity
    given = {who for who in judged if who is not None}
    if given == {own_word} and not decider.reason:
        raise RuleError(
            "HR2",
            f"all that was judged by people in {comparison.id} was judged by {decider.name}, who decides.",
            remedy=f"Say why in {argument('reason')}, or have somebody else judge, too.",
        )


def _by_a_person(version: str) -> str:
    decides = Next("approve-as-person", {"prompt_version_ref": version, "by": "NAME"}, "records a person's decision")
    return f"A person has to decide, at a terminal or with MINIONS_EVALS_PERSON_TOKEN: {decides}."


def _by_a_target(fields: PromptComparison) -> Next:
    versions = {"version_a": fields.prompt_version_a, "version_b": fields.prompt_version_b}
    compared = {"benchmark_id": fields.benchmark_id, **versions, "target": "TARGET"}
    return Next("compare", compared, "has a target make the outputs")

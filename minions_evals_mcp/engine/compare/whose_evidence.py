"""The owner of the evidence that an approval rests on: it must not be the approver's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.domain.speaker import AGENTS, Speaker
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.store import speakers
from minions_evals_mcp.store.connection import Db

BY_A_PERSON = "A person has to decide, with minions-evals approve {version} --by NAME, at a terminal or with MINIONS_EVALS_PERSON_TOKEN."


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
    remedy = BY_A_PERSON.format(version=fields.prompt_version_b)
    if decider.kind == "agent":
        if own := judged.get(AGENTS):
            raise RuleError(
                "HR2",
                f"{own} judgments of {comparison.id} were handed in by agents, and an agent decides.",
                remedy=remedy,
            )
        if outputs := speakers.outputs_not_of_people(db, fields.benchmark_run_id_b):
            raise RuleError(
                "HR2",
                f"{outputs} outputs of {fields.prompt_version_b} in {comparison.id} were handed in, by no person, and an agent decides.",
                remedy=f"{remedy} Or have the outputs made by a target: minions-evals compare {fields.benchmark_id}"
                f" --from {fields.prompt_version_a} --to {fields.prompt_version_b} --target TARGET.",
            )
        return
    own_word = Speaker(kind="human", name=decider.name).identity
    given = {who for who in judged if who is not None}
    if given == {own_word} and not decider.reason:
        raise RuleError(
            "HR2",
            f"all that was judged by people in {comparison.id} was judged by {decider.name}, who decides.",
            remedy="Say why in --reason, or have somebody else judge, too.",
        )

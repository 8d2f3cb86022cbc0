"""The sources of the evidence that an approval rests on: it must not be the approver's own, nor measured by the approver's ruler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from minions_evals_mcp.domain.definitions import Benchmark, Rubric, TestCase
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.domain.speaker import AGENTS, Speaker
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.compare.compare_prompt_versions import looked_at
from minions_evals_mcp.engine.conclude.attempts import recorded_attempt
from minions_evals_mcp.engine.conclude.comparison import NAMED, Pairing, decision_of, pairing
from minions_evals_mcp.errors import EvalsError, RuleError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.store import records, speakers
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.judgment_origins import addressed_cases, repeated_judgments
from minions_evals_mcp.store.seals import is_sealed


@dataclass(frozen=True, slots=True)
class Decider:
    """The one who decides and when, and the reasons that they gave."""

    name: str
    kind: Literal["human", "agent"]
    at: datetime
    reason: str | None = None
    override: str | None = None


def vet_sources(db: Db, comparison: Record[PromptComparison], decider: Decider) -> None:
    """Raises `RuleError` (HR2) where an agent decides on what agents handed in, or a person on their own word without a reason."""
    fields = comparison.fields
    judged = speakers.judged_in(db, (fields.benchmark_run_id_a, fields.benchmark_run_id_b))
    remedy = _by_a_person(fields.prompt_version_b)
    if decider.kind == "agent":
        if own := judged.get(AGENTS):
            raise RuleError(
                "HR2",
                f"{own} judgments of {comparison.id} were submitted by agents, and an agent is the one who approves.",
                remedy=remedy,
            )
        if repeated := repeated_judgments(db, (fields.benchmark_run_id_a, fields.benchmark_run_id_b)):
            raise RuleError(
                "HR2",
                f"{repeated} judgments of {comparison.id} repeat one rationale for different outputs, and an agent is the one"
                " who approves.",
                remedy=remedy,
            )
        for run, version in (
            (fields.benchmark_run_id_b, fields.prompt_version_b),
            (fields.benchmark_run_id_a, fields.prompt_version_a),
        ):
            if outputs := speakers.outputs_not_of_people(db, run):
                raise RuleError(
                    "HR2",
                    f"{outputs} outputs of {version} in {comparison.id} were submitted, not by a person, and an agent is the one"
                    " who approves.",
                    remedy=f"{remedy} Or: {_by_a_target(fields)}.",
                )
        _vet_ruler(db, comparison, remedy)
        _vet_addressed(db, comparison, remedy)
        return
    own_word = Speaker(kind="human", name=decider.name).identity
    given = {who for who in judged if who is not None}
    if not decider.reason and not decider.override:
        _vet_addressed(db, comparison, f"Read them, and say why in {argument('reason')}.")
    if given == {own_word} and not decider.reason and not decider.override:
        raise RuleError(
            "HR2",
            f"all human judgments in {comparison.id} are by {decider.name}, who is also the one who approves.",
            remedy=f"Say why in {argument('reason')}, or have somebody else judge as well.",
        )


def _vet_addressed(db: Db, comparison: Record[PromptComparison], remedy: str) -> None:
    """Refuses a win that rests on outputs that speak to the model that let them pass, where nobody says that they were read."""
    fields = comparison.fields
    cases = addressed_cases(db, fields.benchmark_run_id_b, passed=True)
    if cases and not _wins_without(db, comparison, cases):
        which = "" if is_sealed(db, fields.benchmark_id) else f" ({first_named(cases, NAMED)})"
        raise RuleError(
            "HR2",
            f"the outputs of {len(cases)} cases in {comparison.id} address the model that passed them{which}. Without them, there is no"
            " evidence that the candidate is better.",
            remedy=remedy,
        )


def _wins_without(db: Db, comparison: Record[PromptComparison], cases: Sequence[str]) -> bool:
    """Whether the candidate still wins with those cases failed; False in a sequential comparison."""
    fields = comparison.fields
    if looked_at(db, fields.benchmark_run_id_a):
        return False
    try:
        paired = pairing(db, fields.benchmark_run_id_a, fields.benchmark_run_id_b)
    except EvalsError:  # it does not hold any more, which its own check says
        return False
    failed = {
        case_id: replace(scores, fractions=[0.0] * len(scores.fractions), passed=[False] * len(scores.passed))
        for case_id in cases
        if (scores := paired.b.get(case_id)) is not None
    }
    lessened = Pairing(paired.a, {**paired.b, **failed}, paired.shared)
    decision = decision_of(
        db, (fields.benchmark_run_id_a, fields.benchmark_run_id_b), lessened, recorded_attempt(db, comparison)
    )
    return decision.verdict == "improved" and not decision.missing


def _vet_ruler(db: Db, comparison: Record[PromptComparison], remedy: str) -> None:
    """Refuses an agent whose evidence was measured by what an agent made or changed, and nobody has accepted since."""
    fields = comparison.fields
    ruler = _ruler(db, fields.benchmark_id)
    made = speakers.made_by_agents(db, ruler)
    made += speakers.made_by_agents(db, [fields.prompt_version_a], changed_only=True)
    if made:
        which = "" if is_sealed(db, fields.benchmark_id) else f" ({first_named(made, NAMED)})"
        raise RuleError(
            "HR2",
            f"{len(made)} of the records that {comparison.id} depends on were created, changed or deleted by an agent{which}, and an agent"
            " is the one who approves.",
            remedy=(
                f"{remedy} Or the operator saves them unchanged: {Next('import-as-person', {'file': 'SUITE'}, 'accepts them')}."
            ),
        )


def _ruler(db: Db, benchmark_id: str) -> list[str]:
    """The ids of the benchmark, of all its cases, hidden ones too, and of their worlds, rubrics and criteria."""
    benchmark = records.get(db, benchmark_id, Benchmark)
    if benchmark is None:
        return [benchmark_id]
    cases = records.get_all(db, benchmark.fields.test_case_ids, TestCase)
    rubric_ids = dict.fromkeys(case.fields.rubric_id for case in cases.values() if case.fields.rubric_id is not None)
    rubrics = records.get_all(db, rubric_ids, Rubric)
    criteria = [ident for rubric in rubrics.values() for ident in rubric.fields.criteria_ids]
    worlds = dict.fromkeys(case.fields.world for case in cases.values() if case.fields.world is not None)
    return [benchmark_id, *benchmark.fields.test_case_ids, *worlds, *rubric_ids, *criteria]


def _by_a_person(version: str) -> str:
    decides = Next("approve-as-person", {"prompt_version_ref": version, "by": "NAME"}, "records a person's decision")
    return f"A person has to decide, at a terminal or with MINIONS_EVALS_PERSON_TOKEN: {decides}."


def _by_a_target(fields: PromptComparison) -> Next:
    versions = {"version_a": fields.prompt_version_a, "version_b": fields.prompt_version_b}
    compared = {"benchmark_id": fields.benchmark_id, **versions, "target": "TARGET"}
    return Next("compare", compared, "generates the outputs with a target")

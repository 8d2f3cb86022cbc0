"""The shipped suites are whole: records load, references are met, every recorded run has its verdict by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

import pytest
import yaml
from pydantic import Field, JsonValue, TypeAdapter
from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Benchmark, Fields, Rubric, RubricCriterion, TestCase
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.neighbours import AgentRun, PromptVersion, ProposalDraft, SkillDefinition
from minions_evals_mcp.domain.records import IMPORTABLE, Record, record_from_wire
from minions_evals_mcp.domain.values import Id, Text, Value
from minions_evals_mcp.judges.heuristic import guide
from minions_evals_mcp.scoring.assertions.table import vet
from minions_evals_mcp.scoring.prompt_texts.version_text import render
from minions_evals_mcp.scoring.rubric import vet_rubric

FIXTURES = Path(__file__).parents[2] / "fixtures"
SUITES = ("support-agent", "retrieval-agent", "prompts")
NOW = datetime(2026, 11, 21, tzinfo=UTC)
F = TypeVar("F", bound=Fields)


class Link(Value):
    """A relation as a suite file states it."""

    source_id: Id
    target_id: Id
    type: Literal["follows"]


class SuiteFile(Value):
    """The keys of a suite file; any other is refused."""

    records: list[dict[str, JsonValue]]
    relations: tuple[Link, ...] = Field(default=(), strict=False)


class Expected(Value):
    """What a person says of one recorded run."""

    case: Id
    prompt_version: Id
    passed: bool
    failure_type: FailureType | None = None
    why: Text


@dataclass(frozen=True)
class Suite:
    """A suite's records, relations and verdicts."""

    records: tuple[Record[Fields], ...]
    links: tuple[Link, ...]
    verdicts: tuple[Expected, ...]

    def of(self, kind: type[F]) -> dict[str, F]:
        """The fields of one type's records by id."""
        return {one.id: one.fields for one in self.records if isinstance(one.fields, kind)}


def loaded(name: str) -> Suite:
    """The suite of that name, read as `minions-evals import` reads it."""
    said = yaml.safe_load((FIXTURES / f"{name}.yaml").read_text(encoding="utf-8"))
    judged = yaml.safe_load((FIXTURES / "expected" / f"{name}.yaml").read_text(encoding="utf-8"))
    file = SuiteFile.model_validate_json(to_json(said))
    records = tuple(record_from_wire(one, new_id="made-up", now=NOW) for one in file.records)
    return Suite(records, file.relations, TypeAdapter(tuple[Expected, ...]).validate_json(to_json(judged)))


@pytest.fixture(scope="module", params=SUITES)
def suite(request: pytest.FixtureRequest) -> Suite:
    return loaded(request.param)


def case_of(suite: Suite, run: AgentRun) -> str:
    """The one case that the run answers."""
    (ident,) = [ident for ident, case in suite.of(TestCase).items() if case.inputs == run.inputs]
    return ident


def test_every_file_in_the_folder_is_a_suite_with_its_verdicts() -> None:
    assert {path.stem for path in FIXTURES.glob("*.yaml")} == set(SUITES)
    assert {path.stem for path in (FIXTURES / "expected").glob("*.yaml")} == set(SUITES)


def test_the_suites_have_forty_cases_and_share_neither_ids_nor_inputs() -> None:
    suites = [loaded(name) for name in SUITES]
    ids = [record.id for suite in suites for record in suite.records]
    inputs = [canonical(case.inputs) for suite in suites for case in suite.of(TestCase).values()]
    assert len(inputs) >= 40
    assert len(set(ids)) == len(ids)
    assert len(set(inputs)) == len(inputs)


def test_every_record_may_be_imported_under_an_id_of_its_own(suite: Suite) -> None:
    assert {record.type for record in suite.records} <= set(IMPORTABLE)
    assert "made-up" not in {record.id for record in suite.records}


def test_every_case_has_something_to_be_judged_by_and_a_name_that_fits_a_table(suite: Suite) -> None:
    for ident, case in suite.of(TestCase).items():
        assert case.rubric_id or case.assertions or case.expected_outputs, ident
        assert len(case.name) <= 40, ident


def test_every_benchmark_groups_all_cases_of_its_suite(suite: Suite) -> None:
    (benchmark,) = suite.of(Benchmark).values()
    assert set(benchmark.test_case_ids) == set(suite.of(TestCase))


def test_rubrics_and_criteria_name_each_other_and_can_be_passed(suite: Suite) -> None:
    criteria = suite.of(RubricCriterion)
    rubrics = suite.of(Rubric)
    assert {case.rubric_id for case in suite.of(TestCase).values()} - {None} == set(rubrics)
    listed = [(rubric, criterion) for rubric, fields in rubrics.items() for criterion in fields.criteria_ids]
    assert sorted(listed) == sorted((fields.rubric_id, ident) for ident, fields in criteria.items())
    by_id = {record.id: record for record in suite.records}
    for ident, rubric in rubrics.items():
        parts = [Record(one, criteria[one], one, NOW, NOW) for one in rubric.criteria_ids]
        vet_rubric(Record(ident, rubric, by_id[ident].title, NOW, NOW), parts)


def test_every_guide_and_assertion_can_be_carried_out_by_rule(suite: Suite) -> None:
    for criterion in suite.of(RubricCriterion).values():
        assert criterion.judge_type == "heuristic"
        assert guide(criterion.scoring_guide)
        assert criterion.description
    for ident, case in suite.of(TestCase).items():
        for assertion in case.assertions:
            vet(assertion, at=ident)


def test_every_run_answers_one_case_under_a_known_prompt_version_that_renders(suite: Suite) -> None:
    versions = suite.of(PromptVersion)
    for ident, run in suite.of(AgentRun).items():
        assert run.prompt_version_ref in versions, ident
        assert case_of(suite, run), ident
        assert "{{" not in render(versions[run.prompt_version_ref].content, run.inputs)
        assert set(versions[run.prompt_version_ref].variables) <= set(run.inputs)
        assert run.triggered_at is not None
        assert run.completed_at is not None
        assert run.completed_at > run.triggered_at
        assert run.cost
        assert run.tokens_used


def test_prompt_versions_of_one_prompt_form_a_chain_from_the_newest_to_the_first(suite: Suite) -> None:
    versions = suite.of(PromptVersion)
    assert len({version.prompt_id for version in versions.values()}) == 1
    by_number = {version.version_number: ident for ident, version in versions.items()}
    follows = {(by_number[number], by_number[number - 1]) for number in range(2, len(versions) + 1)}
    assert {(link.source_id, link.target_id) for link in suite.links} == follows


def test_skills_gates_and_proposals_refer_to_what_is_there(suite: Suite) -> None:
    for skill in suite.of(SkillDefinition).values():
        assert skill.prompt_ref in suite.of(PromptVersion)
        assert {gate.benchmark_id for gate in skill.quality_gates} <= set(suite.of(Benchmark))
    assert {case.skill_id for case in suite.of(TestCase).values()} - {None} <= set(suite.of(SkillDefinition))
    runs = suite.of(AgentRun)
    scored = {draft.agent_run_id: set(draft.scores) for draft in suite.of(ProposalDraft).values()}
    assert set(scored) <= set(runs)
    for criterion in suite.of(RubricCriterion).values():
        name = guide(criterion.scoring_guide)
        if isinstance(name, str):
            judged = {run for run, fields in runs.items() if rubric_of(suite, fields) == criterion.rubric_id}
            assert judged
            assert all(name in scored[run] for run in judged)


def rubric_of(suite: Suite, run: AgentRun) -> str | None:
    """The rubric under which the run is judged."""
    return suite.of(TestCase)[case_of(suite, run)].rubric_id


def test_every_run_has_exactly_one_verdict_by_hand(suite: Suite) -> None:
    recorded = Counter((case_of(suite, run), run.prompt_version_ref) for run in suite.of(AgentRun).values())
    assert recorded == Counter((one.case, one.prompt_version) for one in suite.verdicts)
    assert set(recorded.values()) == {1}
    for version in suite.of(PromptVersion):
        assert {case for case, under in recorded if under == version} == set(suite.of(TestCase))
    for one in suite.verdicts:
        assert one.passed == (one.failure_type is None), one.case


def test_the_planted_regression_is_large_and_goes_one_way_only() -> None:
    verdicts = loaded("support-agent").verdicts
    before = {one.case for one in verdicts if one.passed and one.prompt_version == "support/prompt@1"}
    after = {one.case for one in verdicts if one.passed and one.prompt_version == "support/prompt@2"}
    assert len(before - after) >= 6
    assert not after - before


def test_recorded_answers_fail_in_every_way_there_is() -> None:
    for name in ("support-agent", "retrieval-agent"):
        found = {one.failure_type for one in loaded(name).verdicts if not one.passed}
        assert found == {"timeout", "refusal", "format-error", "hallucination", "wrong-output"}

"""Exported records against the real Minions SDK, under our own field lists."""

from __future__ import annotations

from typing import cast, get_args

import pytest
from minions import FieldDefinition, FieldType, Minion, MinionType, TypeRegistry, create_minion, validate_fields
from minions.schemas import builtin_types
from minions.types import RelationType
from minions.validation import ValidationResult

from minions_evals_mcp.domain import relations
from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import TYPES, wire_fields
from minions_evals_mcp.domain.relations import RELATIONS
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.server.resources.schema import FieldType as OurFieldType
from minions_evals_mcp.server.resources.schema import field_definitions, minion_type
from tests.domain.every_type import BARE, FULL, recorded

RUN = next(one for one in FULL if one.slug == "test-run")


def sdk_type(slug: str) -> MinionType:
    return MinionType.from_dict(cast("dict[str, object]", minion_type(slug)))


def judged_by_the_sdk(slug: str, fields: Json) -> ValidationResult:
    return validate_fields(cast("dict[str, object]", fields), sdk_type(slug).schema)


def complaints(slug: str, fields: Json) -> list[str]:
    return [error.field for error in judged_by_the_sdk(slug, fields).errors]


def exported(fields: Fields) -> Json:
    wire = recorded(fields).wire()["fields"]
    assert isinstance(wire, dict)
    return wire


def test_the_examples_are_one_of_every_type_and_the_full_ones_leave_no_field_out() -> None:
    assert [one.slug for one in FULL] == [one.slug for one in BARE] == list(TYPES)
    assert len(TYPES) == 25
    for one in FULL:
        assert one.model_fields_set == set(type(one).model_fields), one.slug
        assert [field.name for field in field_definitions(one.slug)] == list(exported(one))


@pytest.mark.parametrize("fields", [*FULL, *BARE], ids=lambda one: one.slug)
def test_an_exported_record_of_every_type_is_valid_to_the_real_sdk(fields: Fields) -> None:
    result = judged_by_the_sdk(fields.slug, exported(fields))
    assert result.errors == []
    assert result.valid


@pytest.mark.parametrize("fields", FULL, ids=lambda one: one.slug)
def test_every_field_is_checked_a_value_of_another_kind_is_refused_by_name(fields: Fields) -> None:
    whole = exported(fields)
    for definition in field_definitions(fields.slug):
        if definition.type == "json":  # the SDK takes any JSON there
            continue
        broken: Json = {**whole, definition.name: {"of": "another kind"}}
        assert complaints(fields.slug, broken) == [definition.name]


@pytest.mark.parametrize("fields", FULL, ids=lambda one: one.slug)
def test_a_required_field_that_is_missing_is_refused_by_name(fields: Fields) -> None:
    whole = exported(fields)
    required = [definition.name for definition in field_definitions(fields.slug) if definition.required]
    assert required
    for name in required:
        assert complaints(fields.slug, {key: value for key, value in whole.items() if key != name}) == [name]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("outcome", "skipped"),
        ("regressionTypes", ["FAILED", "SLOWER"]),
        ("semanticScore", 1.1),
        ("trial", 0),
        ("durationMs", -1),
        ("ranAt", "yesterday"),
        ("testCaseId", "a b"),
        ("passed", "yes"),
    ],
)
def test_the_sdk_sees_options_bounds_dates_and_the_form_of_ids(field: str, value: str | float | list[str]) -> None:
    assert complaints("test-run", {**wire_fields(RUN), field: cast("str", value)}) == [field]


def test_a_field_that_may_be_empty_is_not_required_because_the_sdk_takes_empty_for_absent() -> None:
    required = {field.name for field in field_definitions("test-branch-execution") if field.required}
    assert required == {"branchId", "status", "latencyMs", "inputTokens", "outputTokens", "totalTokens"}
    judgment = {field.name for field in field_definitions("eval-judgment") if field.required}
    assert "rationale" in judgment
    assert complaints("eval-judgment", {**wire_fields(FULL[7]), "rationale": ""}) == ["rationale"]


def test_the_kinds_of_fields_are_the_sdks_and_follow_from_the_annotations() -> None:
    assert get_args(OurFieldType) == get_args(FieldType)
    kinds = {field.name: field.type for field in field_definitions("test-run")}
    assert kinds["testCaseId"] == "string"
    assert kinds["passed"] == "boolean"
    assert kinds["totalScore"] == kinds["trial"] == "number"
    assert kinds["ranAt"] == "date"
    assert kinds["outcome"] == kinds["regressionType"] == "select"
    assert kinds["regressionTypes"] == "multi-select"
    assert kinds["outputDiff"] == "array"
    assert kinds["actualOutput"] == kinds["digests"] == "json"
    assert {field.name: field.type for field in field_definitions("rubric")}["criteriaIds"] == "tags"
    assert {field.name: field.type for field in field_definitions("eval-trend")}["dataPoints"] == "string"


def test_bounds_options_defaults_and_labels_are_those_of_the_type() -> None:
    by_name = {field.name: field for field in field_definitions("rubric-criterion")}
    weight = by_name["weight"].validation
    assert weight is not None
    assert (weight.min, weight.max, weight.pattern) == (0, 1, None)
    assert by_name["judgeType"].options == ("llm", "heuristic", "human")
    assert by_name["judgeType"].default_value == "llm"
    assert by_name["minScore"].default_value == 0
    assert by_name["scoringGuide"].default_value is None
    assert by_name["scoringGuide"].label == "Scoring guide"
    assert by_name["scoringGuide"].validation is None
    assert field_definitions("test-run")[0].validation is not None
    digests = next(field for field in field_definitions("test-run") if field.name == "digests")
    assert digests.default_value is None
    assert next(field for field in field_definitions("rubric") if field.name == "isActive").default_value is True


@pytest.mark.parametrize("slug", TYPES)
def test_a_type_survives_the_way_into_the_sdk_and_back(slug: str) -> None:
    whole = minion_type(slug)
    back = sdk_type(slug).to_dict()
    assert (back["id"], back["slug"], back["description"]) == (whole["id"], slug, TYPES[slug].__doc__)
    falsy: tuple[object, ...] = (0, False)  # the SDK's from_dict takes such a default for none
    ours = [field.wire() for field in field_definitions(slug)]
    for definition in ours:
        if definition.get("defaultValue") in falsy:
            del definition["defaultValue"]
    assert back["schema"] == ours


def test_the_sdk_can_register_all_types_and_build_a_minion_of_them() -> None:
    registry = TypeRegistry(load_builtins=False)
    for slug in TYPES:
        registry.register(sdk_type(slug))
    kind = registry.get_by_slug("eval-judgment")
    assert kind is not None
    assert kind.name == "Eval Judgment"
    made, result = create_minion({"title": "Good", "fields": exported(FULL[7])}, kind)
    assert result.valid
    assert made.minion_type_id == "minions-evals:eval-judgment"


def test_two_of_our_slugs_are_taken_by_types_of_the_sdks_own_with_other_fields() -> None:
    assert {kind.slug for kind in builtin_types} & set(TYPES) == {"test-case", "task"}
    with pytest.raises(ValueError, match="test-case"):
        TypeRegistry().register(sdk_type("test-case"))


def test_a_whole_exported_record_is_a_minion_once_its_type_is_named_by_id() -> None:
    record = recorded(RUN)
    wire = cast("dict[str, object]", record.wire())
    minion = Minion.from_dict({**wire, "minionTypeId": minion_type(record.type)["id"]})
    assert (minion.id, minion.title, minion.created_by) == (record.id, "A title", "ada")
    assert (minion.created_at, minion.status, minion.tags) == ("2026-03-01T12:30:15.250Z", "active", ["x"])


def test_an_unknown_type_is_refused_by_name() -> None:
    with pytest.raises(NotFoundError, match="no type with the id 'essay'"):
        minion_type("essay")
    with pytest.raises(NotFoundError, match=r"Nearest: agent-message, .* lists all"):
        field_definitions("essay")


def test_the_sdks_relation_types_lack_ours_but_two_and_its_docstring_of_ours_says_so() -> None:
    known = set(get_args(RelationType))
    assert {one.name for one in RELATIONS} & known == {"references"}
    assert "follows" in known
    assert "RelationType" in (relations.__doc__ or "")


def test_the_definitions_are_the_sdks_own_class_once_read() -> None:
    assert all(isinstance(field, FieldDefinition) for field in sdk_type("rubric").schema)

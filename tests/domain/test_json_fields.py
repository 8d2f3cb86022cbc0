"""The fields of a record as JSON, made without a dump where they are plain."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from minions_evals_mcp.domain.definitions import Fields, Json, TestCase
from minions_evals_mcp.domain.digests import json_text
from minions_evals_mcp.domain.json_fields import fields_text, json_fields
from minions_evals_mcp.domain.results import DiffPart, Digests, TestRun
from tests.domain.every_type import BARE, FULL

OUTPUTS: tuple[Json, ...] = (
    {"output": '“Grüße” \x00\x1f\x7f\u2028 "/\\'},
    {"output": [1, 1.0, -0.0, 1e-7, 1e16, 1.5e300, None, True, {"a": []}]},
    {"output": 2**70},
    {"": {}},
)


@pytest.mark.parametrize("fields", (*FULL, *BARE), ids=lambda fields: fields.slug)
def test_the_fields_of_every_type_are_what_its_dump_gives_in_their_order(fields: Fields) -> None:
    made = json_fields(fields)
    assert made == fields.model_dump(mode="json")
    assert list(map(type, made.values())) == list(map(type, fields.model_dump(mode="json").values()))


@pytest.mark.parametrize("fields", (*FULL, *BARE), ids=lambda fields: fields.slug)
def test_fields_that_are_left_out_are_left_out(fields: Fields) -> None:
    first, *_ = type(fields).model_fields
    assert json_fields(fields, exclude={first}) == fields.model_dump(mode="json", exclude={first})


@pytest.mark.parametrize("fields", (*FULL, *BARE), ids=lambda fields: fields.slug)
def test_the_text_of_what_is_not_by_default_is_that_of_the_dump_of_every_type(fields: Fields) -> None:
    first, *_ = type(fields).model_fields
    assert fields_text(fields) == fields.model_dump_json(exclude_defaults=True)
    assert fields_text(fields, exclude={first}) == fields.model_dump_json(exclude={first}, exclude_defaults=True)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("cost", (0, 3, 0.25, None))
def test_the_text_of_a_trusted_run_is_that_of_its_dump(output: Json, cost: float | None) -> None:
    run = TestRun.trusted(
        test_case_id="t", outcome="scored", actual_output=output, passed=True, total_score=1.0, max_possible_score=1.0,
        ran_at=datetime(2026, 1, 1, tzinfo=UTC), duration_ms=0, judge_type="heuristic", pass_rule="max_score",
        digests=Digests.trusted(test_case="a"), cost_usd=cost, warnings=("long",),
        output_diff=(DiffPart(op="insert", text="x"),),
    )  # fmt: skip
    assert fields_text(run) == run.model_dump_json(exclude_defaults=True)
    assert fields_text(run, exclude={"ran_at"}) == run.model_dump_json(exclude={"ran_at"}, exclude_defaults=True)


def test_a_trusted_value_is_written_like_one_that_was_checked() -> None:
    trusted = TestCase.trusted(name="Refund", inputs={"question": "May I?"}, expected_outputs={"output": 5.0})
    checked = TestCase(name="Refund", inputs={"question": "May I?"}, expected_outputs={"output": 5.0})
    assert json_fields(trusted) == checked.model_dump(mode="json")


def test_half_a_surrogate_pair_is_written_into_a_row_as_an_escape() -> None:
    assert json_text({"said": "\ud83d"}) == '{"said": "\\ud83d"}'
    assert json_text({"said": "é"}) == '{"said":"é"}'

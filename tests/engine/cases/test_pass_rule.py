"""The rule by which a case passes is decided when it is written, alike at every door, and kept from then on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.engine.cases import testing
from minions_evals_mcp.engine.cases.test_history import test_case_executions as runs_of
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.interop.suite import read_suite
from minions_evals_mcp.shipped import shipped_folder
from tests.workshop import START, Json, answer, case, config_in, found, judged_case, opened, rubric, save, says

WANTED: Json = {"output": "positive"}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with opened(config_in(tmp_path)) as engine:
        yield engine


async def rule_of(engine: Engine, ident: str) -> str | None:
    return (await found(engine, ident, TestCase)).fields.pass_rule


async def by_record(engine: Engine, **fields: JsonValue) -> None:
    await save(engine, case("c", expectedOutputs=WANTED, **fields))


async def by_verb(engine: Engine, **fields: JsonValue) -> None:
    await testing.create_test_case(
        engine, id="c", name="c", input="q", expected_output="positive", prompt_id=str(fields["promptId"])
    )


@pytest.mark.parametrize("door", [by_record, by_verb])
async def test_a_case_of_a_prompt_passes_by_similarity_whoever_wrote_it(
    engine: Engine, door: Callable[..., Awaitable[None]]
) -> None:
    await door(engine, promptId="p")
    assert await rule_of(engine, "c") == "similarity_0_8"


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({}, "max_score"),
        ({"promptVersionRef": "p@1"}, "max_score"),
        ({"passRule": "similarity_0_8"}, "similarity_0_8"),
        ({"promptId": "p", "passRule": "max_score"}, "max_score"),
        ({"promptId": "p", "assertions": [{"type": "contains", "value": "x"}]}, None),
    ],
)
async def test_the_rule_is_the_one_given_else_it_goes_by_the_prompt_and_only_where_nothing_else_judges(
    engine: Engine, fields: Json, rule: str | None
) -> None:
    await by_record(engine, **fields)
    assert await rule_of(engine, "c") == rule


async def test_a_stored_case_keeps_its_rule_and_one_that_had_nothing_to_judge_by_gets_one(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=WANTED), case("waits", promptId="p"))
    await save(engine, rubric("r", 1, right=says("x")), case("judged", rubricId="r", expectedOutputs=WANTED))
    await by_record(engine, promptId="p")
    assert await rule_of(engine, "c") == "max_score"
    assert await rule_of(engine, "judged") is None
    await save(engine, case("judged", expectedOutputs=WANTED), case("waits", promptId="p", expectedOutputs=WANTED))
    assert (await rule_of(engine, "judged"), await rule_of(engine, "waits")) == ("max_score", "similarity_0_8")
    assert (await save(engine, case("waits", promptId="p", expectedOutputs=WANTED))).unchanged == 1


async def test_a_slash_in_an_expected_text_that_is_compared_is_no_pattern(engine: Engine) -> None:
    await save(engine, case("c", promptId="p", expectedOutputs={"output": "/(/"}), answer("a", "c", "/(/"))
    assert (await judged_case(engine, "c")).fields.passed


@pytest.mark.parametrize(
    ("expected", "said"),
    [("positive", "Positive."), ("Caf\u00e9  au lait", "cafe\u0301 au lait"), ("It is\nopen.", "it is open")],
)
async def test_case_space_form_and_a_final_full_stop_are_no_difference_in_meaning(
    engine: Engine, expected: str, said: str
) -> None:
    await save(engine, case("c", promptId="p", expectedOutputs={"output": expected}), answer("a", "c", said))
    run = (await judged_case(engine, "c")).fields
    assert (run.passed, run.semantic_score, run.exact_match) == (True, 1.0, False)


async def test_a_number_that_differs_is_kept_as_a_warning_on_the_run(engine: Engine) -> None:
    texts = ("Refunds are paid within 30 days of the purchase", "Refunds are paid within 90 days of the purchase")
    await save(engine, case("c", promptId="p", expectedOutputs={"output": texts[0]}), answer("a", "c", texts[1]))
    run = (await judged_case(engine, "c")).fields
    assert run.passed
    assert run.warnings == ("the numbers differ: 30 days expected, 90 days found",)
    (shown,) = (await runs_of(engine, "c")).executions
    assert shown.warnings == run.warnings


def test_shipped_suites_name_the_rule_that_they_rely_on() -> None:
    for path in sorted(shipped_folder("fixtures").glob("*.yaml")):
        arrivals, _ = read_suite(path, new_id=lambda: "x", now=START)
        for record in (arrival.record for arrival in arrivals):
            fields = record.fields
            if isinstance(fields, TestCase) and fields.prompt_id and fields.expected_outputs and not fields.assertions:
                assert fields.rubric_id or fields.pass_rule, f"{path.name}: {record.id}"

"""Prompt scoring as a Python program calls it: one case, a suite, two versions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import anyio
import pytest
from pydantic import JsonValue

import minions_evals_mcp as evals
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.prompt_scoring.score import (
    run_test,
)
from minions_evals_mcp.errors import (
    BadInputError,
    EvalsError,
    InstrumentError,
    InvalidRecordError,
)
from minions_evals_mcp.scoring.prompt_scoring import TestResult
from tests.hang import HANG_S
from tests.workshop import START, minion

Json = dict[str, JsonValue]

PROMPT: Json = {"id": "p", "content": "Say: {{q}}"}
LOOKAHEAD = "/^(?=.*yes)(?=.*no)/"
ENDLESS = r"/^(?=(a+)+$)(?:a+)+\1$|(?!x)(?:a|aa)+!$/"


def plain(ident: str = "c", expected: JsonValue = "yes", **fields: JsonValue) -> Json:
    """A test case with the documented keys, of the prompt `p`."""
    usual: Json = {"id": ident, "promptId": "p", "input": {"q": ident}, "expectedOutput": expected, "maxScore": 1}
    return {**usual, **fields}


def echo(prompt: str) -> str:
    """A model that says what it was asked."""
    return prompt


def says(text: str) -> Callable[[str], str]:
    """A model that always says the same."""
    return lambda _: text


async def scored(response: str, expected: JsonValue, max_score: float = 1) -> TestResult:
    return await run_test(prompt=PROMPT, test_case=plain(expected=expected, maxScore=max_score), llm=says(response))


# ---------------------------------------------------------------- one case


async def test_a_case_is_tried_and_the_result_says_all_that_the_seed_lists() -> None:
    before = datetime.now(UTC)  # noqa: TID251  the public function goes by the wall clock
    result = await run_test(prompt=PROMPT, test_case=plain(maxScore=5), llm=says("Yes!"))
    assert result.model_dump(mode="json", exclude={"evaluated_at"}) == {
        "testCaseId": "c", "promptId": "p", "response": "Yes!", "score": 5.0, "maxScore": 5.0, "passed": True,
    }  # fmt: skip
    assert abs(result.evaluated_at - before) < timedelta(minutes=1)


async def test_the_prompt_is_rendered_with_the_input_before_the_model_sees_it() -> None:
    prompt: Json = {"id": "p", "content": "{{greeting}}, {{#each names}}{{this}} {{/each}}"}
    case = plain(input={"greeting": "Hi {{names}}", "names": ["Ann", "Bo"]}, expected="bo")
    result = await run_test(prompt=prompt, test_case=case, llm=echo)
    assert result.response == "Hi {{names}}, Ann Bo "
    assert result.passed


async def test_an_input_that_is_one_text_is_the_variable_input() -> None:
    result = await run_test(
        prompt={"id": "p", "content": "Say {{input}}"}, test_case=plain(input="yes please"), llm=echo
    )
    assert result.response == "Say yes please"


async def test_a_missing_variable_is_an_error_that_names_prompt_case_and_variable() -> None:
    with pytest.raises(BadInputError, match=r"prompt 'p' with test case 'c': .*'q'"):
        await run_test(prompt=PROMPT, test_case=plain(input={"other": 1}), llm=echo)


@pytest.mark.parametrize(("response", "score"), [("YES", 2), ("oh yes, it is", 2), ("no", 0), ("", 0)])
async def test_a_plain_text_is_looked_for_whatever_its_case(response: str, score: float) -> None:
    result = await scored(response, "Yes", 2)
    assert result.score == score
    assert result.passed is (score == 2)


@pytest.mark.parametrize(
    ("expected", "response", "passed"),
    [
        ("/[0-9]+ days/", "in 30 days", True),
        ("/[0-9]+ days/", "in thirty days", False),
        ("/Days/", "30 days", False),
        ("/(?i)Days/", "30 days", True),
        (LOOKAHEAD, "no and yes", True),
        (LOOKAHEAD, "yes and yes", False),
        ("//", "a//b", True),
        ("/", "a/b", True),
    ],
)
async def test_a_text_between_slashes_is_a_pattern(expected: str, response: str, passed: bool) -> None:
    assert (await scored(response, expected)).passed is passed


async def test_a_bad_pattern_is_an_error_that_names_the_case_and_the_model_is_not_asked() -> None:
    asked: list[str] = []
    with pytest.raises(InvalidRecordError, match="test case 'c'"):
        await run_test(prompt=PROMPT, test_case=plain(expected="/([a-z/"), llm=lambda one: asked.append(one) or "yes")
    assert asked == []


async def test_a_pattern_that_finds_no_end_is_an_error_and_no_fail() -> None:
    with pytest.raises(InstrumentError, match=r"test case 'c': .*time limit"):
        await scored("a" * 5_000 + "b", ENDLESS)


async def async_half(*, response: str, test_case: Json) -> float:
    """An evaluator that is awaited."""
    await anyio.lowlevel.checkpoint()
    return float(str(test_case["maxScore"])) / 2


def sync_half(*, response: str, test_case: Json) -> float:
    """An evaluator that is not."""
    return float(str(test_case["maxScore"])) / 2


class Half:
    """An evaluator that is an object."""

    async def __call__(self, *, response: str, test_case: Json) -> float:
        return await async_half(response=response, test_case=test_case)


def documented_half(asked: dict[str, Any]) -> float:
    """An evaluator of one mapping, as the document shows one."""
    assert asked["response"] == "yes"
    return asked["testCase"]["maxScore"] / 2


async def camel_half(response: str, testCase: Json) -> float:  # noqa: N803  the documented name
    """An evaluator by the documented names."""
    return await async_half(response=response, test_case=testCase)


def half_of_three(response: str) -> float:
    """An evaluator that looks at the response alone."""
    return 1.5 if response == "yes" else 0


@pytest.mark.parametrize("evaluator", [documented_half, camel_half, half_of_three, partial(documented_half)])
async def test_an_evaluator_may_take_what_the_document_gives_it(evaluator: Any) -> None:
    result = await run_test(prompt=PROMPT, test_case=plain(maxScore=3), llm=says("yes"), evaluator=evaluator)
    assert (result.score, result.passed) == (1.5, False)


def of_nothing() -> float:
    """An evaluator that sees nothing."""
    return 1


def of_two(one: str, two: str) -> float:
    """An evaluator of two things that nobody names."""
    return float(one == two)


@pytest.mark.parametrize("evaluator", [of_nothing, of_two])
async def test_an_evaluator_that_cannot_be_called_is_refused_before_the_model_is_asked(evaluator: Any) -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "yes"

    with pytest.raises(BadInputError, match="It must accept response and test_case by name"):
        await run_test(prompt=PROMPT, test_case=plain(), llm=model, evaluator=evaluator)
    assert not asked


@pytest.mark.parametrize("evaluator", [async_half, sync_half, Half(), partial(async_half)])
async def test_the_score_is_what_the_evaluator_returns(evaluator: Any) -> None:
    result = await run_test(prompt=PROMPT, test_case=plain(maxScore=3), llm=says("yes"), evaluator=evaluator)
    assert (result.score, result.passed) == (1.5, False)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (plain(expected="yes", maxScore=3), "yes"),
        (plain(expected=None, maxScore=3), None),
        (plain(expected="", maxScore=3), ""),
        (minion("c", "test-case", name="n", inputs={"q": "c"}, expectedOutputs={"a": "yes"}, maxScore=3), "yes"),
        (minion("c", "test-case", name="n", inputs={"q": "c"}, expectedOutputs={"a": "x", "b": 1}, maxScore=3), {"a": "x", "b": 1}),
        (minion("c", "test-case", name="n", inputs={"q": "c"}, maxScore=3), None),
    ],
)  # fmt: skip
async def test_an_evaluator_sees_the_response_and_the_seeds_keys_whatever_the_case_was_read_from(
    case: Any, expected: JsonValue
) -> None:
    seen: list[object] = []

    def evaluator(*, response: str, test_case: Json) -> float:
        seen.extend((response, test_case))
        return 3

    result = await run_test(prompt=PROMPT, test_case=case, llm=says("raw"), evaluator=evaluator)
    assert result.passed
    assert seen == ["raw", {"id": "c", "input": {"q": "c"}, "expectedOutput": expected, "maxScore": 3.0}]


@pytest.mark.parametrize("value", [1.01, -0.01, float("nan"), True, "1", None])
async def test_an_evaluators_value_outside_the_range_is_an_error_that_names_the_case(value: Any) -> None:
    def evaluator(*, response: str, test_case: Json) -> float:
        return value

    with pytest.raises(EvalsError, match=r"'c'.*must be in the range"):
        await run_test(prompt=PROMPT, test_case=plain(), llm=says("yes"), evaluator=evaluator)


async def test_nearly_the_whole_score_is_no_pass() -> None:
    def nearly(*, response: str, test_case: Json) -> float:
        return 0.95

    result = await run_test(prompt=PROMPT, test_case=plain(), llm=says("yes"), evaluator=nearly)
    assert (result.score, result.passed) == (0.95, False)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (plain(expected=""), 'expects ""'),
        (plain(expected=None), "has no expectedOutput"),
        (minion("c", "test-case", name="n", expectedOutputs={"a": "x", "b": "y"}), "expects 2 keys"),
    ],
)
async def test_what_no_response_can_be_compared_with_is_refused_unless_an_evaluator_is_given(
    case: Any, said: str
) -> None:
    prompt = {"id": "p", "content": "Hello"}
    with pytest.raises(BadInputError, match=f"test case 'c' {said}"):
        await run_test(prompt=prompt, test_case=case, llm=echo)
    assert (await run_test(prompt=prompt, test_case=case, llm=echo, evaluator=sync_half)).score == 0.5


def failing(prompt: str) -> str:
    raise ConnectionError("no route")


def spent(prompt: str) -> str:
    raise StopIteration


def numeric(prompt: str) -> Any:
    return 7


@pytest.mark.parametrize(
    ("llm", "said"),
    [(failing, "ConnectionError: no route"), (numeric, "returned int, not a string"), (spent, "the llm failed")],
)
async def test_a_model_that_fails_is_an_error_that_names_the_case_and_no_score(llm: Any, said: str) -> None:
    with pytest.raises(InstrumentError, match=f"test case 'c'.*{said}"):
        await run_test(prompt=PROMPT, test_case=plain(), llm=llm)


async def test_an_evaluator_that_fails_is_an_error_that_names_the_case() -> None:
    def evaluator(*, response: str, test_case: Json) -> float:
        raise ZeroDivisionError("oh")

    with pytest.raises(InstrumentError, match="test case 'c': the evaluator failed: ZeroDivisionError: oh") as failed:
        await run_test(prompt=PROMPT, test_case=plain(), llm=says("yes"), evaluator=evaluator)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("prompt", "case", "said"),
    [
        (PROMPT, plain(expectedoutput="x"), "test case c: expectedoutput: unknown key"),
        (PROMPT, plain(maxScore=-1), "maxScore"),
        (PROMPT, plain(maxScore=True), "maxScore"),
        (PROMPT, {"input": {}}, "id: "),
        (PROMPT, plain(input={"q": float("nan")}), "cannot be JSON"),
        (PROMPT, plain(input={"q": START}), "cannot be JSON"),  # pyright: ignore[reportArgumentType]  what YAML makes of a date
        (PROMPT, {"type": "test-case", "fields": {"name": "n"}}, "test-case: id: is missing"),
        (PROMPT, {"id": "c", "type": "test-case", "createdAt": START, "fields": {"name": "n"}}, "c: cannot be JSON"),
        (PROMPT, minion("b", "benchmark", name="b", testCaseIds=["c"]), "this is not a test case"),
        (PROMPT, PROMPT, "this is not a test case"),
        (PROMPT, Relation("a", "b", "references"), "this is not a test case"),
        (plain(), plain(), "this is not a prompt"),
        ({"id": "p", "content": " "}, plain(), "content"),
        (PromptVersion(content="x", version_number=1), plain(), "cannot be read from PromptVersion"),
    ],
)
async def test_what_is_no_prompt_or_no_test_case_is_refused_by_name(prompt: Any, case: Any, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        await run_test(prompt=prompt, test_case=case, llm=echo)


async def test_what_only_describes_a_plain_record_may_stand_in_it() -> None:
    prompt: Json = {**PROMPT, "name": "n", "title": "t", "description": "d", "variables": ["q"], "tags": []}
    case = plain(name="n", description="d", createdAt="2026-11-21T09:00:00Z", totalRuns=3, passRate=90, lastPassed=True)
    assert (await run_test(prompt=prompt, test_case=case, llm=says("yes"))).passed


async def test_a_sync_model_and_a_sync_evaluator_do_not_block_the_loop() -> None:
    loop_ran = threading.Event()

    def llm(prompt: str) -> str:
        return "yes" if loop_ran.wait(HANG_S) else "the loop was blocked"

    def evaluator(*, response: str, test_case: Json) -> float:
        return float(loop_ran.wait(HANG_S))

    async def run(evaluator: Any) -> None:
        assert (await run_test(prompt=PROMPT, test_case=plain(), llm=llm, evaluator=evaluator)).passed

    for one in (None, evaluator):
        loop_ran.clear()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, one)
            await anyio.wait_all_tasks_blocked()
            loop_ran.set()


async def test_a_cancelled_caller_does_not_wait_for_a_sync_model() -> None:
    released = threading.Event()
    with anyio.move_on_after(0.01) as scope:
        await run_test(prompt=PROMPT, test_case=plain(), llm=lambda _: str(released.wait(HANG_S)))
    assert scope.cancelled_caught
    assert not released.is_set()
    released.set()


# ---------------------------------------------------------------- the documented examples


async def test_the_seeds_examples_run_as_they_stand() -> None:
    template: Json = {"id": "capital", "content": "What is the capital of {{country}}?"}
    newer: Json = {"id": "capital-2", "content": "Name the capital of {{country}} in one word.", "promptId": "capital"}
    test_case: Json = {
        "id": "france", "promptId": "capital", "input": {"country": "France"}, "expectedOutput": "Paris", "maxScore": 10,
    }  # fmt: skip
    storage = [template, newer, test_case]

    async def call_model(prompt: str) -> str:
        return "Paris" if "one word" in prompt else "It is paris, of course."

    async def judge_response_quality(response: str, expected: JsonValue) -> float:
        return 1.0 if response == expected else 0.5

    async def evaluator(*, response: str, test_case: Json) -> float:
        judge_score = await judge_response_quality(response, test_case["expectedOutput"])
        return judge_score * float(str(test_case["maxScore"]))

    result = await evals.run_test(prompt=template, test_case=test_case, llm=call_model)
    assert (result.score, result.passed) == (10, True)

    judged = await evals.run_test(prompt=template, test_case=test_case, llm=call_model, evaluator=evaluator)
    assert (judged.score, judged.passed) == (5, False)

    suite = await evals.run_test_suite(prompt_id="capital", storage=storage, llm=call_model)
    assert suite.average_score == sum(one.score for one in suite.results) / sum(one.max_score for one in suite.results)

    comparison = await evals.compare_versions(
        prompt_id_a="capital", prompt_id_b="capital-2", storage=storage, llm=call_model, evaluator=evaluator
    )
    assert (comparison.score_delta, comparison.winner, comparison.tie_threshold) == (0.5, "B", 0.01)

    stricter = await evals.compare_versions(
        prompt_id_a="capital", prompt_id_b="capital-2", storage=storage, llm=call_model, tie_threshold=0.05
    )
    assert (stricter.winner, stricter.tie_threshold) == ("tie", 0.05)

"""The evaluators that come ready to use in prompt scoring."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.engine.prompt_scoring.evaluators import Ask, llm_judge, rule_based
from minions_evals_mcp.engine.prompt_scoring.score import Evaluator, run_test
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.scoring.prompt_scoring import TestResult

Json = dict[str, JsonValue]
PROMPT: Json = {"id": "p", "content": "Greet {{name}}."}
CASE: Json = {"id": "c", "input": {"name": "Ann"}, "expectedOutput": "Hello Ann", "maxScore": 2}


async def judged(response: str, evaluator: Evaluator, **case: JsonValue) -> TestResult:
    return await run_test(prompt=PROMPT, test_case={**CASE, **case}, llm=lambda _: response, evaluator=evaluator)


def replying(reply: Any, seen: list[str] | None = None) -> Ask:
    """A judge that always says the same, and keeps what it was asked."""

    def ask(prompt: str) -> str:
        if seen is not None:
            seen.append(prompt)
        return reply

    return ask


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Rating: 1", 0),
        ("It greets.\nRating: 4", 1.5),
        ("**Rating:** 5", 2),
        ("rating 3/5", 1),
        ("Score = 2 out of 5.", 0.5),
        ("Rating (1-5): 4", 1.5),
        ("Rating: 4.5", 1.75),
        ("4", 1.5),
        (" **4**. ", 1.5),
        ("4/5", 1.5),
        ("At first sight Rating: 2, but no.\nRating: 5", 2),
    ],
)
async def test_a_judges_rating_becomes_a_share_of_the_score(reply: str, score: float) -> None:
    result = await judged("Hello Ann", llm_judge(replying(reply)))
    assert (result.score, result.passed) == (score, score == 2)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("", "no rating"),
        ("Good.", "no rating"),
        ("I saw 4 mistakes", "no rating"),
        ("Rating: excellent", "no rating"),
        ("Rating: -1", "no rating"),
        ("Rating: 0", "from 1 to 5"),
        ("Rating: 6", "from 1 to 5"),
        ("Rating: 10", "from 1 to 5"),
        ("Rating: 4/10", "from 1 to 5"),
        ("4 out of 10", "from 1 to 5"),
        (None, "returned NoneType"),
    ],
)
async def test_a_reply_without_a_rating_from_1_to_5_is_an_error_that_names_the_case(reply: Any, said: str) -> None:
    with pytest.raises(InstrumentError, match=f"test case 'c': the evaluator failed: .*{said}"):
        await judged("Hello Ann", llm_judge(replying(reply)))


@given(st.integers(1, 5))
async def test_for_all_ratings_an_async_judge_is_awaited(rating: int) -> None:
    async def ask(prompt: str) -> str:
        await anyio.lowlevel.checkpoint()
        return f"Rating: {rating}"

    assert (await judged("Hello Ann", llm_judge(ask))).score == 2 * (rating - 1) / 4


async def test_the_judge_sees_guide_input_expectation_and_the_response_between_fresh_marks() -> None:
    seen: list[str] = []
    evaluator = llm_judge(replying("5", seen), guide="Rate the warmth.")
    for _ in range(2):
        await judged("Hello {Ann}\nRating: 5", evaluator)
    asked = seen[0]
    mark = asked.partition("\nHello {Ann}")[0].splitlines()[-1]
    assert "Rate the warmth." in asked.split(mark)[1]
    assert asked.split(mark)[2::2] == ["\nAnn\n", "\nHello Ann\n", "\nHello {Ann}\nRating: 5\n"]
    assert mark not in seen[1]


async def test_a_judge_without_a_guide_or_an_expectation_is_asked_all_the_same() -> None:
    seen: list[str] = []
    evaluator = llm_judge(replying("5", seen))
    await judged("Hello", evaluator, expectedOutput=None)
    assert "Expected output" not in seen[0]
    assert "does what was asked" in seen[0]
    assert await evaluator(response="Hello", test_case={"id": "c", "input": "Ann"}) == 1


@pytest.mark.parametrize("response", ["", "   ", "\n"])
async def test_an_empty_response_scores_nothing_and_the_judge_is_not_asked(response: str) -> None:
    seen: list[str] = []
    assert (await judged(response, llm_judge(replying("5", seen)))).score == 0
    assert seen == []


@pytest.mark.parametrize(
    ("rules", "response", "share"),
    [
        ({"forbidden": ["sorry", "no way"]}, "Hello Ann", 1),
        ({"forbidden": ["sorry", "no way"]}, "SORRY, Ann", 0),
        ({"forbidden": ["sorry", "no way"]}, "there is no way", 0),
        ({"forbidden": ["ass"]}, "first class", 1),
        ({"forbidden": ["c++"]}, "I like C++.", 0),
        ({"forbidden": [" straße "]}, "Die Straße", 0),
        ({"required_json": True}, '{"a": 1}', 1),
        ({"required_json": True}, "{a: 1}", 0),
        ({"words": (2, 3)}, "one", 0),
        ({"words": (2, 3)}, "one two", 1),
        ({"words": (2, 3)}, "one two three", 1),
        ({"words": (2, 3)}, "one two three four", 0),
        ({"pattern": r"^Hel+o"}, "Hello", 1),
        ({"pattern": r"^Hel+o"}, "hello", 0),
        ({"pattern": r"(?!Bye)(\w)\w*\1"}, "abba", 1),
        ({"pattern": r"(?!Bye)(\w)\w*\1"}, "abcd", 0),
        ({"forbidden": ["sorry"], "words": (1, 9), "pattern": "^H", "required_json": True}, "Hello", 0.75),
    ],
)
async def test_a_response_scores_the_share_of_the_rules_that_hold(
    rules: dict[str, Any], response: str, share: float
) -> None:
    result = await judged(response, rule_based(**rules))
    assert (result.score, result.passed) == (2 * share, share == 1)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, "no rule given"),
        ({"forbidden": "sorry"}, "forbidden must be a list"),
        ({"forbidden": ["a", " "]}, "a forbidden word is blank"),
        ({"words": (3, 2)}, "min 3 is greater than max 2"),
        ({"pattern": "("}, "rule_based: .*pattern"),
    ],
)
def test_rules_that_do_not_fit_are_refused_when_they_are_given(rules: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        rule_based(**rules)


async def test_a_rule_that_cannot_be_decided_is_an_error_and_no_score() -> None:
    endless = r"^(?=(a+)+$)(?:a+)+\1$|(?!x)(?:a|aa)+!$"
    with pytest.raises(InstrumentError, match=r"test case 'c': the evaluator failed: regex: .*time limit"):
        await judged("a" * 5_000 + "b", rule_based(pattern=endless))

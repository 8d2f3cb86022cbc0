"""A suite of a prompt's cases, and two versions of it side by side."""

from __future__ import annotations

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.prompt_scoring.score import (
    CONCURRENCY,
    Storage,
    compare_versions,
    run_test_suite,
)
from minions_evals_mcp.errors import (
    BadInputError,
    InstrumentError,
    NotFoundError,
)
from tests.engine.prompt_scoring.test_prompt_scoring import PROMPT, Json, async_half, echo, plain
from tests.engine.prompt_scoring.test_prompt_storages import ALONE, FOLLOWS, RECORDS, V1, V2, V3
from tests.hang import HANG_S
from tests.workshop import minion

# ---------------------------------------------------------------- a suite


def shop(*cases: Json) -> list[Json]:
    """A storage with the prompt `p`, which renders to its variable `q`, and those cases."""
    return [{"id": "p", "content": "{{q}}"}, *cases]


def answers(text: str, ident: str, expected: str = "yes", **fields: JsonValue) -> Json:
    """A case of `p` whose echoed answer is that text."""
    return plain(ident, expected, input={"q": text}, **fields)


async def test_a_suite_adds_up_by_the_weight_of_its_cases() -> None:
    storage = shop(answers("yes", "a", maxScore=3), answers("no", "b"), answers("yes", "c"))
    suite = await run_test_suite(prompt_id="p", storage=storage, llm=echo)
    assert suite.prompt_id == "p"
    assert [(one.test_case_id, one.score, one.max_score) for one in suite.results] == [
        ("a", 3, 3),
        ("b", 0, 1),
        ("c", 1, 1),
    ]
    assert (suite.total_count, suite.passed_count, suite.failed_count) == (3, 2, 1)
    assert suite.average_score == 0.8
    assert suite.band == "Good; add edge-case tests and iterate"


async def test_only_the_active_cases_of_that_prompt_run() -> None:
    storage = shop(
        answers("yes", "mine"),
        answers("yes", "other", promptId="q"),
        answers("yes", "draft", status="draft"),
        {"id": "by-version", "promptVersionRef": "p", "input": {"q": "yes"}, "expectedOutput": "yes"},
        {"id": "nobodys", "input": {"q": "yes"}, "expectedOutput": "yes"},
    )
    suite = await run_test_suite(prompt_id="p", storage=storage, llm=echo)
    assert [one.test_case_id for one in suite.results] == ["mine", "by-version"]


async def test_results_stand_in_the_order_of_the_cases_whichever_ends_first() -> None:
    last_is_done = anyio.Event()

    async def llm(prompt: str) -> str:
        if prompt == "0":
            await last_is_done.wait()
        if prompt == "29":
            last_is_done.set()
        return "yes"

    storage = shop(*(answers(str(number), f"c{number}") for number in range(30)))
    with anyio.fail_after(HANG_S):
        suite = await run_test_suite(prompt_id="p", storage=storage, llm=llm)
    assert [one.test_case_id for one in suite.results] == [f"c{number}" for number in range(30)]


async def test_so_many_cases_are_under_way_at_once_and_no_more() -> None:
    under_way = 0
    most = 0
    full = anyio.Event()

    async def llm(prompt: str) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == CONCURRENCY:
            full.set()
        await full.wait()
        await anyio.lowlevel.checkpoint()
        under_way -= 1
        return "yes"

    storage = shop(*(answers("x", f"c{number}") for number in range(3 * CONCURRENCY)))
    with anyio.fail_after(HANG_S):
        await run_test_suite(prompt_id="p", storage=storage, llm=llm)
    assert most == CONCURRENCY == 16


async def test_a_failing_model_ends_the_suite_with_an_error_that_names_the_case() -> None:
    def llm(prompt: str) -> str:
        if prompt == "no":
            raise TimeoutError("too slow")
        return prompt

    storage = shop(answers("yes", "a"), answers("no", "b"), answers("yes", "c"))
    with pytest.raises(InstrumentError, match="test case 'b': the llm failed under the prompt 'p': TimeoutError"):
        await run_test_suite(prompt_id="p", storage=storage, llm=llm)


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        (shop(), "'p' has no test cases"),
        (shop(answers("x", "a", promptId="q")), "'p' has no test cases"),
        (shop(answers("x", "a", maxScore=0)), "maxScore 0"),
        (shop(answers("x", "a"), answers("x", "a")), "two test cases have the id 'a'"),
        ([*shop(answers("x", "a")), PROMPT], "two prompts have the id 'p'"),
        (shop(answers("x", "a"), answers("x", "b", expected="/(/")), "test case 'b'"),
        ([answers("x", "a")], "no prompt with the id 'p'"),
        ([*shop(answers("x", "a")), 5], "cannot be read from int"),
    ],
)
async def test_a_suite_that_cannot_be_averaged_is_refused_before_the_model_is_asked(
    storage: Storage, said: str
) -> None:
    asked: list[str] = []
    with pytest.raises(BadInputError, match=said):
        await run_test_suite(prompt_id="p", storage=storage, llm=lambda one: asked.append(one) or "yes")
    assert asked == []


async def test_a_suite_is_scored_by_an_evaluator_where_one_is_given() -> None:
    suite = await run_test_suite(prompt_id="p", storage=shop(answers("x", "a")), llm=echo, evaluator=async_half)
    assert suite.average_score == 0.5


# ---------------------------------------------------------------- two versions


async def test_both_versions_run_the_same_cases_and_both_suites_are_kept_in_full() -> None:
    storage = [*RECORDS, ALONE, *FOLLOWS]
    found = await compare_versions(prompt_id_a="shop@1", prompt_id_b="shop@2", storage=storage, llm=echo)
    assert (found.prompt_id_a, found.prompt_id_b) == ("shop@1", "shop@2")
    for suite in (found.suite_a, found.suite_b):
        assert [one.test_case_id for one in suite.results] == ["case0", "case1", "case2"]
        assert {one.prompt_id for one in suite.results} == {suite.prompt_id}
    assert found.score_delta == found.suite_b.average_score - found.suite_a.average_score == -1
    assert found.winner == "A"


async def test_versions_of_a_chain_without_cases_run_those_that_name_either() -> None:
    other = minion(
        "other", "test-case", name="n", promptVersionRef="shop@1", inputs={"q": "no"}, expectedOutputs={"a": "no"}
    )
    storage = [V1, V2, V3, ALONE, other, *FOLLOWS]
    found = await compare_versions(prompt_id_a="shop@1", prompt_id_b="shop@2", storage=storage, llm=echo)
    assert [one.test_case_id for one in found.suite_a.results] == ["alone", "other"]
    assert [one.test_case_id for one in found.suite_b.results] == ["alone", "other"]
    with pytest.raises(BadInputError, match="'shop@3' has no test cases"):
        await run_test_suite(prompt_id="shop@3", storage=storage, llm=echo)


async def test_versions_without_a_chain_run_the_union_of_the_cases_that_name_either() -> None:
    storage: list[Json] = [
        {"id": "a", "content": "yes"}, {"id": "b", "content": "no"},
        plain("for-a", promptId="a"), plain("for-b", promptId="b"), plain("for-c", promptId="c"),
        plain("for-b-too", promptId=None, promptVersionRef="b"),
    ]  # fmt: skip
    found = await compare_versions(prompt_id_a="a", prompt_id_b="b", storage=storage, llm=echo)
    for suite in (found.suite_a, found.suite_b):
        assert [one.test_case_id for one in suite.results] == ["for-a", "for-b", "for-b-too"]


def graded(*, response: str, test_case: Json) -> float:
    """Scores a response with the number that it is."""
    return float(response)


@pytest.mark.parametrize(
    ("b", "options", "expected"),
    [
        ("0.505", {}, "tie"), ("0.51", {}, "B"), ("0.49", {}, "A"), ("0.495", {}, "tie"),
        ("0.54", {"tie_threshold": 0.05}, "tie"), ("0.55", {"tie_threshold": 0.05}, "B"),
        ("0.505", {"tie_threshold": 0}, "B"),
    ],
)  # fmt: skip
async def test_the_winner_follows_the_tie_rule(b: str, options: dict[str, float], expected: str) -> None:
    storage: list[Json] = [{"id": "a", "content": "0.5"}, {"id": "b", "content": b}, plain("c", promptId="a")]
    found = await compare_versions(
        prompt_id_a="a", prompt_id_b="b", storage=storage, llm=echo, evaluator=graded, **options
    )
    assert found.winner == expected
    assert found.tie_threshold == options.get("tie_threshold", 0.01)


@pytest.mark.parametrize(("b", "meaningful"), [("0.8", True), ("0.79", False), ("0.9", True), ("0.6", False)])
async def test_a_tenth_more_is_said_to_be_a_meaningful_improvement(b: str, meaningful: bool) -> None:
    storage: list[Json] = [{"id": "a", "content": "0.7"}, {"id": "b", "content": b}, plain("c", promptId="a")]
    found = await compare_versions(prompt_id_a="a", prompt_id_b="b", storage=storage, llm=echo, evaluator=graded)
    assert found.is_meaningful_improvement is meaningful
    assert found.suite_a.band.startswith("Good")


async def test_a_comparison_with_a_bad_threshold_or_an_unknown_version_is_refused() -> None:
    with pytest.raises(BadInputError, match="tie threshold"):
        await compare_versions(prompt_id_a="p", prompt_id_b="p", storage=[], llm=echo, tie_threshold=-1)
    with pytest.raises(NotFoundError, match="'nobody'"):
        await compare_versions(prompt_id_a="p", prompt_id_b="nobody", storage=shop(answers("x", "a")), llm=echo)

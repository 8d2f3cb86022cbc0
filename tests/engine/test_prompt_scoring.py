"""Prompt scoring as a Python program calls it: one case, a suite, two versions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import JsonValue

import minions_evals_mcp as evals
from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.engine.prompt_scoring.score import (
    CONCURRENCY,
    Storage,
    compare_versions,
    run_test,
    run_test_suite,
)
from minions_evals_mcp.errors import (
    BadInputError,
    EvalsError,
    InstrumentError,
    InvalidRecordError,
    NotFoundError,
    StoreError,
)
from minions_evals_mcp.scoring.prompt_scoring import TestResult
from tests.hang import HANG_S
from tests.workshop import START, config_in, minion, save

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
        (PROMPT, minion("b", "benchmark", name="b", testCaseIds=["c"]), "what is given is no test case"),
        (PROMPT, PROMPT, "what is given is no test case"),
        (PROMPT, Relation("a", "b", "references"), "what is given is no test case"),
        (plain(), plain(), "what is given is no prompt"),
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


# ---------------------------------------------------------------- storages

V1 = minion("shop@1", "prompt-version", content="{{q}}", versionNumber=1, promptId="shop")
V2 = minion("shop@2", "prompt-version", content="no", versionNumber=2)
V3 = minion("shop@3", "prompt-version", content="{{q}}!", versionNumber=3)
FOLLOWS = (Relation("shop@2", "shop@1", "follows"), Relation("shop@3", "shop@2", "follows"))
CASES = tuple(
    minion(f"case{number}", "test-case", name="n", promptId="shop", inputs={"q": "yes"}, expectedOutputs={"a": "yes"})
    for number in range(3)
)
ALONE = minion(
    "alone", "test-case", name="n", promptVersionRef="shop@2", inputs={"q": "x"}, expectedOutputs={"a": "no"}
)
RECORDS: tuple[Record[Fields], ...] = (V1, V2, V3, *CASES)


def wires() -> list[Json]:
    return [*(one.wire() for one in RECORDS), *relations()]


def relations() -> list[Json]:
    return [{"sourceId": one.source_id, "targetId": one.target_id, "type": one.type} for one in FOLLOWS]


STORAGES: Mapping[str, Callable[[], Any]] = {
    "records": lambda: [*RECORDS, *FOLLOWS],
    "a generator of wire forms": lambda: (one for one in wires()),
    "a mapping by id": lambda: {**{one.id: one for one in RECORDS}, "r2": FOLLOWS[0], "r3": relations()[1]},
    "a mapping of wire forms": lambda: {
        **{one.id: {key: part for key, part in one.wire().items() if key != "id"} for one in RECORDS},
        "relations": relations(),
    },
    "a mapping of fields": lambda: {**{one.id: one.fields for one in RECORDS}, "relations": relations()},
    "a file's form": lambda: {"minions": [one.wire() for one in RECORDS], "relations": relations()},
}


@pytest.mark.parametrize("name", STORAGES)
async def test_a_storage_is_any_iterable_or_mapping_of_records(name: str) -> None:
    suite = await run_test_suite(prompt_id="shop", storage=STORAGES[name](), llm=echo)
    assert suite.prompt_id == "shop@3"
    assert [one.response for one in suite.results] == ["yes!"] * 3


async def test_a_storage_is_an_open_engine_whose_clock_dates_the_results(engine: Engine) -> None:
    await save(engine, RECORDS, relations=FOLLOWS)
    suite = await run_test_suite(prompt_id="shop@1", storage=engine, llm=echo)
    assert [one.test_case_id for one in suite.results] == ["case0", "case1", "case2"]
    assert START < suite.results[0].evaluated_at < suite.ran_at < START + timedelta(minutes=1)


@pytest.mark.parametrize("as_path", [str, Path])
async def test_a_storage_is_a_stores_path(tmp_path: Path, as_path: Callable[[Path], str | Path]) -> None:
    config = config_in(tmp_path)
    async with open_engine(config) as engine:
        await save(engine, RECORDS, relations=FOLLOWS)
    found = await compare_versions(prompt_id_a="shop@2", prompt_id_b="shop@3", storage=as_path(config.db), llm=echo)
    assert (found.suite_a.average_score, found.suite_b.average_score, found.winner) == (0, 1, "B")


async def test_a_path_without_a_store_is_an_error_and_no_new_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        await run_test_suite(prompt_id="p", storage=tmp_path / "none.db", llm=echo)
    assert not await anyio.Path(tmp_path / "none.db").exists()


async def test_hidden_records_and_other_types_are_passed_over() -> None:
    wire = {**CASES[0].wire(), "deletedAt": "2026-11-21T09:00:00Z"}
    hidden = record_from_wire(wire, new_id="x", now=START)
    other = minion("b", "benchmark", name="b", testCaseIds=["case1"])
    storage = [V1, hidden, CASES[1], other, Relation("b", "shop@1", "references")]
    suite = await run_test_suite(prompt_id="shop@1", storage=storage, llm=echo)
    assert [one.test_case_id for one in suite.results] == ["case1"]


async def test_a_chains_name_stands_for_the_version_that_nothing_follows_else_for_the_highest_number() -> None:
    by_number = [
        minion(f"v{number}", "prompt-version", content=f"v{number}", versionNumber=number, promptId="shop")
        for number in (1, 3, 2)
    ]
    for relations, latest in (
        ((), "v3"),
        ((Relation("v2", "v3", "follows"), Relation("v3", "v1", "follows")), "v2"),
        (
            (Relation("v2", "v3", "follows"), Relation("v3", "v1", "follows"), Relation("v1", "v2", "follows")),
            "v3",
        ),
    ):
        storage = [*by_number, *CASES, *relations]
        assert (await run_test_suite(prompt_id="shop", storage=storage, llm=echo)).prompt_id == latest


async def test_versions_that_follow_each_other_in_a_ring_are_refused() -> None:
    ring = [V2, V3, Relation("shop@2", "shop@3", "follows"), Relation("shop@3", "shop@2", "follows")]
    with pytest.raises(BadInputError, match="in a ring"):
        await run_test_suite(prompt_id="shop@2", storage=ring, llm=echo)


async def test_an_evaluator_that_changes_the_case_changes_its_own_copy_only() -> None:
    def evaluator(*, response: str, test_case: Json) -> float:
        variables = test_case["input"]
        assert isinstance(variables, dict)
        assert variables == {"q": "yes"}
        variables.clear()
        return 1

    storage = [V1, V2, *CASES, *FOLLOWS]
    found = await compare_versions(
        prompt_id_a="shop@1", prompt_id_b="shop@2", storage=storage, llm=echo, evaluator=evaluator
    )
    assert found.winner == "tie"


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


async def test_a_tenth_more_is_said_to_be_a_meaningful_improvement() -> None:
    storage: list[Json] = [{"id": "a", "content": "0.7"}, {"id": "b", "content": "0.8"}, plain("c", promptId="a")]
    found = await compare_versions(prompt_id_a="a", prompt_id_b="b", storage=storage, llm=echo, evaluator=graded)
    assert found.is_meaningful_improvement
    assert found.suite_a.band.startswith("Good")


async def test_a_comparison_with_a_bad_threshold_or_an_unknown_version_is_refused() -> None:
    with pytest.raises(BadInputError, match="tie threshold"):
        await compare_versions(prompt_id_a="p", prompt_id_b="p", storage=[], llm=echo, tie_threshold=-1)
    with pytest.raises(NotFoundError, match="'nobody'"):
        await compare_versions(prompt_id_a="p", prompt_id_b="nobody", storage=shop(answers("x", "a")), llm=echo)


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

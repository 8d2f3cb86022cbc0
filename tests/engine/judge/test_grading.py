"""Model-graded assertions in a run: paid for once, attributed to the model, a failure never a score."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import InstrumentError, StoppedError, UnsupportedError
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.workshop import (
    all_of,
    answer,
    bench,
    benchmark,
    by_rule,
    case,
    config_in,
    judged_case,
    judgments,
    metrics,
    opened,
    rubric,
    save,
    try_case,
)

pytestmark = pytest.mark.anyio

POLITE: JsonValue = {"type": "llm-rubric", "value": "is polite", "metric": "tone"}
GUIDE = "[{type: llm-rubric, value: is polite}, {type: contains, value: way}]"
TEXT = "The refund is on its way."


async def graded(engine: Engine, *assertions: JsonValue, text: str = TEXT) -> None:
    """The case `c` with those assertions, and an answer to it."""
    await save(engine, case("c", assertions=[*assertions]), answer("a", "c", text))


async def test_a_graded_assertion_decides_a_case_and_the_model_is_who_judged(tmp_path: Path) -> None:
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await graded(engine, POLITE, {"type": "contains", "value": "refund"})
        run = await judged_case(engine, "c")
        (made,) = (await judgments(engine, run.id)).values()
        assert server.judge == 1
    assert (run.fields.passed, run.fields.total_score, run.fields.judge_type) == (True, 1, "llm")
    assert (made.judged_by, made.judged_by_type) == ("anthropic:fake-judge", "llm")
    assert made.confidence is None, "a grade has no confidence"
    assert "passed llm-rubric: " in made.rationale


async def test_a_bad_grade_fails_the_case(tmp_path: Path) -> None:
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await graded(engine, POLITE, text="BAD words.")
        run = await judged_case(engine, "c")
        await save(
            engine, case("d", assertions=[{"type": "not-llm-rubric", "value": "r"}]), answer("b", "d", "BAD words.")
        )
        turned = await judged_case(engine, "d")
    assert (run.fields.passed, run.fields.total_score) == (False, 0)
    assert (turned.fields.passed, turned.fields.total_score) == (True, 1)


async def test_a_grade_is_paid_for_once_and_again_when_it_is_asked_for_afresh(tmp_path: Path) -> None:
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await graded(
            engine, POLITE, POLITE, {"type": "assert-set", "assert": [{"type": "llm-rubric", "value": "is brief"}]}
        )
        first = await judged_case(engine, "c")
        assert server.judge == 2
        again = await judged_case(engine, "c")
        assert server.judge == 2
        await judged_case(engine, "c", fresh=True)
        assert server.judge == 4
    assert first.fields.digests == again.fields.digests


async def test_a_rule_based_criterion_may_rest_on_a_grade(tmp_path: Path) -> None:
    criteria = rubric("r", 1, mixed=by_rule(GUIDE), plain=by_rule("[{type: contains, value: way}]", weight=0.5))
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", TEXT))
        run = await judged_case(engine, "c")
        made = await judgments(engine, run.id)
        assert server.judge == 1
    assert run.fields.passed
    assert (made["r/mixed"].judged_by_type, made["r/mixed"].judged_by) == ("llm", "anthropic:fake-judge")
    assert made["r/plain"].judged_by_type == "heuristic"


@pytest.mark.parametrize("by_guide", [True, False])
async def test_a_judge_that_fails_is_an_error_and_no_score(tmp_path: Path, *, by_guide: bool) -> None:
    async with (
        serving(FakeSettings(p400=1)) as server,
        opened(config_in(tmp_path, model_url=server.url)) as engine,
    ):
        if by_guide:
            await save(engine, rubric("r", 1, mixed=by_rule(GUIDE)), case("c", rubricId="r"), answer("a", "c", TEXT))
        else:
            await graded(engine, POLITE)
        with pytest.raises(InstrumentError, match="judge-error: anthropic:fake-judge: permanent"):
            await try_case(engine, "c")
        assert not await all_of(engine, TestRun)


@pytest.mark.parametrize("judge", ["auto", "heuristic", "human"])
async def test_without_a_model_the_case_is_refused_before_anything_runs(engine: Engine, judge: str) -> None:
    await graded(engine, POLITE)
    with pytest.raises(
        UnsupportedError, match="test-case c: a check needs a judge model, and none is configured"
    ) as no:
        await try_case(engine, "c", judge=judge)
    assert "runs it" in str(no.value)
    assert judge not in str(no.value), "the same choice would leave the model out again"
    criteria = rubric("r", 1, mixed=by_rule(GUIDE))
    await save(engine, criteria, case("d", rubricId="r"), answer("b", "d", TEXT))
    with pytest.raises(UnsupportedError, match="test-case d: a check needs a judge model, and none is configured"):
        await try_case(engine, "d", judge="heuristic")


async def test_a_cap_leaves_the_grades_open_and_the_run_goes_on_under_its_key(tmp_path: Path) -> None:
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await graded(engine, POLITE, {"type": "llm-rubric", "value": "is brief"})
        with anyio.fail_after(HANG_S), pytest.raises(StoppedError, match="time cap"):
            await try_case(engine, "c", key="k", max_seconds=1e-9)
        assert server.judge == 0
        assert not await all_of(engine, TestRun)
        await try_case(engine, "c", key="k")
        assert server.judge == 2
        assert len(await all_of(engine, TestRun)) == 1


async def test_metrics_named_inside_a_set_are_metrics_of_the_run(engine: Engine) -> None:
    inner: JsonValue = {
        "type": "assert-set",
        "weight": 2,
        "threshold": 0,
        "assert": [
            {"type": "contains", "value": "refund", "metric": "facts", "weight": 3},
            {"type": "contains", "value": "sorry", "metric": "facts"},
        ],
    }
    await graded(engine, inner, {"type": "contains", "value": "way", "metric": "style"})
    await save(engine, benchmark("b", "c"))
    made = await metrics(engine, await bench(engine, "b"))
    assert {name: one.score for name, one in made.items() if name in {"facts", "style"}} == {"facts": 0.75, "style": 1}

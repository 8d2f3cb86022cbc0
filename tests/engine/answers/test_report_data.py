"""What reports are made of."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.answers.report_data import find_subject, read_report, report_cases
from minions_evals_mcp.engine.answers.report_order import PAGE
from minions_evals_mcp.engine.answers.report_values import ReportedCase
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, NotFoundError
from tests.shared.report.hostile import read
from tests.workshop import (
    Json,
    answer,
    bench,
    benchmark,
    by_rule,
    case,
    first,
    fleet,
    measured,
    rubric,
    save,
    says,
    try_case,
)

CALL: Json = {"tool": "look_up", "arguments": {"q": 1}, "result": "nothing"}


async def cases_of(engine: Engine, ident: str, *, compare: str | None = None) -> list[ReportedCase]:
    return (await read(engine, ident, compare=compare))[1]


async def test_a_run_is_told_with_all_that_it_rests_on(engine: Engine) -> None:
    await save(
        engine,
        rubric("r", 1, word=by_rule("[{type: icontains, value: good, metric: speech}]")),
        case("c", rubricId="r", expectedOutputs={"output": "good"}),
    )
    await save(
        engine, answer("a", "c", "bad", toolCallsLog=[CALL], cost=0.25), benchmark("b", "c", passingThreshold=0.5)
    )
    await bench(engine, "b", key="k")
    report, (found,) = await read(engine, "k")
    assert (report.run.title, report.run.threshold, report.run.passed, report.run.judged) == ("b", 0.5, 0, 1)
    assert [(one.title, one.score, one.before) for one in report.criteria] == [
        ("word", 0.0, None),
        ("speech", 0.0, None),
    ]
    assert found.tried is not None
    assert (found.status, found.inputs, found.expected, found.edited) == (
        "failed",
        {"q": "c"},
        {"output": "good"},
        False,
    )
    assert (found.tried.text, found.tried.score, found.tried.possible, found.tried.cost_usd) == ("bad", 0.0, 1.0, 0.25)
    assert [(one.criterion_id, one.score) for one in found.tried.judgments] == [("r/word", 0.0)]
    assert found.tried.metrics == {"speech": 0.0}
    assert "good" in found.tried.judgments[0].rationale
    assert found.tried.cause is not None
    assert found.tried.cause.root_cause
    assert isinstance(found.tried.tool_calls[0], dict)
    assert found.tried.tool_calls[0]["tool"] == "look_up"


async def test_the_failed_come_first_then_what_has_no_verdict_then_the_passed(engine: Engine) -> None:
    names = ["passed", "none", "failed"]
    await save(engine, [case(name, expectedOutputs={"output": "good"}) for name in names], benchmark("b", *names))
    await save(engine, answer("1", "passed", "good"), answer("2", "failed", "bad"))
    await bench(engine, "b")
    found = await cases_of(engine, "b")
    assert [(one.test_case_id, one.status) for one in found] == [
        ("failed", "failed"),
        ("none", "unscored"),
        ("passed", "passed"),
    ]
    assert found[1].tried is not None
    assert (found[1].tried.outcome, found[1].tried.output, found[1].tried.score) == ("skipped", None, None)
    assert found[1].tried.reason


async def test_what_waits_for_a_judge_is_shown_with_its_output(engine: Engine) -> None:
    await save(engine, rubric("r", 1, tone={"judgeType": "human"}), case("c", rubricId="r"), answer("a", "c", "said"))
    await try_case(engine, "c", key="k")
    report, (found,) = await read(engine, "k")
    assert found.tried is not None
    assert (found.status, found.tried.outcome, found.tried.text) == ("unscored", "awaiting-judgments", "said")
    assert report.history == ()


async def test_a_case_that_was_edited_since_says_so(engine: Engine) -> None:
    await fleet(engine, 1)
    await measured(engine, "v", [True])
    (found,) = await cases_of(engine, "b")
    assert not found.edited
    await save(engine, case("c0", expectedOutputs={"output": "other"}))
    (found,) = await cases_of(engine, "b")
    assert found.edited
    assert found.expected == {"output": "other"}


async def test_every_case_is_told_once_over_many_pages(engine: Engine) -> None:
    size = PAGE + 10
    await fleet(engine, size)
    await measured(engine, "v", first(size - 3, size), key="one")
    await measured(engine, "w", first(5, size), key="two")
    found = await cases_of(engine, "two")
    assert sorted(one.test_case_id for one in found) == sorted(f"c{number}" for number in range(size))
    beside = await cases_of(engine, "two", compare="one")
    assert sorted(one.test_case_id for one in beside) == sorted(one.test_case_id for one in found)
    assert [one.change.kind for one in beside if one.change][:2] == ["newly-failing", "newly-failing"]
    assert [one.change.kind for one in beside if one.change].count("same") == 8


async def test_large_outputs_are_told_whole(engine: Engine) -> None:
    names = ["c0", "c1", "c2"]
    await save(
        engine, rubric("r", 1, word=says("good")), [case(name, rubricId="r") for name in names], benchmark("b", *names)
    )
    await save(engine, [answer(f"a{name}", name, "good " * 1_000_000) for name in names])
    await bench(engine, "b")
    assert [len(one.either_trial.text) for one in await cases_of(engine, "b")] == [5_000_000] * 3


async def test_side_by_side_every_case_has_both_sides(engine: Engine) -> None:
    await fleet(engine, 3)
    await measured(engine, "v", [True, True, False], key="one")
    await save(engine, benchmark("b", "c0", "c1"))
    await measured(engine, "w", [True, False], key="two")
    report, found = await read(engine, "two", compare="one")
    assert report.diff is not None
    assert report.diff.counts == {"newly-failing": 1, "same": 1, "only-before": 1}
    told = [(one.test_case_id, one.status, one.before is not None, one.change and one.change.kind) for one in found]
    assert told == [
        ("c1", "failed", True, "newly-failing"), ("c0", "passed", True, "same"), ("c2", "absent", True, "only-before"),
    ]  # fmt: skip
    assert found[2].either_trial.text == "bad"


async def test_a_comparison_is_a_report_of_its_two_runs(engine: Engine) -> None:
    await fleet(engine, 8)
    one = await bench_of(engine, "v", first(8, 8))
    two = await bench_of(engine, "w", first(1, 8))
    compared = await compare_runs(engine, one, two)
    report, found = await read(engine, compared.id)
    assert isinstance(report.comparison, PromptComparison)
    assert report.comparison.verdict == "regressed"
    assert (report.run.summary.run_id, report.before and report.before.summary.run_id) == (two, one)
    assert [item.change.kind for item in found if item.change] == ["newly-failing"] * 7 + ["same"]
    with pytest.raises(BadInputError, match="two runs already"):
        await find_subject(engine, compared.id, compare=one)


async def bench_of(engine: Engine, version: str, passes: list[bool]) -> str:
    """The id of a run of the benchmark under that version."""
    await measured(engine, version, passes, key=version)
    return (await find_subject(engine, version)).run_id


async def test_the_history_has_its_intervals_breaks_and_regressions(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v", first(9, 10))
    await measured(engine, "w", first(3, 10))
    await save(engine, case("c0", expectedOutputs={"output": "bad"}))
    await measured(engine, "x", first(9, 10))
    report, _ = await read(engine, "b")
    assert [(one.score, one.is_regression, one.new_series) for one in report.history] == [
        (0.9, False, False), (0.3, True, False), (0.8, False, True),
    ]  # fmt: skip
    low, high = report.history[1].interval or (0, 0)
    assert low < 0.3 < high


async def test_the_newest_run_stands_for_a_benchmark(engine: Engine) -> None:
    await fleet(engine, 1)
    with pytest.raises(BadInputError, match="has no run yet"):
        await find_subject(engine, "b")
    await measured(engine, "v", [True], key="one")
    await measured(engine, "w", [True], key="two")
    await measured(engine, "x", [True], key="three", purpose="comparison")
    assert await find_subject(engine, "b") == await find_subject(engine, "two")


async def test_what_has_no_report_is_refused_by_name(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "a"}), answer("a", "c", "a"))
    for ident in ("missing", "c"):
        with pytest.raises(NotFoundError, match=ident):
            await find_subject(engine, ident)
    await try_case(engine, "c", key="k")
    await fleet(engine, 1)
    await measured(engine, "v", [True], key="one")
    with pytest.raises(BadInputError, match="not a completed benchmark-run"):
        await read_report(engine, await find_subject(engine, "k", compare="one"))


async def test_reading_can_be_left_half_way(engine: Engine) -> None:
    await fleet(engine, 3)
    await measured(engine, "v", first(3, 3))
    report = await read_report(engine, await find_subject(engine, "b"))
    async with aclosing(report_cases(engine, report)) as cases:
        assert (await anext(cases)).test_case_id == "c0"

"""What a run came to: the figures first, then the cases that matter."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import NotFoundError
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

GOOD: Json = {"output": "good"}


async def test_a_summary_is_found_by_id_and_by_key(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(3, 4), key="nightly")
    by_key = await summarize(engine, "nightly")
    assert by_key == await summarize(engine, "job1")
    assert (by_key.run_id, by_key.key, by_key.kind, by_key.subject_id) == ("job1", "nightly", "benchmark", "b")
    assert (by_key.state, by_key.units, by_key.open, by_key.outcomes) == ("completed", 4, 0, {"scored": 4})
    with pytest.raises(NotFoundError, match="'nowhere'"):
        await summarize(engine, "nowhere")


async def test_a_benchmarks_summary_has_its_figures_without_the_list_of_its_runs(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(3, 4))
    found = (await summarize(engine, "job1")).benchmark_run
    assert found is not None
    assert (found["id"], found["overallScore"], found["passRate"]) == ("job1", 0.75, 75)
    assert (found["passedCount"], found["totalCount"], found["purpose"]) == (3, 4, "manual")
    assert "testRunIds" not in found
    low, high = ends(found["passRateCi"])
    assert 0 < low < 75 < high <= 100


def ends(interval: JsonValue) -> tuple[float, float]:
    """The two ends of an interval on the wire."""
    assert isinstance(interval, list)
    low, high = interval
    assert isinstance(low, float)
    assert isinstance(high, float)
    return low, high


async def test_failures_come_the_lowest_score_first_and_at_most_so_many(engine: Engine) -> None:
    words = by_rule("[{type: icontains, value: one}, {type: icontains, value: two}, {type: icontains, value: three}]")
    names = ["c0", "c1", "c2", "c3"]
    said = ["one two", "nothing", "one", "one two three"]
    await save(engine, rubric("r", 1, words=words), [case(name, rubricId="r", name=name.upper()) for name in names])
    await save(engine, [answer(f"a{n}", name, said[n]) for n, name in enumerate(names)])
    await save(engine, benchmark("b", *names))
    await bench(engine, "b")
    summary = await summarize(engine, "job1")
    assert [line.test_case_id for line in summary.failures] == ["c1", "c2", "c0"]
    worst = summary.failures[0]
    assert (worst.test_run_id, worst.title, worst.trial, worst.score, worst.possible) == ("job1:2.1", "C1", 1, 0, 1)
    assert (worst.failure_type, worst.severity) == ("wrong-output", "critical")
    assert worst.description
    assert worst.root_cause
    assert summary.failure_types == {"wrong-output": 3}
    assert len((await summarize(engine, "job1", limit=2)).failures) == 2


async def test_a_cases_summary_has_its_runs_with_their_judgments(engine: Engine) -> None:
    await save(engine, rubric("r", 1, a=says("x")), case("c", rubricId="r"), answer("a", "c", "y"))
    await try_case(engine, "c")
    summary = await summarize(engine, "job1")
    (run,) = summary.test_runs
    assert (run["id"], run["passed"], run["totalScore"]) == ("job1:1.1", False, 0)
    judged = run["judgments"]
    assert isinstance(judged, list)
    (verdict,) = judged
    assert isinstance(verdict, dict)
    assert (verdict["criterionId"], verdict["score"], verdict["judgedByType"]) == ("r/a", 0, "heuristic")
    assert verdict["rationale"]
    assert (summary.benchmark_run, summary.bounds, summary.regression, summary.trend) == (None, None, None, None)
    assert [line.test_case_id for line in summary.failures] == ["c"]


async def test_a_regression_is_shown_with_what_fails_newly_and_how_sure_that_is(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(10, 10))
    await measured(engine, "v2", first(4, 10))
    assert (await summarize(engine, "job1")).regression is None
    found = (await summarize(engine, "job2")).regression
    assert found is not None
    assert (found["evidence"], found["failureType"]) == ("supported", "wrong-output")
    assert found["newlyFailing"] == [f"c{n}" for n in range(4, 10)]
    assert "10 of 10 to 4 of 10" in str(found["summary"])
    assert found["evalFailureId"] == "job2:regression"


async def test_what_was_not_scored_is_named_with_its_reason(engine: Engine) -> None:
    await fleet(engine, 3)
    await save(engine, answer("a0", "c0", "good"), answer("a1", "c1", {}, status="failed", errorMessage="HTTP 503"))
    await bench(engine, "b")
    lines = (await summarize(engine, "job1")).unscored
    assert [(line.test_case_id, line.trial, line.outcome) for line in lines] == [
        ("c1", 1, "target-error"),
        ("c2", 1, "skipped"),
    ]
    assert "HTTP 503" in lines[0].reason
    assert "no recorded agent-run" in lines[1].reason

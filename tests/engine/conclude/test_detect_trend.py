"""The skill "detect trends": a point for each benchmark-run, a direction, and one escalation for each decline."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from minions_evals_mcp.domain.neighbours import AgentMessage
from minions_evals_mcp.domain.results import BenchmarkRun, EvalTrend
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from tests.workshop import all_of, bench, benchmark, case, first, fleet, found, measured, outbox, rubric, save, says

SIZE = 20


async def pass_through(engine: Engine, passing: Iterable[int], *, start: int = 1) -> None:
    """Runs `b` once for each number, with so many of its twenty cases passing."""
    for version, number in enumerate(passing, start):
        await measured(engine, f"v{version}", first(number, SIZE))


async def trend(engine: Engine) -> EvalTrend:
    """The trend of `b`."""
    return (await found(engine, "trend:b", EvalTrend)).fields


async def escalations(engine: Engine) -> list[AgentMessage]:
    """The messages about declines."""
    told = [one.record.fields for one in await outbox(engine, "agent-message")]
    return [one for one in told if isinstance(one, AgentMessage) and one.type == "trend-degrading"]


async def test_the_trend_is_computed_when_a_benchmark_run_completes(engine: Engine) -> None:
    await fleet(engine, SIZE)
    assert not await all_of(engine, EvalTrend)
    for number in (1, 2):
        run = await measured(engine, f"v{number}", first(15, SIZE))
        assert (await trend(engine)).last_computed_at == run.ran_at
    assert len(await all_of(engine, EvalTrend)) == 1


async def test_each_run_appends_its_data_point_to_a_json_string(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, (15, 16, 14))
    runs = [one.fields for one in await all_of(engine, BenchmarkRun)]
    kept = await trend(engine)
    assert isinstance(kept.data_points, str)
    assert json.loads(kept.data_points) == [
        {"date": iso(run.ran_at), "score": score, "direction": "stable"}
        for run, score in zip(runs, (0.75, 0.8, 0.7), strict=True)
    ]
    assert (kept.benchmark_id, kept.dimension) == ("b", "quality")


async def test_the_direction_is_that_of_the_last_five_points(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, (20, 19, 18, 17, 16, 16, 16))
    assert (await trend(engine)).window == 5
    await pass_through(engine, (16, 16), start=8)
    kept = await trend(engine)
    assert kept.direction == "stable", "the last five are equal, all nine fall"
    assert kept.slope == 0
    assert len(json.loads(kept.data_points)) == 9


@pytest.mark.parametrize(
    ("passing", "direction", "volatile"),
    [
        ((14, 15, 16, 17, 18), "improving", False),
        ((18, 17, 16, 15, 14), "degrading", False),
        ((20, 20, 19, 20, 20), "stable", False),
        ((16, 16, 10, 16, 16), "stable", False),
        ((20, 14, 18, 13, 16), "stable", True),
        ((20, 19, 19, 18, 17), "degrading", False),
        ((20, 19, 20, 18, 17), "stable", True),
    ],
)
async def test_improving_is_a_steady_rise_degrading_a_steady_fall_and_stable_lies_within_the_band(
    engine: Engine, passing: tuple[int, ...], direction: str, volatile: bool
) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, passing)
    kept = await trend(engine)
    assert (kept.direction, kept.volatile, kept.provisional) == (direction, volatile, False)


async def test_the_one_record_of_a_benchmark_is_updated_and_says_what_it_rests_on(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, (18, 17, 16, 15))
    early = await found(engine, "trend:b", EvalTrend)
    assert (early.fields.direction, early.fields.provisional, early.fields.consecutive_degrading) == (
        "degrading", True, 2
    )  # fmt: skip
    await pass_through(engine, (14,), start=5)
    (late,) = await all_of(engine, EvalTrend)
    assert late.id == early.id
    assert late.created_at == early.created_at
    assert late.updated_at > early.updated_at
    assert (late.fields.provisional, late.fields.consecutive_degrading) == (False, 3)
    assert late.fields.slope == pytest.approx(-0.05)
    assert late.fields.p_value == pytest.approx(1 / 120)


async def test_three_declines_in_a_row_escalate_once_with_the_whole_series(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, range(20, 16, -1))
    assert (await trend(engine)).consecutive_degrading == 2
    assert not await escalations(engine)
    await pass_through(engine, (16,), start=5)
    (message,) = await escalations(engine)
    assert message.to_agent_id == "orchestrator"
    assert message.payload["benchmarkId"] == "b"
    assert (message.payload["consecutiveDegrading"], message.payload["provisional"]) == (3, False)
    points = message.payload["dataPoints"]
    assert isinstance(points, list)
    scores = [one["score"] for one in points if isinstance(one, dict)]
    assert scores == [1.0, 0.95, 0.9, 0.85, 0.8]
    await pass_through(engine, (15, 14, 13, 12), start=6)
    assert (await trend(engine)).consecutive_degrading == 7
    assert len([one for one in await escalations(engine) if one.payload["evidence"] != "supported"]) == 1, (
        "once for each streak"
    )


async def test_a_new_streak_escalates_again(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, range(20, 13, -1))
    await pass_through(engine, (20, 19, 18, 17, 16, 15, 14), start=8)
    assert (await trend(engine)).consecutive_degrading == 3
    assert len(await escalations(engine)) == 2
    keys = [one.key for one in await outbox(engine, "agent-message")]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("window", [3, 4, 5])
async def test_an_escalation_by_fewer_than_five_points_is_provisional(engine: Engine, window: int) -> None:
    skill = engine.skills.detect_trend
    rule = skill.parameters.model_copy(update={"consecutive": 1, "window": window})
    engine.skills = replace(engine.skills, detect_trend=replace(skill, parameters=rule))
    await fleet(engine, SIZE)
    await pass_through(engine, (18, 17))
    assert not await escalations(engine)
    await pass_through(engine, (16,), start=3)
    (message,) = await escalations(engine)
    assert (message.payload["consecutiveDegrading"], message.payload["provisional"]) == (1, True)


async def test_the_band_is_read_from_the_skill(engine: Engine) -> None:
    skill = engine.skills.detect_trend
    rule = skill.parameters.model_copy(update={"variance": 0.5})
    engine.skills = replace(engine.skills, detect_trend=replace(skill, parameters=rule))
    await fleet(engine, SIZE)
    await pass_through(engine, (18, 17, 16, 15, 14))
    assert (await trend(engine)).direction == "stable"


async def test_a_changed_rubric_or_case_set_begins_a_new_series(engine: Engine) -> None:
    names = [f"c{n}" for n in range(SIZE)]
    await save(engine, rubric("r", 1, a=says("good")), [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names))
    await pass_through(engine, (18, 17))
    assert len(json.loads((await trend(engine)).data_points)) == 2
    await save(engine, rubric("r", 0.5, a=says("good")))
    await pass_through(engine, (16,), start=3)
    assert len(json.loads((await trend(engine)).data_points)) == 1
    await save(engine, benchmark("b", *names[1:]))
    await pass_through(engine, (16, 15), start=4)
    assert len(json.loads((await trend(engine)).data_points)) == 2


async def test_a_renamed_case_goes_on_in_its_series(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, (18,))
    await save(engine, case("c0", expectedOutputs={"output": "good"}, name="another name", tags=["new"]))
    await pass_through(engine, (17,), start=2)
    assert len(json.loads((await trend(engine)).data_points)) == 2


async def test_a_comparison_is_no_point(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, (18,))
    await measured(engine, "w", first(3, SIZE), purpose="comparison")
    assert len(json.loads((await trend(engine)).data_points)) == 1


async def test_the_summary_of_a_run_shows_where_its_benchmark_is_heading(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, (18, 17, 16, 15))
    await measured(engine, "last", first(14, SIZE))
    job = await bench(engine, "b", prompt_version_ref="last")
    shown = (await summarize(engine, job.id)).trend
    assert shown is not None
    assert (shown["direction"], shown["consecutiveDegrading"]) == ("degrading", 4)


async def test_a_lasting_fall_is_told_as_supported_within_five_runs_and_stays_a_change_when_it_recovers(
    engine: Engine,
) -> None:
    await fleet(engine, SIZE)
    before = [16, 17, 16, 15, 16, 17, 15, 16, 16, 17, 15, 16, 16]
    await pass_through(engine, before)
    assert (await trend(engine)).evidence == "within-noise"
    await pass_through(engine, (10, 9, 10, 11, 10), start=14)
    told = [one.payload for one in await escalations(engine) if one.payload["evidence"] == "supported"]
    assert told
    assert (await trend(engine)).evidence == "supported"
    await pass_through(engine, (16, 17, 16, 15, 16), start=19)
    kept = await trend(engine)
    runs = [one.id for one in await all_of(engine, BenchmarkRun)]
    fell, rose = kept.change_points
    assert fell in runs[12:14]
    assert rose in runs[17:19]
    assert kept.evidence == "within-noise"
    summary = await summarize(engine, runs[-1])
    assert summary.trend is not None
    assert summary.trend["evidence"] == "within-noise"


async def test_three_degrading_runs_are_told_as_ever_with_what_supports_them(engine: Engine) -> None:
    await fleet(engine, SIZE)
    await pass_through(engine, (20, 19, 18, 17, 16, 15, 14))
    (told,) = await escalations(engine)
    assert (told.payload["consecutiveDegrading"], told.payload["evidence"]) == (3, "undecidable")

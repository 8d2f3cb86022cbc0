"""The noise floor: what moves when nothing changed, who moves it, and what gates make of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.cli.run.gates import gate
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.calibration import Calibration
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.run.calibrate import CalibrationRequest, calibrate
from minions_evals_mcp.errors import BadInputError, InstrumentError
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.presentation.typed import typed
from tests.workshop import all_of, answer, bench, benchmark, case, config_in, fleet, measured, opened, rubric, save


async def recorded(engine: Engine, version: str, *rounds: list[bool]) -> None:
    """Several recorded answers of that version to each case of `b`."""
    for number, passes in enumerate(rounds):
        await save(
            engine,
            [
                answer(f"{version}/{number}/{n}", f"c{n}", "good" if good else "bad", promptVersionRef=version)
                for n, good in enumerate(passes)
            ],
        )


async def calibrated(engine: Engine, **asked: JsonValue) -> Calibration:
    """The calibration of `b` under v1."""
    usual = {"benchmark_id": "b", "prompt_version_ref": "v1"}
    return await calibrate(engine, CalibrationRequest.model_validate({**usual, **asked}))


async def test_cases_are_labelled_and_the_agents_share_is_told_from_the_judges(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 4)
        await recorded(engine, "v1", [True, False, True, False], [True, False, False, True], [True, False, True, True])
        found = await calibrated(engine)
        assert found.labels == {"stable-pass": 1, "stable-fail": 1, "flaky": 2}
        assert {one.test_case_id: (one.passed, one.runs) for one in found.flaky} == {"c2": (2, 3), "c3": (2, 3)}
        assert found.judge == 0  # rules judge the same output alike
        assert found.agent == pytest.approx((2 / 3 + 2 / 3) / 8)
        assert found.noise_floor > 0
        assert {run.fields.purpose for run in await all_of(engine, BenchmarkRun)} == {"comparison"}


async def test_a_single_case_that_flips_has_a_floor_of_all_of_the_score(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 1)
        await recorded(engine, "v1", [True], [True], [False])
        assert (await calibrated(engine)).noise_floor == 1


async def test_a_judge_that_wavers_is_told_from_the_agent(tmp_path: Path) -> None:
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(
            engine,
            rubric("r", 0.5, right={"description": "Is it right?"}),
            [case(f"c{n}", rubricId="r") for n in range(4)],
            benchmark("b", *[f"c{n}" for n in range(4)]),
            [
                answer(f"{k}/{n}", f"c{n}", f"an answer to it: {n}", promptVersionRef="v1")
                for k in range(3)
                for n in range(4)
            ],
        )
        before = server.judge
        found = await calibrated(engine, judge="llm")
        assert server.judge - before >= 4 + 2 * 4  # the first outputs are judged again for money
        assert (found.repeats, sum(found.labels.values())) == (3, 4)


async def test_the_same_key_runs_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await recorded(engine, "v1", [True, False], [True, True])
        first = await calibrated(engine, repeats=2, key="k")
        made = len(await all_of(engine, BenchmarkRun))
        assert await calibrated(engine, repeats=2, key="k") == first
        assert len(await all_of(engine, BenchmarkRun)) == made == 2


async def test_nothing_repeated_is_refused_with_the_remedy(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await recorded(engine, "v1", [True, False])
        with pytest.raises(BadInputError, match="no case of b has more than one output") as refused:
            await calibrated(engine)
        assert "--target" in typed(refused.value)


async def test_a_stop_names_the_key_that_resumes_the_whole_calibration(tmp_path: Path) -> None:
    failing = FakeSettings(p500=1)
    async with serving(failing) as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(engine, rubric("r", 0.5, right={"description": "Is it right?"}), case("c0", rubricId="r"))
        await save(engine, benchmark("b", "c0"), [answer(f"{k}", "c0", f"{k}", promptVersionRef="v1") for k in "xyz"])
        with pytest.raises(InstrumentError) as stopped:
            await calibrated(engine, judge="llm", key="k")
        assert "minions-evals calibrate b --repeats 3 --prompt-version v1" in typed(stopped.value)
        assert "--key k` resumes it" in typed(stopped.value)


@pytest.mark.parametrize(("noisy", "code"), [(True, 0), (False, 3)])
async def test_the_gate_on_regression_lets_pass_what_lies_within_the_noise_floor(
    tmp_path: Path, noisy: bool, code: int
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 8)
        await recorded(engine, "v1", [True] * 8, [not noisy] * 8, [True] * 8)
        found = await calibrated(engine)
        assert (found.noise_floor > 0.2) is noisy
        await measured(engine, "v2", [True] * 8)
        await measured(engine, "v3", [False] + [True] * 7)
        summary = await summarize(engine, (await all_of(engine, BenchmarkRun))[-1].id)
        assert summary.regression is not None
        assert summary.regression["scoreFell"] == pytest.approx(1 / 8)
        assert summary.regression["withinNoiseFloor"] is noisy
        assert gate(summary, min_score=None, fail_on_regression=True) == code
        assert gate(summary, min_score=None, fail_on_regression=True, literal=True) == 1


async def test_a_calibration_of_another_suite_says_nothing_of_this_one(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 8)
        await recorded(engine, "v1", [True] * 8, [False] * 8)
        await calibrated(engine, repeats=2)
        await save(engine, case("c0", expectedOutputs={"output": "goo"}))
        await measured(engine, "v2", [True] * 8)
        await measured(engine, "v3", [False] * 8)
        summary = await summarize(engine, (await bench(engine, "b", prompt_version_ref="v3")).id)
        last = await summarize(engine, (await all_of(engine, BenchmarkRun))[-2].id)
        assert last.regression is not None
        assert "noiseFloor" not in last.regression
        assert summary.regression is not None, "the same again is no better"
        assert (summary.regression["fallenSince"], "evalFailureId" in summary.regression) == ("job4", False)

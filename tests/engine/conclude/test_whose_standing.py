"""A standing that another made than the benchmark's own judge names who did, and no gate of a skill uses it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.results import BenchmarkRun, EvalTrend
from minions_evals_mcp.engine.answers.gates import score_gate, score_words
from minions_evals_mcp.engine.answers.overview import read_overview
from minions_evals_mcp.engine.answers.pages.benchmark_page import read_benchmark_page
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.answers.trend_summary import summarize_trend
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.report.sentences import run_answer
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.records import Gate
from tests.shared.engine.labelled import judged_run, suite
from tests.shared.fakes.llm_server import serving
from tests.workshop import all_of, answer, bench, case, config_in, found, minion, opened, rubric, save

SIZE = 8
CALLER = "agent:eager"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    """The benchmark `b`, of which its own judge passes what says so, and the caller everything."""
    async with serving() as server:
        config = replace(config_in(tmp_path, model_url=server.url), judge_model="anthropic:sound-judge")
        async with opened(config) as engine:
            await suite(engine, SIZE)
            gate: JsonValue = {"benchmarkId": "b", "minScore": 0.99}
            await save(engine, minion("writing", "skill-definition", name="Writing", qualityGates=[gate]))
            yield engine


async def gate_of(engine: Engine) -> Gate:
    def read(db: records.Db) -> Gate:
        skill = records.minion(db, "writing")
        assert skill is not None
        (gate,) = records.gates(db, skill)
        return gate

    return await engine.store.read(read)


async def test_a_caller_alone_is_named_wherever_the_standing_is_read(engine: Engine) -> None:
    job = await judged_run(engine, [True] * SIZE, by=CALLER)
    (run,) = await all_of(engine, BenchmarkRun)
    assert (run.fields.is_standing, run.fields.overall_score, run.fields.judged_by) == (True, 1.0, (CALLER,))
    assert (await found(engine, "b", Benchmark)).fields.last_judged_by == (CALLER,)
    assert (await found(engine, "trend:b", EvalTrend)).fields.judged_by == (CALLER,)
    trend = await summarize_trend(engine, "b")
    assert (trend.judged_by, trend.points[-1].judged_by) == ((CALLER,), (CALLER,))
    (row,) = (await read_overview(engine, skip=0, limit=9)).rows
    assert row.standing is not None
    assert row.standing.judged_by == (CALLER,)
    page = await read_benchmark_page(engine, "b")
    assert page.points[-1].judged_by == (CALLER,)
    assert page.side is not None
    assert f"judged by {CALLER}, not by the benchmark's own judge" in run_answer(page.side)
    gate = await gate_of(engine)
    assert (gate.run_id, gate.wire()["holds"], gate.judged_by) == (job.id, True, (CALLER,))
    summary = await summarize(engine, job.id)
    assert summary.own_run is None
    assert score_gate(summary, 0.99).gate == "held"


async def test_gates_use_the_series_of_the_benchmarks_own_judge_where_there_is_one(engine: Engine) -> None:
    own = await bench(engine, "b", fresh=True)
    assert (await gate_of(engine)).judged_by == ("anthropic:sound-judge",)
    job = await judged_run(engine, [True] * SIZE, by=CALLER)
    benchmark = (await found(engine, "b", Benchmark)).fields
    assert (benchmark.last_score, benchmark.last_judged_by) == (1.0, (CALLER,))
    trend = await summarize_trend(engine, "b")
    assert [(point.run_id, point.judged_by, point.new_series) for point in trend.points] == [
        (own.id, (), False),
        (job.id, (CALLER,), True),
    ]
    assert (await found(engine, "trend:b", EvalTrend)).fields.judged_by == (CALLER,)
    series = [await engine.store.read(lambda db, ident=ident: runs.series_of(db, ident)) for ident in (own.id, job.id)]
    assert series[0] != series[1]
    gate = await gate_of(engine)
    assert (gate.run_id, gate.wire()["holds"]) == (own.id, False)
    summary = await summarize(engine, job.id)
    limit = score_gate(summary, 0.99)
    assert (summary.own_run, limit.gate, score_gate(summary, 0.99, literal=True).gate) == (own.id, "undecided", "held")
    assert f"{CALLER} judged the score 1.000" in score_words(summary, limit)
    again = await bench(engine, "b", fresh=True, key="again")
    benchmark = (await found(engine, "b", Benchmark)).fields
    assert (benchmark.last_judged_by, (await gate_of(engine)).run_id) == ((), again.id)


async def test_rules_and_people_that_keep_their_criteria_stand_in_for_nobody(engine: Engine) -> None:
    await save(
        engine,
        rubric("ruled", 1, says={"judgeType": "heuristic", "scoringGuide": '[{"type": "contains", "value": "k"}]'}),
    )
    await save(engine, case("k", rubricId="ruled"), minion("c", "benchmark", name="c", testCaseIds=["k"]))
    await save(engine, answer("ak", "k", "ok"))
    series: set[str] = set()
    for judge in ("auto", "caller", "heuristic", "human"):
        job = await bench(engine, "c", judge=judge, key=judge)
        run = await engine.store.read(lambda db, ident=job.id: runs.benchmark_run(db, ident))
        assert run is not None
        assert run.fields.judged_by == ()
        series.add(await engine.store.read(lambda db, ident=job.id: runs.series_of(db, ident)))
    assert len(series) == 1

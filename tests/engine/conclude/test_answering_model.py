"""The judge's answering model: where a provider moves an alias, the fall is the judge's and a new series begins."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from minions_evals_mcp.domain.results import BenchmarkRun, TestRun
from minions_evals_mcp.engine.answers.run_diff import diff_runs
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.answers.trend_summary import summarize_trend
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.licences.standing import judge_standing
from minions_evals_mcp.errors import ConflictError
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.registry import ModelRef, Models
from minions_evals_mcp.models.replies import Completion, Reply
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.jobs import Job
from tests.shared.cli.terminal import Terminal
from tests.shared.engine.labelled import labelled
from tests.shared.fakes.llm_server import serving
from tests.shared.presentation.typed import typed
from tests.workshop import START, all_of, answer, bench, benchmark, benchmark_run, case, config_in, opened, rubric, save

CASES = 20


@dataclass
class Renamed:
    """A client whose replies name other models than was asked, in turn. "judge-2026-11" fails every output."""

    client: ModelClient
    names: list[str]

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.client.provider

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """The reply under the name of the model that answers now."""
        name = self.names[0]
        self.names.append(self.names.pop(0))
        asked = "inverted-judge" if name == "judge-2026-11" else "sound-judge"
        reply = await self.client.complete(replace(request, model=asked), deadline_s=deadline_s)
        return replace(reply, model=name) if isinstance(reply, Completion) else reply

    def __getattr__(self, name: str) -> object:
        return getattr(self.client, name)


class Moved(Models):
    """Clients of an alias that stands for a model of another day."""

    names: list[str]

    def client(self, ref: ModelRef) -> ModelClient:
        """The client, renamed."""
        return Renamed(super().client(ref), self.names)  # pyright: ignore[reportReturnType]  the rest is the client's


@pytest.fixture
async def judged(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with serving() as server:
        config = replace(config_in(tmp_path, model_url=server.url), judge_model="anthropic:judge")
        async with AsyncExitStack() as stack, opened(config) as engine:
            moved = await stack.enter_async_context(Moved(config.providers))
            moved.names = ["judge-2026-03"]
            engine.models = moved
            names = [f"c{number:02}" for number in range(CASES)]
            await save(engine, rubric("r", 0.5, tone={"maxScore": 1, "weight": 1.0}))
            await save(engine, [case(name, rubricId="r") for name in names], benchmark("b", *names))
            await save(engine, [answer(f"a{name}", name, f"It is GOOD, {name}.") for name in names])
            yield engine


async def ran(engine: Engine, *models: str) -> tuple[BenchmarkRun, str]:
    assert isinstance(engine.models, Moved)
    engine.models.names[:] = models
    job = await bench(engine, "b", judge="llm", fresh=True)
    return await benchmark_run(engine, job), await engine.store.read(lambda db: runs.series_of(db, job.id))


async def test_a_fall_with_another_answering_model_is_no_regression_and_begins_a_series(judged: Engine) -> None:
    first, series = await ran(judged, "judge-2026-03")
    again, same = await ran(judged, "judge-2026-03")
    assert (first.answered_by, again.answered_by, same) == ("judge-2026-03", "judge-2026-03", series)
    assert {one.fields.answered_by for one in await all_of(judged, TestRun)} == {"judge-2026-03"}
    moved, other = await ran(judged, "judge-2026-11")
    assert (first.passed_count, moved.passed_count) == (CASES, 0)
    assert (moved.is_regression, moved.fall, other != series) == (False, None, True)
    assert "the judge's model answered as judge-2026-03 there and" in moved.notes
    assert "as judge-2026-11 here. A new series begins" in moved.notes
    later, followed = await ran(judged, "judge-2026-11")
    assert (followed, "answered as" in later.notes) == (other, False)
    back, returned = await ran(judged, "judge-2026-03")
    assert (returned, back.is_regression) == (series, False)


async def test_labels_say_nothing_of_a_model_that_did_not_judge_what_was_labelled(judged: Engine) -> None:
    assert isinstance(judged.models, Moved)
    names = [f"c{number:02}" for number in range(CASES, 40)]
    await save(judged, [case(name, rubricId="r") for name in names])
    await save(judged, benchmark("b", *(f"c{number:02}" for number in range(40))))
    said = [answer(f"x{name}", name, f"It is {'GOOD' if at % 2 else 'bad'}, {name}.") for at, name in enumerate(names)]
    said += [
        answer(f"y{number:02}", f"c{number:02}", f"It is {'GOOD' if number % 2 else 'bad'}.") for number in range(CASES)
    ]
    await save(judged, said)
    judged.models.names[:] = ["judge-2026-03"]
    first = await bench(judged, "b", judge="llm", fresh=True)
    await labelled(judged, first, [number % 2 == 1 for number in range(40)])

    async def trusted(job: Job) -> str:
        return (await judged.store.read(lambda db: judge_standing(db, [job.id], at=START))).state

    assert await trusted(first) == "qualified"
    judged.models.names[:] = ["judge-2026-05"]
    await save(judged, [answer(f"z{number:02}", f"c{number:02}", f"Now it is GOOD, {number}.") for number in range(40)])
    moved = await bench(judged, "b", judge="llm", fresh=True)
    standing = await judged.store.read(lambda db: judge_standing(db, [moved.id], at=START))
    assert standing.state == "unknown"
    assert "the model answered as judge-2026-05, and as judge-2026-03 on the labelled outputs" in standing.in_words


async def test_no_interface_calls_a_fall_of_another_answering_model_the_agents(judged: Engine) -> None:
    for model in ("judge-2026-03", "judge-2026-03", "judge-2026-11"):
        await ran(judged, model)
    runs_of = [record.id for record in await all_of(judged, BenchmarkRun)]
    diff = await diff_runs(judged, runs_of[-2], runs_of[-1], limit=5)
    why = f"the judge's model answered as judge-2026-03 in {runs_of[-2]} and as judge-2026-11 in {runs_of[-1]}"
    assert (diff.reading.verdict, diff.reading.why) == (None, why)
    with pytest.raises(ConflictError, match="the judge's model answered as judge-2026-03") as refused:
        await compare_runs(judged, runs_of[-2], runs_of[-1])
    assert f"rejudge {runs_of[-2]} --fresh" in typed(refused.value.text), "cached judgments are the old ones"
    trend = await summarize_trend(judged, "b")
    assert trend.change is None or trend.change.verdict is None
    summary = await summarize(judged, runs_of[-1])
    assert summary.change is None or summary.change.verdict is None
    terminal = Terminal(judged.config.db.parent)
    for command in (["runs", runs_of[-1]], ["trend", "b"], ["diff", runs_of[-2], runs_of[-1]], ["runs"]):
        told = terminal.run(*command).out
        assert "regressed" not in told, (command, told)


async def test_a_provider_that_answers_with_two_models_in_turn_is_the_same_judge(judged: Engine) -> None:
    await save(judged, rubric("r", 0.5, tone={"maxScore": 1, "weight": 0.5}, facts={"maxScore": 1, "weight": 0.5}))
    first, series = await ran(judged, "snapshot-1", "snapshot-2", "snapshot-1")
    again, same = await ran(judged, "snapshot-1", "snapshot-1", "snapshot-2", "snapshot-2", "snapshot-2")
    assert {one.fields.answered_by for one in await all_of(judged, TestRun)} > {"snapshot-1, snapshot-2"}
    assert (first.answered_by, again.answered_by, same) == ("snapshot-1, snapshot-2",) * 2 + (series,)
    before, after = (record.id for record in await all_of(judged, BenchmarkRun))
    assert (await diff_runs(judged, before, after, limit=5)).reading.verdict is not None


async def refused_step(engine: Engine, run_a: str, run_b: str) -> str:
    """What a refused comparison says to do."""
    with pytest.raises(ConflictError) as refused:
        await compare_runs(engine, run_a, run_b)
    return typed(refused.value.text).partition("Judgments are reused")[2]


async def test_the_older_judgments_are_judged_again_whichever_side_they_are_on(judged: Engine) -> None:
    for model in ("judge-2026-03", "judge-2026-05"):
        await ran(judged, model)
    older, newer = (record.id for record in await all_of(judged, BenchmarkRun))
    for run_a, run_b in ((older, newer), (newer, older)):
        step = await refused_step(judged, run_a, run_b)
        assert f"rejudge {older} --fresh" in step
        assert newer not in step, "the model of today has judged it: to judge it again would change nothing"


async def test_a_run_that_two_models_judged_is_judged_again_too(judged: Engine) -> None:
    await ran(judged, "judge-2026-03")
    await save(judged, [answer(f"n{number}", f"c{number:02}", f"It is GOOD and new, {number}.") for number in range(5)])
    assert isinstance(judged.models, Moved)
    judged.models.names[:] = ["judge-2026-05"]
    mixed = await benchmark_run(judged, await bench(judged, "b", judge="llm"))
    assert mixed.answered_by == "judge-2026-03, judge-2026-05", "cached judgments beside new ones"
    older, newer = (record.id for record in await all_of(judged, BenchmarkRun))
    step = await refused_step(judged, older, newer)
    assert f"rejudge {older} --fresh" in step
    assert f"rejudge {newer} --fresh" in step


async def test_models_of_cases_that_one_run_alone_has_do_not_part_two_runs(judged: Engine) -> None:
    await ran(judged, "judge-2026-03")
    await save(judged, case("more", rubricId="r"), answer("amore", "more", "It is GOOD, more."))
    await save(judged, benchmark("b", *(f"c{number:02}" for number in range(CASES)), "more"))
    assert isinstance(judged.models, Moved)
    judged.models.names[:] = ["judge-2026-05"]
    await bench(judged, "b", judge="llm")
    before, after = (record.id for record in await all_of(judged, BenchmarkRun))
    assert (await diff_runs(judged, before, after, limit=5)).reading.verdict is not None

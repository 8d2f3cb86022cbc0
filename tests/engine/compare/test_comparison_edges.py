"""Comparisons where something is missing, is interrupted, is asked for twice, or was looked at before."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary, summarize_comparison
from minions_evals_mcp.engine.answers.run_diff import diff_runs
from minions_evals_mcp.engine.compare.compare_prompt_versions import (
    compare_prompt_versions,
    compare_runs,
    start_comparison,
)
from minions_evals_mcp.engine.conclude.comparison import unlike
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, request_of
from minions_evals_mcp.engine.request import ComparisonRequest, RunRequest
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark, silent, start_benchmark
from minions_evals_mcp.errors import BadInputError, BusyError, EvalsError, InstrumentError, NotFoundError
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.run_pairs import MEASURED, CaseScores
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.presentation.typed import typed
from tests.workshop import (
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    first,
    fleet,
    minion,
    opened,
    rubric,
    save,
    says,
)


def asked(**request: JsonValue) -> ComparisonRequest:
    """The comparison of v1 and v2 on `b`."""
    usual: dict[str, JsonValue] = {"benchmark_id": "b", "version_a": "v1", "version_b": "v2", "key": "k"}
    return ComparisonRequest.model_validate({**usual, **request})


async def answered(engine: Engine, version: str, passes: dict[int, bool], *, times: int = 1) -> None:
    """That version's recorded answers to those cases of `b`, each so many times."""
    texts = {number: "good" if passed else "bad" for number, passed in passes.items()}
    await save(
        engine,
        [
            answer(f"{version}/{n}/{time}", f"c{n}", text, promptVersionRef=version)
            for n, text in texts.items()
            for time in range(times)
        ],
    )


async def both(engine: Engine, size: int, a: list[bool], b: list[bool]) -> None:
    """`b` of that size with the answers of v1 and v2 to its cases, as many as are given."""
    await fleet(engine, size)
    await answered(engine, "v1", dict(enumerate(a)))
    await answered(engine, "v2", dict(enumerate(b)))


async def summary_of(engine: Engine, **request: JsonValue) -> ComparisonSummary:
    """The comparison, carried out and read."""
    made = await compare_prompt_versions(engine, asked(**request))
    assert made is not None
    return await summarize_comparison(engine, made.id)


async def side_of(engine: Engine, job: Job, which: str) -> RunRequest:
    """What one side of a comparison was asked for."""
    side = await get_job(engine, f"{job.id}:{which}")
    return request_of(side).model_copy(update={"key": side.key})


@pytest.mark.parametrize("sequential", [False, True])
async def test_versions_with_no_case_in_common_fail_by_name_however_often_it_is_tried(
    tmp_path: Path, sequential: bool
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await answered(engine, "v1", {0: True})
        await answered(engine, "v2", {1: True})
        for _ in range(2):
            with pytest.raises(InstrumentError, match="have no case in common"):
                await compare_prompt_versions(engine, asked(sequential=sequential))
            assert (await get_job(engine, "k")).state == "failed"


@pytest.mark.parametrize("wrong", [{"target": "http:nope"}, {"target": "nobody:model", "max_cost_usd": 1}])
async def test_a_comparison_that_cannot_start_leaves_no_job_behind(tmp_path: Path, wrong: dict[str, JsonValue]) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await both(engine, 2, first(1, 2), first(2, 2))
        await save(engine, [minion(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n) for n in (1, 2)])
        with pytest.raises(EvalsError):
            await compare_prompt_versions(engine, asked(**wrong))
        assert not await engine.store.read(jobs.jobs)


async def test_a_comparison_is_carried_on_by_one_process_and_a_second_start_leaves_it_alone(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await both(engine, 4, first(1, 4), first(3, 4))
        at_work, go_on = anyio.Event(), anyio.Event()

        async def wait(outcome: str) -> None:
            at_work.set()
            await go_on.wait()

        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                waiting: Progress = wait
                tasks.start_soon(partial(compare_prompt_versions, engine, asked(), progress=waiting))
                await at_work.wait()
                with pytest.raises(BusyError, match="another process"):
                    await compare_prompt_versions(engine, asked())
                assert (await get_job(engine, "k")).state == "running"
                go_on.set()
        assert (await get_job(engine, "k")).state == "completed"


async def test_a_sequential_comparison_killed_between_the_ends_of_its_sides_is_concluded(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path, concurrency=4)) as engine:
        await both(engine, 20, first(0, 20), first(20, 20))
        job = (await start_comparison(engine, asked(sequential=True))).job
        sides = [await start_benchmark(engine, await side_of(engine, job, which)) for which in ("A", "B")]
        for side in sides:
            await side.advance(12, silent)
        await sides[0].settle("the comparison was settled")
        made = await compare_prompt_versions(engine, asked(sequential=True))
        assert made is not None
        assert made.fields.verdict == "improved"
        assert [(await get_job(engine, f"{job.id}:{which}")).state for which in ("A", "B")] == [
            "completed",
            "completed",
        ]


async def test_runs_that_were_looked_at_after_every_case_are_not_tested_once_more(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await both(engine, 20, first(0, 20), first(20, 20))
        made = await compare_prompt_versions(engine, asked(sequential=True))
        assert made is not None
        with pytest.raises(BadInputError, match="was sequential and may have stopped") as refused:
            await compare_runs(engine, made.fields.benchmark_run_id_a, made.fields.benchmark_run_id_b)
        assert "--sequential" in typed(refused.value)
        assert len(await all_of(engine, PromptComparison)) == 1
        anew = [
            await rejudge_request(engine, ident, triggered_by="maria")
            for ident in (made.fields.benchmark_run_id_a, made.fields.benchmark_run_id_b)
        ]
        again = [(await run_benchmark(engine, request)).id for request in anew]
        with pytest.raises(BadInputError, match="was sequential and may have stopped"):
            await compare_runs(engine, *again)


async def test_a_stop_names_the_key_that_resumes_the_whole_comparison(tmp_path: Path) -> None:
    failing = FakeSettings(p500=1)
    async with serving(failing) as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(engine, rubric("r", 0.5, right={"description": "Is it right?"}), case("c0", rubricId="r"))
        await save(engine, benchmark("b", "c0"))
        await answered(engine, "v1", {0: True})
        await answered(engine, "v2", {0: True})
        with pytest.raises(InstrumentError) as stopped:
            await compare_prompt_versions(engine, asked(judge="llm"))
        assert "minions-evals compare b --from v1 --to v2 --judge llm --key k` resumes it" in typed(stopped.value)
        assert (await get_job(engine, "k")).reason == stopped.value.message


async def test_a_version_that_a_target_lacks_is_refused_before_the_key_is_taken(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await save(engine, [minion(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n) for n in (1, 2)])
        target = "python:tests.workshop:echoed"
        with pytest.raises(NotFoundError, match="no prompt-version with the id 'v22'"):
            await compare_prompt_versions(engine, asked(target=target, version_b="v22"))
        assert await compare_prompt_versions(engine, asked(target=target)) is not None


async def test_a_criterion_that_no_shared_case_has_is_left_out(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(
            engine,
            rubric("r", 0.5, right=says("good")),
            [case("c0", rubricId="r"), case("c1", rubricId="r"), case("c2", expectedOutputs={"output": "good"})],
            benchmark("b", "c0", "c1", "c2"),
        )
        await answered(engine, "v1", {0: True, 2: True})
        await answered(engine, "v2", {1: True, 2: True})
        found = await summary_of(engine)
        assert found.criteria == []
        assert found.caution.startswith("2 cases were measured in one run only; ")
        assert found.in_words.startswith("Run more: v2 scores as high as v1, ")


async def test_scores_beside_a_verdict_are_of_the_same_cases(tmp_path: Path) -> None:
    """v2 has no output of the case that v1 fails: over all of each run it is higher, on the cases of both it is lower."""
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 4)
        await answered(engine, "v1", {0: True, 1: True, 2: False, 3: False})
        await answered(engine, "v2", {0: True, 1: False})
        found = await summary_of(engine)
        assert (found.score_a, found.score_b) == (0.5, 0.5)
        assert found.compared_scores == (1.0, 0.5)
        assert "v2 scores 0.500 lower than v1 on the outputs of both runs (+0.000 over all of each)" in found.in_words


async def test_an_improvement_on_the_cases_of_both_is_sound_to_the_check_of_the_store(tmp_path: Path) -> None:
    """v2 answers 16 more cases, all wrong: over all of each run v2 is no higher, on the cases of both it gained 8."""
    config = config_in(tmp_path)
    async with opened(config) as engine:
        await fleet(engine, 32)
        await answered(engine, "v1", {number: number >= 8 for number in range(16)})
        await answered(engine, "v2", {number: number < 16 for number in range(32)})
        found = await summary_of(engine)
        assert (found.verdict, found.score_a, found.score_b) == ("improved", 0.5, 0.5)
    assert (await check_store(config.db)).problems == ()


@pytest.mark.parametrize("more", [0, 20])
async def test_cases_that_only_one_run_was_asked_for_are_not_missing(tmp_path: Path, more: int) -> None:
    """The benchmark loses cases that v1 passes before v2 is run: v2 was never asked for them."""
    async with opened(config_in(tmp_path)) as engine:
        await both(engine, 24 + more, [*first(6, 24), *first(more, more)], first(18, 24))
        before = await bench(engine, "b", prompt_version_ref="v1")
        await save(engine, benchmark("b", *(f"c{number}" for number in range(24))))
        after = await bench(engine, "b", prompt_version_ref="v2")
        made = await compare_runs(engine, before.id, after.id)
        assert (made.fields.verdict, made.fields.missing_outputs) == ("improved", "")
        assert (await diff_runs(engine, before.id, after.id, limit=1)).reading.verdict == "improved"


async def test_passes_are_counted_of_the_outputs_that_each_version_has(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await answered(engine, "v1", dict.fromkeys(range(2), True))
        await answered(engine, "v2", dict.fromkeys(range(2), True), times=3)
        passes = (await summary_of(engine, trials=3)).passes
        assert (passes.a, passes.units_a, passes.b, passes.units_b) == (2, 2, 6, 6)


async def test_a_winner_other_than_the_verdict_says_is_explained(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await both(engine, 40, [number >= 10 for number in range(40)], first(7, 10))
        found = await summary_of(engine)
        assert (found.verdict, found.winner) == ("inconclusive", "v1"), (
            "the version that scores higher lacks 30 outputs"
        )
        assert (
            "30 outputs are missing: if missing outputs count as failures, the verdict would be regressed"
            in found.in_words
        )


async def test_a_tie_by_score_that_is_more_than_chance_is_explained(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await both(engine, 12, first(2, 12), first(11, 12))
        found = await summary_of(engine, tie_threshold=0.8)
        assert (found.verdict, found.winner) == ("improved", "tie")
        assert found.in_words.endswith("But by score it is a tie: +0.750 is within 0.8.")


@pytest.mark.parametrize(
    ("possible", "digest", "names"),
    [(2.0, "x", ()), (1.0, "x", ("maxScore",)), (3.0, "x", ("maxScore",)), (3.0, "y", MEASURED)],
    ids=["alike", "fewer points", "more points", "everything"],
)
def test_a_case_names_what_it_was_measured_with_differently(
    possible: float, digest: str, names: tuple[str, ...]
) -> None:
    first, second = (CaseScores(points, digests=(name,) * 5) for points, name in ((2.0, "x"), (possible, digest)))
    assert unlike(first, second) == names

"""Two prompt versions on the same cases: the winner by score, the verdict beside it, and what is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.results import BenchmarkRun, EvalTrend, PromptComparison
from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison
from minions_evals_mcp.engine.compare.compare_prompt_versions import (
    compare_prompt_versions,
    compare_runs,
    start_comparison,
)
from minions_evals_mcp.engine.conclude.comparison import criterion_differences, pairing
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import Started, silent
from minions_evals_mcp.errors import BadInputError, ConflictError, InvalidRecordError, NotFoundError
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.stats.comparison import compare
from minions_evals_mcp.store.jobs import Job
from tests.workshop import (
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    first,
    fleet,
    found,
    measured,
    minion,
    opened,
    outbox,
    rubric,
    save,
    says,
)


async def answered(engine: Engine, version: str, passes: list[bool]) -> None:
    """Recorded answers of that version to the cases of `b`."""
    await save(
        engine,
        [
            answer(f"{version}/c{number}", f"c{number}", "good" if passed else "bad", promptVersionRef=version)
            for number, passed in enumerate(passes)
        ],
    )


async def compared(engine: Engine, *, progress: Progress = silent, **request: JsonValue) -> PromptComparison:
    """The comparison of v1 and v2 on `b`."""
    usual: dict[str, JsonValue] = {"benchmark_id": "b", "version_a": "v1", "version_b": "v2"}
    made = await compare_prompt_versions(
        engine, ComparisonRequest.model_validate({**usual, **request}), progress=progress
    )
    assert made is not None
    return made.fields


async def resumed(engine: Engine, job: Job) -> Started:
    """The comparison, to be carried on from where it was left."""
    asked = ComparisonRequest.model_validate(job.spec["request"], strict=False)
    return await start_comparison(engine, asked.model_copy(update={"key": job.key}))


async def test_the_benchmark_runs_once_for_each_version_and_both_scores_are_kept(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 12)
        await answered(engine, "v1", first(2, 12))
        await answered(engine, "v2", first(11, 12))
        made = await compared(engine)
        runs = [
            await found(engine, ident, BenchmarkRun) for ident in (made.benchmark_run_id_a, made.benchmark_run_id_b)
        ]
        assert [run.fields.prompt_version_ref for run in runs] == ["v1", "v2"]
        assert made.what_changed == ("the version: v1 → v2",)
        assert [run.fields.overall_score for run in runs] == [made.score_a, made.score_b] == [2 / 12, 11 / 12]
        assert {run.fields.purpose for run in runs} == {"comparison"}
        assert len(await all_of(engine, BenchmarkRun)) == 2
        assert not await all_of(engine, EvalTrend)  # comparisons are no points of a trend


async def test_the_winner_has_the_higher_score_and_the_verdict_stands_beside_it(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 12)
        await answered(engine, "v1", first(2, 12))
        await answered(engine, "v2", first(11, 12))
        made = await compared(engine)
        assert (made.winner, made.verdict, made.sample_size) == ("v2", "improved", 12)
        assert made.score_delta == pytest.approx(0.75)
        assert made.p_value == pytest.approx(2 / 2**9)
        low, high = made.delta_ci or (0, 0)
        assert 0 < low < 0.75 < high < 1


async def test_the_orchestrator_is_told_comparison_complete_with_a_recommendation(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 12)
        await answered(engine, "v1", first(2, 12))
        await answered(engine, "v2", first(11, 12))
        await compared(engine, key="k")
        await compared(engine, key="k")
        told = [one.record.fields.model_dump(mode="json") for one in await outbox(engine, "agent-message")]
        complete = [one for one in told if one["type"] == "comparison-complete"]
        assert len(complete) == 1
        assert complete[0]["toAgentId"] == "orchestrator"
        assert complete[0]["payload"]["recommendation"] == "ship"


@pytest.mark.parametrize(
    ("passing", "winner", "verdict", "recommendation"),
    [
        (2, "v1", "inconclusive", "run more"),
        (3, "tie", "inconclusive", "run more"),
        (4, "v2", "inconclusive", "run more"),
    ],
)
async def test_a_winner_by_score_that_can_be_chance_is_inconclusive_and_says_what_would_settle_it(
    tmp_path: Path, passing: int, winner: str, verdict: str, recommendation: str
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 6)
        await answered(engine, "v1", first(3, 6))
        await answered(engine, "v2", first(passing, 6))
        made = await compare_prompt_versions(
            engine, ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2")
        )
        assert made is not None
        summary = await summarize_comparison(engine, made.id)
        assert (summary.winner, summary.verdict, summary.recommendation) == (winner, verdict, recommendation)
        assert summary.settle or summary.caution


@pytest.mark.parametrize(("tie_threshold", "winner"), [(None, "v2"), (0.25, "v2"), (0.26, "tie")])
async def test_the_tie_threshold_is_strict_and_the_skills_own_by_default(
    tmp_path: Path, tie_threshold: float | None, winner: str
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 4)
        await answered(engine, "v1", first(2, 4))
        await answered(engine, "v2", first(3, 4))
        assert (await compared(engine, tie_threshold=tie_threshold)).winner == winner


async def test_trials_are_nested_in_their_case(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 8)
        for trial in range(3):
            await save(
                engine,
                [
                    answer(f"{version}/{trial}/c{n}", f"c{n}", "good" if good else "bad", promptVersionRef=version)
                    for version, good in (("v1", False), ("v2", True))
                    for n in range(8)
                ],
            )
        made = await compared(engine, trials=3)
        assert (made.sample_size, made.verdict) == (8, "improved")
        assert made.p_value == pytest.approx(2 / 2**8)  # eight cases, not twenty-four


async def test_the_summary_names_the_cases_and_criteria_that_moved(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(
            engine,
            rubric("r", 1, kind=says("please"), right=says("good", weight=0.5)),
            [case(f"c{n}", rubricId="r") for n in range(10)],
            benchmark("b", *[f"c{n}" for n in range(10)]),
            [answer(f"1/{n}", f"c{n}", "good", promptVersionRef="v1") for n in range(10)],
            [answer(f"2/{n}", f"c{n}", "good, please", promptVersionRef="v2") for n in range(10)],
        )
        made = await compare_prompt_versions(
            engine, ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2")
        )
        assert made is not None
        summary = await summarize_comparison(engine, made.id, limit=3)
        assert {one.title: one.delta for one in summary.criteria} == {"right": 0.0, "kind": 1.0}
        assert summary.in_words.startswith("Ship v2: it scores 0.667 higher than v1")
        assert [one.flipped for one in summary.better] == ["gained"] * 3
        assert (summary.more_changed, summary.worse) == (7, [])
        assert (summary.passes.a, summary.passes.b, summary.passes.gained) == (0, 10, 10)


async def test_a_criterion_that_is_alone_is_compared_as_the_scores_it_makes(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        names = [f"c{n}" for n in range(12)]
        await save(engine, rubric("r", 1, right=says("good")), [case(name, rubricId="r") for name in names])
        await save(engine, benchmark("b", *names))
        await measured(engine, "v1", first(3, 12))
        await measured(engine, "v2", first(9, 12))
        before, after = [run.id for run in await all_of(engine, BenchmarkRun)]
        pairs = await engine.store.read(lambda db: pairing(db, before, after))
        (alone,) = await engine.store.read(lambda db: criterion_differences(db, before, after, pairs))
        assert alone.difference == compare(pairs.pairs(), level=0.95)
        assert (alone.difference.delta, alone.p_value) == (0.5, alone.difference.p_value)


async def test_a_comparison_that_was_interrupted_goes_on_under_its_key(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path, concurrency=1)) as engine:
        await fleet(engine, 6)
        await answered(engine, "v1", first(3, 6))
        await answered(engine, "v2", first(3, 6))
        done = 0

        async def interrupt(outcome: str) -> None:
            nonlocal done
            done += 1
            if done == 8:
                raise RuntimeError("pulled")

        with pytest.raises(RuntimeError, match="pulled"):
            await compared(engine, key="k", progress=interrupt)
        job = await get_job(engine, "k")
        assert (job.state, job.kind, job.total) == ("stopped", "comparison", 12)
        done = 100
        ended = await (await resumed(engine, job)).finish(interrupt)
        assert (ended.id, ended.state) == (job.id, "completed")
        assert done < 112  # what was judged before is not judged again
        assert (await found(engine, job.id, PromptComparison)).fields.winner == "tie"


async def test_outputs_that_wait_for_judgments_hold_the_comparison_until_the_last_is_handed_in(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(
            engine,
            rubric("r", 1, kind={"description": "Is it kind?"}),
            case("c0", rubricId="r"),
            benchmark("b", "c0"),
            answer("1", "c0", "good", promptVersionRef="v1"),
            answer("2", "c0", "better", promptVersionRef="v2"),
        )
        request = ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2", judge="caller", key="k")
        assert await compare_prompt_versions(engine, request) is None
        assert (await get_job(engine, "k")).state == "awaiting-judgments"
        job = await get_job(engine, "k")
        for which, score in (("A", 0.0), ("B", 1.0)):
            side = await get_job(engine, f"{job.id}:{which}")
            waiting = await engine.store.read(
                lambda db, ident=side.id: db.execute("SELECT packet FROM unit WHERE job_id = ?", (ident,)).fetchone()[0]
            )
            said: dict[str, JsonValue] = {"criterionId": "r/kind", "score": score, "rationale": "I read it"}
            await submit_judgments(
                engine,
                Submission.model_validate_json(
                    Submission.model_validate(
                        {"runId": side.id, "judgedBy": "me", "packets": [{"digest": waiting, "judgments": [said]}]}
                    ).model_dump_json()
                ),
            )
        assert (await get_job(engine, "k")).state == "completed"
        assert (await found(engine, job.id, PromptComparison)).fields.winner == "v2"


async def test_two_stored_runs_are_compared_once_and_without_running_anything(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 10)
        await measured(engine, "v1", first(1, 10))
        await measured(engine, "v2", first(10, 10))
        before, after = [run.id for run in await all_of(engine, BenchmarkRun)]
        made = await compare_runs(engine, before, after)
        assert (made.fields.winner, made.fields.verdict) == ("v2", "improved")
        assert (await compare_runs(engine, before, after)).id == made.id
        assert len(await all_of(engine, BenchmarkRun)) == 2


@pytest.mark.parametrize(("changed", "more"), [(1, ""), (10, ""), (11, " and 1 more")])
async def test_runs_that_were_not_measured_alike_are_refused_with_the_first_ten_differences(
    tmp_path: Path, changed: int, more: str
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 12)
        await measured(engine, "v1", first(1, 12))
        await save(engine, [case(f"c{n}", expectedOutputs={"output": "g"}) for n in range(changed)])
        await measured(engine, "v2", first(3, 12))
        before, after = [run.id for run in await all_of(engine, BenchmarkRun)]
        named = ", ".join(f"c{n} (testCase)" for n in range(min(changed, 10)))
        with pytest.raises(ConflictError) as refused:
            await compare_runs(engine, before, after)
        assert f"{before} and {after} were not comparable: {named}{more}. " in str(refused.value)
        assert "rejudge" in refused.value.remedy


async def test_what_cannot_be_compared_is_refused_by_name(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await measured(engine, "v1", first(1, 2))
        (run,) = await all_of(engine, BenchmarkRun)
        with pytest.raises(NotFoundError, match="no benchmark-run with the id 'none'"):
            await compare_runs(engine, run.id, "none")
        with pytest.raises(BadInputError, match="both use v1"):
            await compare_runs(engine, run.id, run.id)
        await save(engine, benchmark("other", "c0", "c1"), answer("a", "c0", "good", promptVersionRef="v2"))
        other = await bench(engine, "other", prompt_version_ref="v2")
        for pair in ((run.id, other.id), (other.id, run.id)):
            with pytest.raises(BadInputError, match=r"belongs to the benchmark (b, .* to other|other, .* to b)\."):
                await compare_runs(engine, *pair)
        with pytest.raises(NotFoundError, match="no benchmark"):
            await start_comparison(engine, ComparisonRequest(benchmark_id="x", version_a="v1", version_b="v2"))
        with pytest.raises(ValidationError, match="name two versions"):
            ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v1")


async def test_a_key_that_was_asked_for_otherwise_is_refused(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await answered(engine, "v1", first(1, 2))
        await answered(engine, "v2", first(2, 2))
        await compared(engine, key="k")
        with pytest.raises(ConflictError, match="requested with other arguments"):
            await compared(engine, key="k", trials=2)


async def test_a_case_that_only_one_version_answered_is_left_out_and_said(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 3)
        await answered(engine, "v1", first(1, 3))
        await answered(engine, "v2", first(2, 2))
        made = await compared(engine)
        assert made.sample_size == 2
        assert "1 cases were measured in one run only" in made.notes


async def test_a_version_needs_no_record_to_be_compared_where_its_outputs_are_recorded(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await save(engine, minion("v1", "prompt-version", content="Say it.", versionNumber=1))
        await answered(engine, "v1", first(1, 2))
        await answered(engine, "v2", first(1, 2))
        assert (await compared(engine)).winner == "tie"


async def test_looking_after_every_case_stops_once_it_is_settled_and_says_what_it_saved(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path, concurrency=2)) as engine:
        await fleet(engine, 40)
        await answered(engine, "v1", [False] * 40)
        await answered(engine, "v2", [True] * 40)
        made = await compared(engine, sequential=True)
        assert (made.verdict, made.winner, made.p_value, made.delta_ci) == ("improved", "v2", None, None)
        assert made.sample_size < 20
        assert made.notes.startswith("sequential: settled after 10 of 40 cases")
        runs = await all_of(engine, BenchmarkRun)
        assert [run.fields.total_count for run in runs] == [made.sample_size] * 2
        assert "the comparison was settled after 10 cases" in runs[0].fields.notes


async def test_looking_after_every_case_ends_with_all_cases_where_nothing_is_settled(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path, concurrency=3)) as engine:
        await fleet(engine, 10)
        await answered(engine, "v1", first(5, 10))
        await answered(engine, "v2", first(6, 10))
        made = await compare_prompt_versions(
            engine, ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2", sequential=True, key="k")
        )
        assert made is not None
        assert (made.fields.verdict, made.fields.sample_size, made.fields.p_value) == ("inconclusive", 10, 1.0)
        summary = await summarize_comparison(engine, made.id)
        assert (summary.method, summary.settle) == ("sequential", "")
        again = ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2", sequential=True, key="k")
        assert await compare_prompt_versions(engine, again) == made


async def test_a_sequential_comparison_that_was_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path, concurrency=1)) as engine:
        await fleet(engine, 12)
        await answered(engine, "v1", first(6, 12))
        await answered(engine, "v2", first(6, 12))
        done = 0

        async def interrupt(outcome: str) -> None:
            nonlocal done
            done += 1
            if done == 9:
                raise RuntimeError("pulled")

        with pytest.raises(RuntimeError, match="pulled"):
            await compared(engine, key="k", sequential=True, progress=interrupt)
        ended = await (await resumed(engine, await get_job(engine, "k"))).finish(interrupt)
        assert ended.state == "completed"
        assert done <= 26  # 24 outputs, of which the interrupted one may be told twice


def test_several_trials_cannot_be_looked_at_one_by_one() -> None:
    with pytest.raises(ValidationError, match="works with one trial"):
        ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2", trials=2, sequential=True)


async def test_max_score_says_whose_output_it_selects_where_assertions_judge(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        checks: list[JsonValue] = [
            {"type": "contains", "value": "good"}, {"type": "regex", "value": "(?<=very )good", "weight": 9},
            {"type": "javascript", "value": "output.length < 99"},
        ]  # fmt: skip
        said = {"c0": ("very good", "good"), "c1": ("bad", "good"), "c2": ("good", "good")}
        await save(
            engine,
            [case(name, assertions=checks) for name in said],
            benchmark("b", *said),
            [answer(f"{v}/{name}", name, texts[n], promptVersionRef=v) for n, v in enumerate(("v1", "v2")) for name, texts in said.items()],
        )  # fmt: skip
        made = await compare_prompt_versions(
            engine, ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2")
        )
        assert made is not None
        picked = (await summarize_comparison(engine, made.id)).max_score
        assert picked is not None
        assert (picked.a, picked.b, picked.unpicked) == (2, 1, 0)  # the first of equals wins


async def test_a_cases_own_max_score_says_how_its_outputs_are_chosen(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        checks: list[JsonValue] = [
            {"type": "contains", "value": "long"}, {"type": "word-count", "value": {"max": 2}},
            {"type": "max-score", "value": {"weights": {"word-count": 3}, "threshold": 0.7}},
        ]  # fmt: skip
        said = {"c0": ("a long long reply", "short"), "c1": ("long", "short"), "c2": ("a b c", "a b d")}
        await save(
            engine,
            [case(name, assertions=checks) for name in said],
            benchmark("b", *said),
            [answer(f"{v}/{name}", name, texts[n], promptVersionRef=v) for n, v in enumerate(("v1", "v2")) for name, texts in said.items()],
        )  # fmt: skip
        made = await compare_prompt_versions(
            engine, ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2")
        )
        assert made is not None
        picked = (await summarize_comparison(engine, made.id)).max_score
        assert picked is not None
        assert (picked.a, picked.b, picked.unpicked) == (1, 1, 1)  # c2: nobody reaches the threshold
        run = await found(engine, made.fields.benchmark_run_id_a, BenchmarkRun)
        assert run.fields.overall_score == pytest.approx((0.5 + 1 + 0) / 3)  # it is no check of one output


@pytest.mark.parametrize(
    ("assertions", "why"),
    [
        ([{"type": "max-score"}], "at least one assertion to aggregate"),
        ([{"type": "contains", "value": "a"}, {"type": "max-score"}, {"type": "max-score"}], "a second max-score"),
        ([{"type": "contains", "value": "a"}, {"type": "max-score", "value": {"method": "best"}}], "method"),
    ],
)
async def test_a_max_score_that_cannot_choose_is_refused_when_the_case_is_saved(
    tmp_path: Path, assertions: list[JsonValue], why: str
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        with pytest.raises(InvalidRecordError, match=why):
            await save(engine, case("c", assertions=assertions))

"""Some of a benchmark's cases: which are chosen, and that they never pass for the whole."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.results import EvalTrend
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.engine.run.selection import Selection, select_cases
from minions_evals_mcp.errors import BadInputError, ConflictError, NotFoundError
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import report_units, trend_points
from tests.workshop import all_of, answer, bench, benchmark, benchmark_run, case, found, minion, outbox, save


async def chosen(engine: Engine, selection: Selection, **request: JsonValue) -> Sequence[str] | None:
    asked = RunRequest.model_validate({"subject_id": "b", **request})
    return (await select_cases(engine, asked, selection)).case_ids


async def part(engine: Engine, selection: Selection, **request: JsonValue) -> Job:
    """A run of the selected cases of `b`."""
    asked = RunRequest.model_validate({"subject_id": "b", **request})
    return await run_benchmark(engine, await select_cases(engine, asked, selection))


async def ten(engine: Engine, *, failing: int) -> None:
    """The benchmark `b` over ten cases, with answers of which the first so many fail."""
    names = [f"c{number}" for number in range(10)]
    answers = [answer(f"a/{name}", name, "bad" if at < failing else "good") for at, name in enumerate(names)]
    cases = [
        case(name, expectedOutputs={"output": "good"}, tags=["even" if at % 2 == 0 else "odd"], description=f"Nr {at}")
        for at, name in enumerate(names)
    ]
    await save(engine, cases, answers, benchmark("b", *names))


async def test_cases_are_chosen_by_tag_words_and_how_their_newest_run_ended(engine: Engine) -> None:
    await ten(engine, failing=2)
    await bench(engine, "b")
    expected = {
        ("tag=even",): ("c0", "c2", "c4", "c6", "c8"),
        ("tag=even", "status=failed"): ("c0",),
        (" status=failed ",): ("c0", "c1"),
        ("text~nR 3",): ("c3",),
        ('text~"q":"C7"',): ("c7",),
        ("status=passed", "tag=odd", "text~c1"): None,
    }
    for conditions, ids in expected.items():
        if ids is None:
            with pytest.raises(BadInputError, match="no case of b matches: status=passed, tag=odd, text~c1"):
                await chosen(engine, Selection(filter=conditions))
        else:
            assert await chosen(engine, Selection(filter=conditions)) == ids
    with pytest.raises(BadInputError, match="no case"):
        await chosen(engine, Selection(filter=("status=new",)))


@pytest.mark.parametrize("condition", ["tag", "tags=x", "status=odd", "=", "text=x"])
async def test_a_condition_that_is_not_understood_is_refused(engine: Engine, condition: str) -> None:
    await ten(engine, failing=0)
    with pytest.raises(BadInputError, match=r"condition|status"):
        await chosen(engine, Selection(filter=(condition,)))


async def test_a_sample_is_the_same_for_the_same_seed_and_keeps_the_order(engine: Engine) -> None:
    await ten(engine, failing=0)
    drawn = [await chosen(engine, Selection(sample=4, seed=seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] is not None
    assert list(drawn[0]) == sorted(drawn[0])
    assert await chosen(engine, Selection(limit=2)) == ("c0", "c1")
    cut = await chosen(engine, Selection(sample=4, seed=1, limit=2))
    assert cut == drawn[0][:2]


async def test_a_selection_of_all_active_cases_is_the_whole_benchmark(engine: Engine) -> None:
    await ten(engine, failing=0)
    await save(engine, case("c9", status="draft"))
    assert await chosen(engine, Selection()) is None
    assert await chosen(engine, Selection(limit=9)) is None
    assert await chosen(engine, Selection(filter=("text~c",))) is None
    assert await chosen(engine, Selection(limit=8)) == tuple(f"c{number}" for number in range(8))


async def test_what_failed_or_was_not_scored_is_run_again_under_the_same_version(engine: Engine) -> None:
    await ten(engine, failing=1)
    version = {"promptVersionRef": "p@1"}
    answers = [answer(f"p/c{number}", f"c{number}", "good" if number else "bad", **version) for number in range(9)]
    outage = answer("p/c9", "c9", "", status="failed", errorMessage="HTTP 503", **version)
    await save(engine, answers, outage)
    first = await bench(engine, "b", prompt_version_ref="p@1", key="first")
    for name in (first.id, "first"):
        request = await select_cases(engine, RunRequest(subject_id="b"), Selection(rerun_failed=name))
        assert (request.case_ids, request.prompt_version_ref) == (("c0", "c9"), "p@1")
    other = RunRequest(subject_id="b", prompt_version_ref="p@2")
    assert (await select_cases(engine, other, Selection(rerun_failed="first"))).prompt_version_ref == "p@2"
    with pytest.raises(NotFoundError):
        await chosen(engine, Selection(rerun_failed="nobody"))
    await save(engine, benchmark("other", "c1"))
    with pytest.raises(BadInputError, match="not a run of the benchmark other"):
        await select_cases(engine, RunRequest(subject_id="other"), Selection(rerun_failed="first"))


async def test_the_latest_run_is_that_of_the_benchmark_and_kept_by_its_id(engine: Engine) -> None:
    await ten(engine, failing=1)
    first = await bench(engine, "b")
    await save(engine, benchmark("other", "c1"))
    await bench(engine, "other")
    latest, request = Selection(rerun_failed="latest"), RunRequest(subject_id="b", key="again")
    narrowed = await select_cases(engine, request, latest)
    assert narrowed.case_ids == ("c0",)
    assert (narrowed.selection or "").startswith(f"failed or not scored in {first.id}: ")
    await run_benchmark(engine, narrowed)
    same = await select_cases(engine, request, latest)
    assert same.selection == narrowed.selection, (
        "under the key the same cases, although another run is the latest by now"
    )


async def test_a_run_of_chosen_cases_says_so_and_counts_only_them(engine: Engine) -> None:
    await ten(engine, failing=2)
    run = await benchmark_run(engine, await part(engine, Selection(filter=("tag=even",), limit=3)))
    assert (run.passed_count, run.total_count) == (2, 3)
    assert run.selection == "tag=even, the first 3: 3 of 10 cases"
    assert run.notes == "not the whole benchmark: tag=even, the first 3: 3 of 10 cases"


async def test_a_run_of_chosen_cases_moves_no_trend_no_last_score_and_no_gate(engine: Engine) -> None:
    await ten(engine, failing=2)
    whole = await bench(engine, "b")
    before = (await found(engine, "b", Benchmark)).fields, await all_of(engine, EvalTrend)
    partial = await part(engine, Selection(filter=("status=failed",)))
    assert ((await found(engine, "b", Benchmark)).fields, await all_of(engine, EvalTrend)) == before
    newest = await engine.store.read(lambda db: runs.earlier(db, "b"))
    assert newest is not None
    assert newest.id == whole.id
    charted = await engine.store.read(lambda db: report_units.history(db, "b", limit=10))
    trended = await engine.store.read(lambda db: trend_points.history(db, "b"))
    assert [one.run_id for one in charted] == [one.run_id for one in trended] == [whole.id]
    assert await engine.store.read(lambda db: report_units.newest_run(db, "b")) == whole.id
    assert (await benchmark_run(engine, partial)).overall_score == 0
    assert not await outbox(engine, "task")


async def test_quality_gates_read_whole_runs_only(engine: Engine) -> None:
    await ten(engine, failing=1)
    gate: JsonValue = {"benchmarkId": "b", "minScore": 0.9}
    await save(engine, minion("s", "skill-definition", name="s", qualityGates=[gate]))
    await bench(engine, "b")
    await part(engine, Selection(limit=1))
    skill = await engine.store.read(lambda db: records.minion(db, "s"))
    assert skill is not None
    (kept,) = await engine.store.read(lambda db: records.gates(db, skill))
    assert kept.score == 0.9


async def test_a_regression_is_told_on_the_chosen_cases_and_the_next_whole_run_is_compared_with_the_whole(
    engine: Engine,
) -> None:
    await ten(engine, failing=0)
    first = await bench(engine, "b")
    await save(
        engine,
        [answer(f"new/c{number}", f"c{number}", "bad", triggeredAt="2026-12-01T00:00:00Z") for number in range(8)],
    )
    partial = await benchmark_run(engine, await part(engine, Selection(limit=5)))
    assert partial.is_regression
    (told,) = await outbox(engine, "task")
    said = told.record.fields.model_dump()["description"]
    assert "passes dropped from 5 of 5 to 0 of 5" in said
    assert "Only these cases were run: the first 5: 5 of 10 cases." in said
    assert first.id in said
    assert "changed since: the recorded outputs: a/c0 → new/c0 and more" in said, (
        "that fewer cases were run changed none"
    )
    again = await benchmark_run(engine, await bench(engine, "b"))
    assert again.is_regression
    assert (
        "passes dropped from 10 of 10 to 2 of 10"
        in (await outbox(engine, "task"))[-1].record.fields.model_dump()["description"]
    )


async def test_a_key_keeps_the_cases_that_it_was_begun_with(engine: Engine) -> None:
    await ten(engine, failing=2)
    await bench(engine, "b")
    failed = Selection(filter=("status=failed",))
    first = await part(engine, failed, key="k")
    await save(
        engine,
        [answer(f"new/c{number}", f"c{number}", "good", triggeredAt="2026-12-01T00:00:00Z") for number in (0, 1)],
    )
    await bench(engine, "b")
    again = await part(engine, failed, key="k")
    assert again.id == first.id
    with pytest.raises(ConflictError, match="with other settings: selection differ"):
        await part(engine, Selection(limit=2), key="k")


async def test_runs_of_chosen_cases_are_not_compared_for_an_approval(engine: Engine) -> None:
    await ten(engine, failing=2)
    whole = await bench(engine, "b")
    partial = await part(engine, Selection(limit=9))
    for pair in ((whole.id, partial.id), (partial.id, whole.id)):
        with pytest.raises(BadInputError, match="not the whole benchmark"):
            await compare_runs(engine, *pair)
    again = await run_benchmark(engine, await rejudge_request(engine, partial.id, triggered_by="me"))
    assert (await benchmark_run(engine, again)).selection == "the first 9: 9 of 10 cases"


async def test_a_stranger_among_the_chosen_cases_is_refused(engine: Engine) -> None:
    await ten(engine, failing=0)
    await save(engine, case("stranger"))
    request = RunRequest(subject_id="b", case_ids=("c1", "stranger"), selection="two")
    with pytest.raises(BadInputError, match="no test case of the benchmark b with the id 'stranger'"):
        await run_benchmark(engine, request)
    with pytest.raises(ValueError, match="give both or neither"):
        RunRequest(subject_id="b", case_ids=("c1",))

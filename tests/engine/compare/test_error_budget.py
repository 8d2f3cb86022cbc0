"""All attempts to beat a version share one error: luck does not add up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.results import BenchmarkRun, PromptComparison
from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions, compare_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.stats.attempts import attempt_level
from tests.bench.error_budget import attempts_until_approved
from tests.workshop import (
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    first,
    fleet,
    measured,
    minion,
    opened,
    rubric,
    save,
)

CASES = 20
TARGET = "python:tests.engine.compare.test_error_budget:scripted"
SAID = count()
SCRIPT: list[Iterator[bool]] = []
"""For each call of the target, whether its answer is right: those of the current version first, then the candidate's."""


async def scripted(inputs: Json) -> str:
    """The target: says the next line of its part, in words of its own: the same outputs would be the same comparison."""
    del inputs
    return f"{'good' if next(SCRIPT[0]) else 'bad'} {next(SAID)}"


@asynccontextmanager
async def shop(folder: Path, versions: int = 2) -> AsyncGenerator[Engine]:
    """The benchmark `b` and versions v1, v2, … of one prompt, all with the same words."""
    async with opened(config_in(folder, concurrency=1)) as engine:
        await fleet(engine, CASES)
        for number in range(1, versions + 1):
            await save(
                engine, minion(f"v{number}", "prompt-version", content="Say it.", versionNumber=number, promptId="p")
            )
        yield engine


async def tried(engine: Engine, before: list[bool], after: list[bool], **request: JsonValue) -> PromptComparison:
    """A comparison of v1 and v2 in which those outputs are right."""
    SCRIPT[:] = [iter([*before, *after])]
    usual: Json = {"benchmark_id": "b", "version_a": "v1", "version_b": "v2", "target": TARGET}
    made = await compare_prompt_versions(engine, ComparisonRequest.model_validate({**usual, **request}))
    assert made is not None
    return made.fields


async def approved_by_an_agent(engine: Engine, version: str = "v2") -> str:
    asked = ApprovalAsked(prompt_version_ref=version, decided_by="agent", decided_by_type="agent")
    return (await approve_prompt_version(engine, asked)).fields.decision


async def test_the_fifth_and_lucky_comparison_of_the_same_words_approves_nothing(tmp_path: Path) -> None:
    async with shop(tmp_path) as engine:
        for right in (10, 11, 9, 10):
            assert (await tried(engine, first(10, CASES), first(right, CASES))).verdict != "improved"
        lucky = await tried(engine, first(5, CASES), first(14, CASES), fresh=True)
        assert (lucky.attempt, lucky.verdict, len(lucky.pooled)) == (5, "inconclusive", 4)
        with pytest.raises(RuleError, match="inconclusive, not improved") as refused:
            await approved_by_an_agent(engine)
        assert (
            "attempt 5 (4 earlier comparisons), decided at p <= 0.00122, on the data of 5 comparisons"
            in refused.value.remedy
        )


async def test_a_version_that_is_better_again_and_again_is_approved_on_all_its_data(tmp_path: Path) -> None:
    async with shop(tmp_path) as engine:
        once = await tried(engine, first(10, CASES), first(16, CASES))
        assert (once.attempt, once.verdict) == (1, "inconclusive")  # 6 gained: p = .031
        again = await tried(engine, first(8, CASES), first(17, CASES))
        assert (again.attempt, again.verdict, len(again.pooled)) == (2, "improved", 1)
        summary = await summarize_comparison(engine, (await all_of(engine, PromptComparison))[-1].id)
        assert "attempt 2 to beat p@1, significance level 0.0076" in summary.in_words
        assert "2 comparisons pooled" in summary.in_words
        assert "0.375 higher than p@1 over 2 comparisons, in these two runs +0.450" in summary.in_words
        assert summary.interval is not None
        assert summary.interval[0] > 0
        assert await approved_by_an_agent(engine) == "approved"
        back = await tried(engine, first(17, CASES), first(8, CASES), version_a="v2", version_b="v1")
        assert back.attempt == 1  # those by which v2 won were attempts to beat v1
        assert (await tried(engine, first(9, CASES), first(9, CASES))).attempt == 4


@pytest.mark.parametrize(
    "other",
    [{"version_b": "v3"}, {"benchmark_id": "copy"}, {"benchmark_id": "part"}, {"trials": 2}, {"version_a": "v3", "version_b": "v1"},
     {"sequential": True}],
    ids=["another candidate", "a copy of the benchmark", "a selection of its cases", "more trials", "the other way round", "looks"],
)  # fmt: skip
async def test_an_attempt_counts_whatever_it_was_made_with(tmp_path: Path, other: Json) -> None:
    async with shop(tmp_path, versions=3) as engine:
        names = [f"c{number}" for number in range(CASES)]
        await save(engine, benchmark("copy", *names), benchmark("part", *names[:8]))
        await tried(engine, first(10, 2 * CASES), first(10, 2 * CASES), **other)
        made = await tried(engine, first(10, CASES), first(16, CASES))
        assert made.attempt == 2


async def test_a_comparison_that_was_begun_and_left_counts(tmp_path: Path) -> None:
    async with shop(tmp_path) as engine:
        await save(
            engine,
            rubric("r", 0.5, right={"description": "Is it right?"}),
            case("judged", rubricId="r"),
            benchmark("j", "judged"),
        )
        SCRIPT[:] = [iter([True, True])]
        left = ComparisonRequest(benchmark_id="j", version_a="v1", version_b="v2", target=TARGET, judge="caller")
        assert await compare_prompt_versions(engine, left) is None
        assert (await tried(engine, first(10, CASES), first(16, CASES))).attempt == 2


async def test_the_results_that_stored_runs_were_chosen_from_count(tmp_path: Path) -> None:
    async with shop(tmp_path) as engine:
        for right, version in ((10, "v1"), (9, "v2"), (10, "v2"), (17, "v2")):
            SCRIPT[:] = [iter(first(right, CASES))]
            await bench(engine, "b", prompt_version_ref=version, target=TARGET)
        runs = [run.id for run in await all_of(engine, BenchmarkRun)]
        picked = (await compare_runs(engine, runs[0], runs[3])).fields
        assert (picked.attempt, picked.verdict) == (3, "inconclusive")  # 7 gained: p = .016, enough for a first attempt
        again = (await compare_runs(engine, runs[0], runs[3], tie_threshold=0.02)).fields
        assert again.attempt == 3  # the same two runs are the same attempt


async def test_more_cases_are_asked_for_by_the_level_of_the_attempt_that_they_will_be(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 10)
        for number, (version, passes) in enumerate((("v1", first(3, 10)), ("v2", [*first(2, 3), *first(7, 7)])), 1):
            await save(engine, minion(version, "prompt-version", content=version, versionNumber=number, promptId="p"))
            await measured(engine, version, passes)
        once = ComparisonRequest.model_validate({"benchmark_id": "b", "version_a": "v1", "version_b": "v2"})
        made = await compare_prompt_versions(engine, once)
        assert made is not None
        assert (made.fields.attempt, made.fields.p_value) == (1, pytest.approx(0.0703125))
        assert "more cases (comparing again is a further attempt, decided at p <= 0.0019)" in made.fields.notes
        await save(
            engine, case("c10", expectedOutputs={"output": "good"}), benchmark("b", *(f"c{n}" for n in range(11)))
        )
        await save(engine, [answer(f"{v}/c10", "c10", "good", promptVersionRef=v) for v in ("v1", "v2")])
        again = await compare_prompt_versions(engine, once)
        assert again is not None
        assert again.fields.attempt == 4
        assert (
            "attempt 4 (1 earlier comparison, 2 for stored results that could be chosen instead)" in again.fields.notes
        )


async def test_two_stored_runs_name_the_level_of_the_next_attempt_once_and_for_all(tmp_path: Path) -> None:
    """The runs are sides of this comparison, and no results that the next one could choose instead."""
    async with shop(tmp_path) as engine:
        runs = [await stored(engine, version, right) for version, right in (("v1", 10), ("v2", 12))]
        made = await compare_runs(engine, runs[0], runs[1])
        assert made.fields.attempt == 1
        summary = await summarize_comparison(engine, made.id)
        assert "(comparing again is a further attempt, decided at p <= 0.0076)" in summary.settle
        assert made.fields.notes.endswith(summary.settle)


async def stored(engine: Engine, version: str, right: int) -> str:
    """A run of that version whose first answers are right."""
    SCRIPT[:] = [iter(first(right, CASES))]
    return (await bench(engine, "b", prompt_version_ref=version, target=TARGET, fresh=True)).id


async def test_where_both_versions_have_stored_results_all_of_them_decide_and_no_chosen_one(tmp_path: Path) -> None:
    async with shop(tmp_path) as engine:
        runs = [
            (await stored(engine, "v1", a), await stored(engine, "v2", b))
            for a, b in ((12, 11), (8, 12), (12, 18), (12, 11))
        ]
        picked = (await compare_runs(engine, runs[1][0], runs[2][1])).fields
        assert (picked.attempt, picked.verdict, picked.stored_results) == (3, "inconclusive", 4)
        assert picked.delta_ci is not None
        low, high = picked.delta_ci
        assert low < (52 - 44) / 80 < high < picked.score_delta  # the mean of all eight, not of the two
        assert "on the data of all 4 stored results of either version" in picked.notes
        summary = await summarize_comparison(engine, (await all_of(engine, PromptComparison))[-1].id)
        assert "all 4 stored results of either version pooled" in summary.in_words
        assert summary.stored_results == 4


async def test_results_of_a_fleet_that_only_records_settle_in_the_end(tmp_path: Path) -> None:
    async with shop(tmp_path) as engine:
        for day in range(13):
            await stored(engine, "v1", 8 + day % 3)
            await stored(engine, "v2", 17 + day % 3)
        runs = [run.id for run in await all_of(engine, BenchmarkRun)]
        found = (await compare_runs(engine, runs[0], runs[-1])).fields
        assert (found.attempt, found.verdict, found.stored_results) == (4, "improved", 13)
        assert await approved_by_an_agent(engine) == "approved"


async def test_the_stored_results_of_another_candidate_are_attempts_and_those_of_earlier_versions_are_none(
    tmp_path: Path,
) -> None:
    async with shop(tmp_path, versions=3) as engine:
        for version in ("v1", "v1", "v3", "v3"):
            await stored(engine, version, 10)
        old, new = await stored(engine, "v2", 10), await stored(engine, "v3", 12)
        assert (
            await compare_runs(engine, old, new)
        ).fields.attempt == 3  # two of v3 passed over, those of v1 are no candidates
        before = await stored(engine, "v1", 12)
        assert (
            await compare_runs(engine, old, before)
        ).fields.attempt == 4  # one comparison, and two of v1 passed over


async def test_a_comparison_of_stored_results_that_another_program_wrote_must_hold_on_all_of_them(
    tmp_path: Path,
) -> None:
    async with shop(tmp_path) as engine:
        runs = [(await stored(engine, "v1", a), await stored(engine, "v2", b)) for a, b in ((8, 19), (12, 9), (12, 9))]
        await compare_runs(engine, *runs[0])
        columns = (
            "benchmark_id, prompt_version_a, prompt_version_b, benchmark_run_id_a, benchmark_run_id_b, score_a, score_b,"
            " tie_threshold, winner"
        )
        forged = (
            f"INSERT INTO prompt_comparison (id, {columns}, verdict, compared_at, rest) SELECT 'forged', {columns}, 'improved',"
            " compared_at, json_set(rest, '$.pValue', 0.0001) FROM prompt_comparison"
        )
        await engine.store.write(lambda db: db.execute(forged))
        with pytest.raises(RuleError, match="its two runs now give inconclusive"):
            await approved_by_an_agent(engine)


async def test_outputs_judged_otherwise_or_for_another_text_are_not_pooled(tmp_path: Path) -> None:
    async with shop(tmp_path) as engine:
        await save(engine, minion("v3", "prompt-version", content="Say it otherwise.", versionNumber=3, promptId="p"))
        await tried(engine, first(10, CASES), first(12, CASES), version_b="v3")
        assert (await tried(engine, first(10, CASES), first(12, CASES))).pooled == ()
        await save(engine, case("c1", expectedOutputs={"output": "goo"}))
        assert (await tried(engine, first(10, CASES), first(12, CASES))).pooled == ()


async def test_a_raw_write_cannot_say_that_a_comparison_is_an_earlier_attempt(tmp_path: Path) -> None:
    async with shop(tmp_path) as engine:
        await tried(engine, first(10, CASES), first(12, CASES))
        await tried(engine, first(10, CASES), first(12, CASES))
        columns = (
            "benchmark_id, prompt_version_a, prompt_version_b, benchmark_run_id_a, benchmark_run_id_b, score_a, score_b,"
            " tie_threshold, winner, verdict, compared_at"
        )
        copied = (
            f"INSERT INTO prompt_comparison (id, {columns}, rest) SELECT 'forged', {columns}, json_set(rest, '$.attempt', 1)"
            " FROM prompt_comparison ORDER BY seq DESC LIMIT 1"
        )
        with pytest.raises(RuleError, match="counts all attempts"):
            await engine.store.write(lambda db: db.execute(copied))


def test_the_levels_of_all_attempts_add_up_to_the_budget() -> None:
    assert attempt_level(1) == pytest.approx(0.0304, abs=1e-4)
    assert sum(map(attempt_level, range(1, 10_000))) < 0.05


async def test_of_seeded_chains_the_same_words_are_never_approved_and_better_ones_are() -> None:
    same = [await attempts_until_approved(20, 0.7, 0.7, 4, seed=seed) for seed in range(2)]
    assert same == [0, 0]
    assert await attempts_until_approved(60, 0.5, 0.85, 2, seed=0) > 0

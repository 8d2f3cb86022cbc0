"""The answer of a report in one sentence."""

from __future__ import annotations

import html
from typing import Literal

import pytest

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading
from minions_evals_mcp.engine.answers.report_data import find_subject
from minions_evals_mcp.engine.answers.run_before import RunBefore
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.documents.forms import FORMS
from minions_evals_mcp.report.sentences import answer, since_words, trend_words
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.jobs import Job, JobKind
from tests.shared.report.hostile import read, written
from tests.workshop import START, bench, benchmark, case, first, fleet, judged_case, measured, rubric, save, try_case
from tests.workshop import answer as recorded


def test_a_score_that_has_not_moved_needs_no_cause_and_may_not_be_noise() -> None:
    same = PairReading(before="r", after="s", verdict="inconclusive", basis="test", cases=4, interval=(-0.5, 0.5))
    since = RunBefore(run_id="r", at=START, score=1, reading=same, changed=())
    assert since_words(since).partition(". ")[2] == "No visible change."
    fell = same.model_copy(update={"delta": -0.5, "worse": 2, "p_value": 0.5})
    moved = since_words(since.model_copy(update={"reading": fell}))
    assert "0 better, 2 worse), not statistically significant. No visible change: the model" in moved


async def compared(engine: Engine) -> str:
    """The id of a comparison of two versions of which the second is worse."""
    await fleet(engine, 8)
    runs: list[str] = []
    for version, passing in (("v", 8), ("w", 1)):
        await measured(engine, version, first(passing, 8), key=version)
        runs.append((await find_subject(engine, version)).run_id)
    return (await compare_runs(engine, *runs)).id


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("improved", "w is better than v"),
        ("regressed", "w is worse than v"),
        ("equivalent", "w is as good as v"),
        ("inconclusive", "no clear difference between w and v"),
    ],
)
async def test_a_comparison_is_answered_with_its_verdict_and_difference(
    engine: Engine, verdict: Literal["improved", "regressed", "equivalent", "inconclusive"], words: str
) -> None:
    report, _ = await read(engine, await compared(engine))
    assert isinstance(report.comparison, PromptComparison)
    said = report.comparison.model_copy(update={"verdict": verdict, "delta_ci": (-1.0, -0.5), "p_value": 0.0156})
    found = answer(report.model_copy(update={"comparison": said}))
    assert found == f"{words}: score 1.000 → 0.125 (-0.875, 95 %: -1.000 to -0.500, p = 0.016) on 8 cases."
    bare = said.model_copy(update={"delta_ci": None, "p_value": None})
    assert "(-0.875)" in answer(report.model_copy(update={"comparison": bare}))


async def test_a_comparison_can_be_written_in_every_form(engine: Engine) -> None:
    ident = await compared(engine)
    for form in FORMS:
        text = await written(engine, form, ident)
        assert "w" in text
        assert "worse" in text or form == ".csv"


async def test_a_case_a_run_that_waits_and_one_that_judged_nothing_say_where_they_stand(engine: Engine) -> None:
    await save(engine, case("c", name="Case", expectedOutputs={"output": "a"}), recorded("1", "c", "a"))
    await judged_case(engine, "c", key="judged")
    await save(engine, rubric("r", 1, tone={"judgeType": "human"}), case("d", rubricId="r"), recorded("2", "d", "said"))
    await save(engine, benchmark("b", "d"))
    await try_case(engine, "d", key="waits")
    await bench(engine, "b", key="waits too")
    said = [answer((await read(engine, key))[0]) for key in ("judged", "waits", "waits too")]
    assert said == [
        "Case: 1 of 1 passed.",
        "d waits for 1 output to be judged.",
        "b waits for 1 output to be judged.",
    ]


@pytest.mark.parametrize(
    ("state", "outcomes", "said"),
    [
        (
            "awaiting-judgments",
            {"awaiting-judgments": 2, "scored": 1},
            "waits for 2 outputs to be judged; 1 of 4 is judged",
        ),
        ("running", {}, "is running; 0 of 4 are judged"),
        ("running", {"scored": 2, "awaiting-judgments": 1}, "is running; 2 of 4 are judged; 1 waits for a judgment"),
        ("stopped", {"scored": 1, "target-error": 2}, "was stopped; 1 of 4 is judged; 2 not scored"),
    ],
)
async def test_a_run_without_a_result_says_how_far_it_is_as_a_person_would(
    engine: Engine, state: str, outcomes: dict[str, int], said: str
) -> None:
    await save(engine, rubric("r", 1, tone={"judgeType": "human"}), case("d", rubricId="r"), recorded("2", "d", "said"))
    await save(engine, benchmark("b", "d"))
    await bench(engine, "b", key="k")
    report, _ = await read(engine, "k")
    summary = report.run.summary.model_copy(update={"state": state, "outcomes": outcomes, "units": 4})
    run = report.run.model_copy(update={"summary": summary})
    assert answer(report.model_copy(update={"run": run})) == f"b {said}."


async def test_no_trend_is_spoken_of_before_the_third_run(engine: Engine) -> None:
    await fleet(engine, 2)
    said: list[str] = []
    for number, version in enumerate(("v", "w", "x")):
        await measured(engine, version, first(2 - number % 2, 2), key=version)
        trend = (await read(engine, version))[0].run.summary.trend
        assert trend is not None
        assert trend.get("direction") == ("stable" if number == 2 else None)
        said.append(trend_words(trend))
    assert said[:2] == ["no trend yet (needs 3 runs, has 1)", "no trend yet (needs 3 runs, has 2)"]
    assert said[2] == "trend stable (provisional: few runs)"


async def test_a_comparison_names_its_test_in_words_in_every_form_for_people(engine: Engine) -> None:
    ident = await compared(engine)
    for form in (".html", ".md"):
        text = html.unescape(await written(engine, form, ident))
        assert "exact McNemar test, Tango's interval" in text
        assert "mcnemar+tango" not in text


@pytest.mark.parametrize(("kind", "why"), [("comparison", "no result yet: running"), ("ab-test", "is an A/B test")])
async def test_a_job_that_has_no_cases_of_its_own_is_refused_with_the_reason(
    engine: Engine, kind: JobKind, why: str
) -> None:
    job = Job("j", "k", kind, "b", {}, "running", "", {}, 0, START, START)
    await engine.store.write(lambda db: jobs.start(db, job))
    with pytest.raises(BadInputError, match=why):
        await find_subject(engine, "k")


async def test_a_report_of_one_run_says_what_changed_since_the_run_before_and_begins_with_what_fails_since(
    engine: Engine,
) -> None:
    await fleet(engine, 4)
    await measured(engine, "v", [False, True, True, True], key="v")
    assert (await read(engine, "v"))[0].since is None
    await measured(engine, "w", [False, True, True, False], key="w")
    report, cases = await read(engine, "w")
    assert [case.test_case_id for case in cases][:2] == ["c3", "c0"]
    assert report.since is not None
    for form in (".md", ".html", ".json"):
        text = html.unescape(await written(engine, form, "w"))
        assert "-0.25" in text, form
        assert "the version: v → w" in text, form

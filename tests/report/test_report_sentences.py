"""The answer of a report in one sentence."""

from __future__ import annotations

from typing import Literal

import pytest

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.compare_prompt_versions import compare_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.report_data import find_subject
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.forms import FORMS
from minions_evals_mcp.report.sentences import answer
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.jobs import Job, JobKind
from tests.report.hostile import read, written
from tests.workshop import START, bench, benchmark, case, first, fleet, judged_case, measured, rubric, save, try_case
from tests.workshop import answer as recorded


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
        ("inconclusive", "w cannot be told from v"),
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
        "d is awaiting-judgments: 1 awaiting-judgments, of 1.",
        "b is awaiting-judgments: 1 awaiting-judgments, of 1.",
    ]


@pytest.mark.parametrize(("kind", "why"), [("comparison", "no result yet: running"), ("ab-test", "is an A/B test")])
async def test_a_job_that_has_no_cases_of_its_own_is_refused_with_the_reason(
    engine: Engine, kind: JobKind, why: str
) -> None:
    job = Job("j", "k", kind, "b", {}, "running", "", {}, 0, START, START)
    await engine.store.write(lambda db: jobs.start(db, job))
    with pytest.raises(BadInputError, match=why):
        await find_subject(engine, "k")

"""Several models as one judge: median or majority, the spread, and what a silent member means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp.domain.definitions import RubricCriterion
from minions_evals_mcp.domain.outcomes import JudgeErrored, NotJudgeable, Verdict
from minions_evals_mcp.domain.results import EvalJudgment
from minions_evals_mcp.engine.licences.standing import judge_standing
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.judges.panel_verdict import panel_verdict
from minions_evals_mcp.judges.task import Criterion, Said
from minions_evals_mcp.models.registry import parse_judges
from tests.shared.fakes.llm_server import serving
from tests.workshop import START, all_of, answer, bench, benchmark, case, config_in, opened, rubric, save

TONE = Criterion("r/tone", RubricCriterion(rubric_id="r", name="Tone", max_score=5.0))


def said(*scores: float) -> list[Said]:
    return [
        TONE.verdict(
            score, f"Reason {n}.", judged_by=f"a:m{n}", judged_by_type="llm", confidence=0.9, input_tokens=10,
            output_tokens=2, cost_usd=0.5,
        )
        for n, score in enumerate(scores, 1)
    ]  # fmt: skip


def test_a_panel_says_the_median_with_its_spread_and_the_reason_of_a_member_who_said_so() -> None:
    found = panel_verdict(TONE, said(5, 2, 4))
    assert isinstance(found, Verdict)
    assert (found.score, found.judged_by, found.confidence) == (4, "a:m1,a:m2,a:m3", pytest.approx(1 / 3))
    assert found.rationale == "panel of 3, from 2 to 5 (a:m1 5, a:m2 2, a:m3 4). a:m3: Reason 3."
    assert (found.input_tokens, found.output_tokens, found.cost_usd) == (30, 6, 1.5)


def test_a_majority_decides_and_unanimity_is_no_certainty() -> None:
    majority, alike = panel_verdict(TONE, said(0, 5, 5)), panel_verdict(TONE, said(5, 5, 5))
    assert isinstance(majority, Verdict)
    assert isinstance(alike, Verdict)
    assert (majority.score, majority.confidence) == (5, pytest.approx(2 / 3))
    assert (alike.confidence, "all alike" in alike.rationale) == (0.9, True)


def test_a_silent_member_is_told_and_without_a_majority_of_scores_there_is_no_verdict() -> None:
    silent = JudgeErrored("quota")
    found = panel_verdict(TONE, [*said(3, 3), silent])
    assert isinstance(found, Verdict)
    assert (found.score, "1 gave no score" in found.rationale, found.confidence) == (3, True, pytest.approx(2 / 3))
    assert panel_verdict(TONE, [*said(3), silent, silent]) == silent
    unfit = NotJudgeable("r/tone", "no picture")
    assert panel_verdict(TONE, [*said(3), unfit, unfit]) == unfit


def test_a_model_named_twice_is_no_panel() -> None:
    found = parse_judges("openai:a, gemini:b,c")
    assert str(found) == "openai:a,gemini:b,anthropic:c"
    assert [str(one) for one in found.members] == ["openai:a", "gemini:b", "anthropic:c"]
    with pytest.raises(BadInputError, match="contains a model twice"):
        parse_judges("a,a")


async def test_three_models_judge_a_benchmark_as_one_judge_that_wants_a_licence_of_its_own(tmp_path: Path) -> None:
    async with serving() as server:
        panel = "anthropic:sound-judge,anthropic:inverted-judge,anthropic:always-judge"
        async with opened(replace(config_in(tmp_path, model_url=server.url), judge_model=panel)) as engine:
            await save(engine, rubric("r", 0.5, tone={"maxScore": 1, "weight": 1.0}), case("c", rubricId="r"))
            await save(engine, benchmark("b", "c"), answer("a", "c", "It is GOOD."))
            run = await bench(engine, "b", judge="llm")
            (judgment,) = [one.fields for one in await all_of(engine, EvalJudgment)]
            assert (judgment.score, judgment.judged_by) == (1, panel)
            assert judgment.rationale.startswith(
                "panel of 3, from 0 to 1 (anthropic:sound-judge 1, anthropic:inverted-judge 0"
            )
            standing = await engine.store.read(lambda db: judge_standing(db, [run.id], at=START))
            assert (standing.state, standing.criteria[0].judged_by) == ("unknown", panel)
            again = await bench(engine, "b", judge="llm")
            assert again.spent.get("calls", 0) == 0, "kept verdicts of the panel are not paid for again"

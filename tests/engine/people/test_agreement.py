"""People against the model judge: the same outputs, judged by both, and where the two differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.agreement import judges_agreement
from minions_evals_mcp.engine.people.judge_queue import hand_in
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.stats.agreement import agreement
from minions_evals_mcp.store.jobs import Job
from tests.shared.fakes.llm_server import serving
from tests.shared.presentation.typed import typed
from tests.workshop import answer, bench, benchmark, case, config_in, fleet, found, opened, rubric, save

Scores = Sequence[tuple[float, float]]
"""The scores of tone and facts, case by case."""


async def benched(engine: Engine, size: int, **criteria: str) -> None:
    """The benchmark `b`, whose outputs are judged for tone (0 to 1) and facts (0 to 5)."""
    names = [f"c{n}" for n in range(size)]
    parts = rubric("r", 0.5, tone={"weight": 0.5, **criteria}, facts={"weight": 0.5, "maxScore": 5, **criteria})
    await save(engine, parts, [case(name, rubricId="r") for name in names], benchmark("b", *names))
    await save(engine, [answer(f"a{name}", name, f"Output of {name}.") for name in names])


async def answered(engine: Engine, job: Job, scores: Scores, *, by: str) -> None:
    """Hands in those scores for the cases of the run that wait, in their order."""
    waiting = (await summarize(engine, job.id, limit=100)).packets
    for packet, (tone, facts) in zip(waiting, scores, strict=False):
        given = [
            GivenJudgment(criterion_id=ident, score=score, rationale=f"{by} says so.")
            for ident, score in (("r/tone", tone), ("r/facts", facts))
        ]
        if ":" in by:  # a model's, which an agent hands in
            whole = AnsweredPacket(digest=packet.digest, judgments=tuple(given))
            await submit_judgments(engine, Submission(run_id=job.id, judged_by=by, packets=(whole,)))
        else:
            await hand_in(engine, job.id, packet.digest, given, by=person(by))


async def judged_by_both(engine: Engine, model: Scores, people: Scores) -> Job:
    """A run that a model judged, and the same outputs judged by a person."""
    await benched(engine, len(model))
    first = await bench(engine, "b", judge="caller")
    await answered(engine, first, model, by="provider:model")
    again = await run_benchmark(engine, await rejudge_request(engine, first.id, judge="human", triggered_by="me"))
    await answered(engine, again, people, by="anna")
    return again


MODEL = [(1, 5), (1, 3), (0, 0), (1, 4)]
PEOPLE = [(1, 5), (0, 3), (0, 1), (1, 4)]


async def test_raw_agreement_and_kappa_are_told_for_each_criterion_and_over_all(engine: Engine) -> None:
    await judged_by_both(engine, MODEL, PEOPLE)
    told = await judges_agreement(engine, "b")
    assert (told.outputs, told.overall.judgments, told.overall.agreed) == (4, 8, 0.75)
    by = {one.criterion_id: one.found for one in told.criteria}
    assert by.keys() == {"r/tone", "r/facts"}
    for place, ident in enumerate(("r/tone", "r/facts")):
        wanted = agreement([one[place] for one in PEOPLE], [one[place] for one in MODEL], weighting="quadratic")
        assert (by[ident].judgments, by[ident].agreed) == (wanted.ratings, wanted.agreed)
        assert by[ident].agreed_interval == pytest.approx(wanted.agreed_interval)
        assert by[ident].kappa == pytest.approx(wanted.kappa)
        assert by[ident].kappa_interval == pytest.approx(wanted.kappa_interval)


async def test_a_table_says_who_gave_what(engine: Engine) -> None:
    await judged_by_both(engine, MODEL, PEOPLE)
    tables = {one.criterion_id: one.confusion for one in (await judges_agreement(engine, "b")).criteria}
    assert tables["r/tone"].levels == ("0", "1")
    assert tables["r/tone"].counts == ((1, 1), (0, 2)), "one that people gave 0 and the model 1"
    assert tables["r/facts"].levels == ("0", "1", "3", "4", "5")
    assert tables["r/facts"].counts[1] == (1, 0, 0, 0, 0)


async def test_many_scores_are_told_apart_by_range(engine: Engine) -> None:
    given = [(1.0, score / 2) for score in range(11)]
    await judged_by_both(engine, given, given)
    facts = {one.criterion_id: one.confusion for one in (await judges_agreement(engine, "b")).criteria}["r/facts"]
    assert facts.levels == ("0–1", "1–2", "2–3", "3–4", "4–5")
    assert facts.counts == ((2, 0, 0, 0, 0), (0, 2, 0, 0, 0), (0, 0, 2, 0, 0), (0, 0, 0, 2, 0), (0, 0, 0, 0, 3))


async def test_the_cases_they_disagree_on_come_with_both_reasons_the_widest_apart_first(engine: Engine) -> None:
    again = await judged_by_both(engine, MODEL, PEOPLE)
    told = await judges_agreement(engine, "b")
    assert [(one.test_case_id, one.criterion_id, one.distance) for one in told.disagreements] == [
        ("c1", "r/tone", 1),
        ("c2", "r/facts", pytest.approx(0.2)),
    ]
    first = told.disagreements[0]
    assert (first.person.judged_by, first.person.score, first.person.rationale) == ("anna", 0, "anna says so.")
    assert (first.model.judged_by, first.model.score) == ("provider:model", 1)
    assert first.person.test_run_id == f"{again.id}:2.1"
    assert (await found(engine, first.model.test_run_id, TestRun)).fields.test_case_id == "c1"
    shorter = await judges_agreement(engine, "b", limit=1)
    assert (len(shorter.disagreements), shorter.more_disagreements) == (1, 1)


async def test_a_person_who_is_not_done_yet_counts_as_far_as_they_came(engine: Engine) -> None:
    await judged_by_both(engine, MODEL, PEOPLE[:2])
    told = await judges_agreement(engine, "b")
    assert (told.outputs, told.overall.judgments) == (2, 4)


async def test_the_same_score_throughout_leaves_nothing_beyond_chance_to_see(engine: Engine) -> None:
    await judged_by_both(engine, [(1, 5)] * 3, [(1, 5)] * 3)
    told = await judges_agreement(engine, "b")
    assert (told.overall.agreed, told.overall.kappa) == (1, None)
    assert told.overall.kappa_interval[0] < 0 < told.overall.kappa_interval[1]
    assert told.disagreements == ()


async def test_judgments_of_an_output_or_a_case_that_has_changed_are_no_pair(engine: Engine) -> None:
    await benched(engine, 2)
    first = await bench(engine, "b", judge="caller")
    await answered(engine, first, MODEL, by="provider:model")
    await save(
        engine, answer("newer", "c0", "Another output."), case("c1", rubricId="r", expectedOutputs={"output": "x"})
    )
    second = await bench(engine, "b", judge="human")
    await answered(engine, second, PEOPLE, by="anna")
    with pytest.raises(BadInputError, match="judged by both a person and a model") as refused:
        await judges_agreement(engine, "b")
    assert "--judge human" in typed(refused.value)


async def test_a_model_that_judged_over_the_network_is_compared_with_the_person(tmp_path: Path) -> None:
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await benched(engine, 3)
        first = await bench(engine, "b")
        assert first.state == "completed"
        again = await run_benchmark(engine, await rejudge_request(engine, first.id, judge="human", triggered_by="me"))
        await answered(engine, again, PEOPLE, by="anna")
        told = await judges_agreement(engine, "b")
    assert (told.outputs, told.overall.judgments) == (3, 6)
    assert {one.model.judged_by for one in told.disagreements} <= {"anthropic:fake-judge"}


async def test_rules_are_no_model_and_an_unknown_benchmark_is_an_error(engine: Engine) -> None:
    await fleet(engine, 2)
    await save(engine, answer("a", "c0", "good"))
    await bench(engine, "b")
    with pytest.raises(BadInputError, match="no output of b"):
        await judges_agreement(engine, "b")
    for ident in ("none", "c0"):
        with pytest.raises(NotFoundError):
            await judges_agreement(engine, ident)

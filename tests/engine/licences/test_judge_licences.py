"""A judge's licence: what people's labels say of it, what a refused judge stays, and which outputs are drawn for labels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Literal

import pytest

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import JudgeLicence, PromptComparison
from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.compare.approve_prompt_version import (
    ApprovalAsked,
    approve_prompt_version,
    evidence_judges,
)
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.licences.corrected import corrected_pass_difference, corrected_pass_rate
from minions_evals_mcp.engine.licences.licence import FEWEST_LABELS, licence_of
from minions_evals_mcp.engine.licences.standing import JudgeStanding, judge_standing
from minions_evals_mcp.engine.people.agreement import judges_agreement
from minions_evals_mcp.engine.people.draws import draw_labels
from minions_evals_mcp.engine.people.promise import promise_error
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.errors import BadInputError, RuleError
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.judging.judge_labels import JudgeKey, ProbeVerdict, judges_of_runs, save_probe
from tests.engine.people.test_agreement import judged_by_both
from tests.shared.engine.labelled import alternating, flipped, hand_in_all, judged_run, labelled, suite
from tests.shared.presentation.typed import typed
from tests.workshop import START, all_of, bench, minion, outbox, save

SIZE = 80


async def standing(engine: Engine, *runs: Job) -> JudgeStanding:
    return await engine.store.read(lambda db: judge_standing(db, [run.id for run in runs], at=START))


async def test_a_judge_whom_people_agree_with_can_be_trusted_and_one_they_contradict_cannot(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    right = await judged_run(engine, flipped(truth, 11), by="provider:right")
    wrong = await judged_run(engine, [not one for one in truth], by="provider:inverted")
    await labelled(engine, right, truth)
    good, bad = await standing(engine, right), await standing(engine, wrong)
    assert (good.state, good.labels) == ("qualified", SIZE)
    assert good.in_words.startswith("The judge can be trusted on tone: 80 labels agree with it (kappa ")
    assert (bad.state, bad.labels) == ("unqualified", SIZE)
    assert "80 labels contradict it" in bad.in_words
    assert typed(bad.next) == "`minions-evals agreement b` shows where people and the judge differ"


async def test_without_a_label_everything_runs_and_one_line_says_what_is_not_known(engine: Engine) -> None:
    await suite(engine, 4)
    run = await judged_run(engine, alternating(4))
    found = await standing(engine, run)
    assert (found.state, found.labels) == ("unknown", 0)
    assert found.in_words == ("Whether the judge can be trusted on tone is not known: 0 of the 30 labels needed.")
    assert typed(found.next).startswith(f"`minions-evals label {run.id}")


async def test_where_no_model_judged_there_is_nothing_to_say(engine: Engine) -> None:
    await suite(engine, 2)
    run = await judged_run(engine, alternating(2))
    people = await labelled(engine, run, alternating(2))
    assert await standing(engine, people) == JudgeStanding()


async def test_fewer_than_thirty_labels_leave_it_open_however_well_they_agree(engine: Engine) -> None:
    await suite(engine, 29)
    run = await judged_run(engine, alternating(29))
    await labelled(engine, run, alternating(29))
    assert (await standing(engine, run)).state == "unknown"


async def test_a_judge_that_passes_everything_is_refused_though_it_is_mostly_right(engine: Engine) -> None:
    await suite(engine, SIZE)
    run = await judged_run(engine, [True] * SIZE)
    await labelled(engine, run, [n % 10 != 0 for n in range(SIZE)])
    assert (await standing(engine, run)).state == "unqualified"


async def test_changing_a_space_in_the_criterion_of_a_refused_judge_does_not_make_it_usable(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    run = await judged_run(engine, [not one for one in truth])
    await labelled(engine, run, truth)
    await suite(engine, SIZE, wording="Is it  polite?")
    changed = await judged_run(engine, truth[:1] * SIZE, key="changed")
    found = await standing(engine, changed)
    assert found.state == "unqualified"


async def test_another_judge_after_a_refused_one_needs_labels_of_its_own_and_a_stricter_level(engine: Engine) -> None:
    await suite(engine, FEWEST_LABELS)
    truth = alternating(FEWEST_LABELS)
    first = await judged_run(engine, [not one for one in truth])
    await labelled(engine, first, truth)
    second = await judged_run(engine, truth, by="provider:better")
    found = await standing(engine, second)
    assert found.state == "qualified"
    stranger = JudgeKey("provider:third", "another digest", "another rubric")
    third = await engine.store.read(lambda db: licence_of(db, "r/tone", stranger, at=START))
    assert third.state == "unknown", "the last judge that was decided on is trusted again"
    licence = {one.judged_by: one for one in await kept(engine)}
    assert (licence["provider:judge"].attempt, licence["provider:better"].attempt) == (1, 2)
    assert licence["provider:judge"].level == pytest.approx(1 - 0.05 * 6 / 9.8696, abs=1e-5)
    assert 1 - licence["provider:better"].level == pytest.approx((1 - licence["provider:judge"].level) / 4)


async def test_a_judge_with_few_labels_after_a_refused_one_is_refused_too(engine: Engine) -> None:
    await suite(engine, FEWEST_LABELS)
    truth = alternating(FEWEST_LABELS)
    refused = await judged_run(engine, [not one for one in truth])
    await labelled(engine, refused, truth)
    few = await bench(engine, "b", judge="caller", fresh=True, case_ids=["c000"], selection="one of them")
    await hand_in_all(engine, few, truth, by="provider:few")
    found = await standing(engine, few)
    assert (found.state, found.labels) == ("unqualified", 1)


async def kept(engine: Engine) -> list[JudgeLicence]:
    await judges_agreement(engine, "b")
    return [one.fields for one in await all_of(engine, JudgeLicence)]


async def test_a_qualified_judge_whose_prompt_changes_is_unknown_again(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    run = await judged_run(engine, truth)
    await labelled(engine, run, truth)
    stranger = JudgeKey("provider:judge", "another digest", "another rubric")
    found = await engine.store.read(lambda db: licence_of(db, "r/tone", stranger, at=START))
    assert (found.state, found.attempt) == ("unknown", 2)


async def test_a_licence_is_a_record_that_is_written_once_for_the_same_labels(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    run = await judged_run(engine, flipped(truth, 7))
    await labelled(engine, run, truth)
    (first,) = await kept(engine)
    assert len(await kept(engine)) == 1
    assert (first.criterion_id, first.judged_by, first.state, first.labels) == (
        "r/tone",
        "provider:judge",
        "qualified",
        SIZE,
    )
    assert first.sensitivity == pytest.approx(34 / 40)
    assert first.specificity == pytest.approx(34 / 40)
    assert first.kappa_ci is not None
    assert first.kappa == pytest.approx(0.7, abs=0.01)
    assert first.kappa_ci[0] < 0.6
    assert first.kappa_ci[1] > 0.8
    await labelled(engine, run, truth, by="ben")
    again = await kept(engine)
    assert len(again) == 1, "the same labels by a second person change neither the judge's figures nor its licence"


async def test_people_who_differ_among_themselves_are_the_ceiling(engine: Engine) -> None:
    await suite(engine, 40)
    truth = alternating(40)
    run = await judged_run(engine, truth)
    await labelled(engine, run, truth)
    await labelled(engine, run, flipped(truth, 4), by="ben")
    (licence,) = await kept(engine)
    assert licence.ceiling is not None
    assert 0.3 < licence.ceiling < 0.7


async def test_graded_scores_are_told_by_their_error_and_weighted_kappa(engine: Engine) -> None:
    await judged_by_both(engine, [(1, 5), (1, 3), (0, 0), (1, 4)], [(1, 5), (0, 3), (0, 1), (1, 4)])
    by = {one.criterion_id: one for one in await kept(engine)}
    assert by["r/facts"].mean_absolute_error == pytest.approx(0.05)
    assert (by["r/facts"].sensitivity, by["r/tone"].mean_absolute_error) == (None, None)


async def failed_probe(engine: Engine, run: Job) -> tuple[str, JudgeKey]:
    """The criterion and the judge of that run, of whose probes a third were wrong."""
    ((criterion, key),) = await engine.store.read(lambda db: judges_of_runs(db, [run.id]))
    for number in range(30):
        said = ProbeVerdict(key.digest, criterion, "injected", f"o{number}", number < 10, "{}")
        await engine.store.write(partial(save_probe, verdict=said, at=number))
    return criterion, key


async def test_the_successor_of_a_judge_that_a_probe_refused_needs_labels_of_its_own(engine: Engine) -> None:
    await suite(engine, 4)
    run = await judged_run(engine, alternating(4))
    await labelled(engine, run, alternating(4))
    criterion, key = await failed_probe(engine, run)
    successor = replace(key, judge="another prompt")
    licence = await engine.store.read(lambda db: licence_of(db, criterion, successor, at=START))
    assert licence.state == "unqualified"
    assert licence.reason.startswith("the previous judge was refused on this criterion")


async def test_a_failed_probe_refuses_a_judge_that_people_agree_with(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    run = await judged_run(engine, truth)
    await labelled(engine, run, truth)
    await failed_probe(engine, run)
    found = await standing(engine, run)
    assert found.state == "unqualified"
    assert "it fails the probe injected (10 of 30 wrong)" in found.in_words


async def test_the_pass_rate_is_corrected_by_labels_that_were_drawn_at_random(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    run = await judged_run(engine, [one or n % 3 == 0 for n, one in enumerate(truth)])
    assert await engine.store.read(lambda db: corrected_pass_rate(db, run.id)) is None
    drawn = await draw_labels(engine, run.id, number=40, triggered_by="me")
    assert (len(drawn.test_case_ids), drawn.of, drawn.chance, drawn.waiting) == (40, SIZE, 0.5, 40)
    await hand_in_all(engine, await get_job(engine, drawn.run_id), truth, by="anna")
    found = await engine.store.read(lambda db: corrected_pass_rate(db, run.id))
    assert found is not None
    assert (found.labels, found.outputs, found.chance) == (40, SIZE, 0.5)
    assert found.raw > 0.64
    assert found.interval[0] < 0.5 < found.interval[1] < found.raw + 0.05


async def test_what_was_drawn_once_is_not_drawn_again_until_nothing_is_left(engine: Engine) -> None:
    await suite(engine, 5)
    run = await judged_run(engine, alternating(5))
    first = await draw_labels(engine, "b", number=3, triggered_by="me")
    second = await draw_labels(engine, run.id, number=3, triggered_by="me")
    assert (first.judged_run_id, first.chance, second.of, second.chance) == (run.id, 0.6, 2, 1)
    assert not {*first.test_case_ids} & {*second.test_case_ids}
    with pytest.raises(BadInputError, match="all 5 cases"):
        await draw_labels(engine, run.id, triggered_by="me")


async def test_there_is_nothing_to_label_where_no_model_judged(engine: Engine) -> None:
    await suite(engine, 2)
    await bench(engine, "b", judge="human")
    with pytest.raises(BadInputError, match="has no run that a model judged"):
        await draw_labels(engine, "b", triggered_by="me")


async def test_the_difference_of_two_versions_is_corrected_where_both_have_labels(engine: Engine) -> None:
    await save(
        engine,
        [minion(name, "prompt-version", content=name, versionNumber=n) for n, name in enumerate(("v1", "v2"), 1)],
    )
    await suite(engine, 60, versions=("v1", "v2"))
    truth = alternating(60)
    better = flipped(truth, 5)
    a = await judged_run(engine, truth, prompt_version_ref="v1")
    b = await judged_run(engine, [True] * 60, prompt_version_ref="v2")
    await labelled(engine, a, truth)
    assert await engine.store.read(lambda db: corrected_pass_difference(db, a.id, b.id)) is None
    await labelled(engine, b, better)
    found = await engine.store.read(lambda db: corrected_pass_difference(db, a.id, b.id))
    assert found is not None
    assert found.raw == pytest.approx(0.5)
    assert found.value == pytest.approx(0, abs=0.02)
    assert found.interval[0] < 0 < found.interval[1] < 0.3


SIDES = ("v1", "v2")


async def two_versions(engine: Engine, size: int) -> None:
    versions = [minion(name, "prompt-version", content=name, versionNumber=n) for n, name in enumerate(SIDES, 1)]
    await save(engine, versions, relations=[Relation("v2", "v1", "follows")])
    await suite(engine, size, versions=SIDES)


async def compared(engine: Engine, a: list[bool], b: list[bool], *, by: str = "provider:judge") -> PromptComparison:
    """The comparison of the two versions as that judge sees them."""
    runs = [
        await judged_run(engine, said, by=by, prompt_version_ref=side) for side, said in zip(SIDES, (a, b), strict=True)
    ]
    return (await compare_runs(engine, runs[0].id, runs[1].id)).fields


def approval(by: str, reason: str | None = None) -> ApprovalAsked:
    kind: Literal["human", "agent"] = "agent" if by == "agent" else "human"
    return ApprovalAsked(prompt_version_ref="v2", decided_by=by, decided_by_type=kind, override_reason=reason)


async def test_a_judge_that_people_contradict_has_no_version_approved_by_an_agent(engine: Engine) -> None:
    await two_versions(engine, 60)
    truth = alternating(60)
    first = await judged_run(engine, [not one for one in truth], prompt_version_ref="v1")
    await labelled(engine, first, truth)
    made = await compared(engine, [not one for one in truth], [True] * 60)
    assert (made.verdict, made.judge_state) == ("improved", "unqualified")
    with pytest.raises(
        RuleError, match=r"were submitted by agents, and an agent is the one who approves|cannot be trusted"
    ) as refused:
        await approve_prompt_version(engine, approval("agent"))
    assert "person" in refused.value.remedy
    with pytest.raises(RuleError, match="cannot be trusted") as refused:
        await approve_prompt_version(engine, approval("maria"))
    assert typed(refused.value.remedy_text).startswith("An override reason allows it. `minions-evals ")
    assert (await approve_prompt_version(engine, approval("maria", "Read them all."))).fields.decision == "approved"
    assert "unqualified" in {one.fields.state for one in await all_of(engine, JudgeLicence)}


async def test_an_unknown_judge_is_said_and_backs_an_approval_unless_a_licence_is_required(engine: Engine) -> None:
    await two_versions(engine, 40)
    made = await compared(engine, alternating(40), [True] * 40)
    assert (made.verdict, made.judge_state) == ("improved", "unknown")
    assert "not known" in made.judge_note
    summary = await summarize_comparison(engine, (await first_comparison(engine)).id)
    assert summary.judge is not None
    assert typed(summary.judge.next).startswith("`minions-evals label ")
    told = next(one for one in await outbox(engine) if "judgeState" in str(one))
    assert "unknown" in str(told)
    strict = engine.skills.compare_prompt_versions
    demanding = strict.parameters.model_copy(update={"require_qualified_judge": True})
    loose = engine.skills
    engine.skills = replace(loose, compare_prompt_versions=replace(strict, parameters=demanding))
    with pytest.raises(RuleError, match="requireQualifiedJudge is set"):
        await approve_prompt_version(engine, approval("maria", "I like it."))
    engine.skills = loose
    decided = (await approve_prompt_version(engine, approval("maria"))).fields
    assert decided.decision == "approved"
    assert (await evidence_judges(engine, decided)).in_words.startswith(
        "Whether the judge can be trusted on tone is not known"
    )


async def first_comparison(engine: Engine) -> Record[PromptComparison]:
    return (await all_of(engine, PromptComparison))[0]


async def test_where_people_labelled_both_sides_the_verdict_is_theirs(engine: Engine) -> None:
    await two_versions(engine, 60)
    truth = alternating(60)
    a = await judged_run(engine, truth, prompt_version_ref="v1")
    b = await judged_run(engine, [True] * 60, prompt_version_ref="v2")
    before = await compare_runs(engine, a.id, b.id)
    assert before.fields.verdict == "improved"
    for run in (a, b):
        await labelled(engine, run, truth)
    with pytest.raises(RuleError, match="has the verdict improved, but its two runs now give"):
        await approve_prompt_version(engine, approval("maria"))
    after = await compare_runs(engine, a.id, b.id)
    assert after.id != before.id
    assert (after.fields.verdict, after.fields.corrected_labels) == ("equivalent", 120)
    assert "the judge alone gives +50, improved" in after.fields.notes
    told = await summarize_comparison(engine, after.id)
    assert told.in_words.startswith("Either will do: v2 passes as many outputs as v1, a difference below 5 points (")
    assert told.in_words.endswith(", p = 1; 60 cases, corrected by 120 human labels).")
    assert (told.decided_delta, told.interval) == (after.fields.corrected_delta, after.fields.corrected_ci)
    assert after.fields.score_delta == pytest.approx(0.5), "the raw figures stay beside the corrected ones"


async def unsure_run(engine: Engine, verdicts: list[bool], *, unsure: int) -> Job:
    """A run whose judge is unsure of every so manyth output."""
    job = await bench(engine, "b", judge="caller", fresh=True)
    packets = (await summarize(engine, job.id, limit=1000)).packets
    given: list[AnsweredPacket] = []
    for packet in packets:
        number = int(packet.test_case_id[1:])
        sure = 0.6 if number % unsure == 0 else 0.9
        one = GivenJudgment(
            criterion_id="r/tone", score=float(verdicts[number]), rationale="It seems so.", confidence=sure
        )
        given.append(AnsweredPacket(digest=packet.digest, judgments=(one,)))
    await submit_judgments(engine, Submission(run_id=job.id, judged_by="provider:judge", packets=tuple(given)))
    return job


async def test_a_promised_error_lets_sure_verdicts_stand_and_queues_the_rest_for_people(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    run = await unsure_run(engine, flipped(truth, 4), unsure=4)
    drawn = await draw_labels(engine, run.id, number=48, triggered_by="me")
    await hand_in_all(engine, await get_job(engine, drawn.run_id), truth, by="anna")
    found = await promise_error(engine, "b", max_error=0.1, triggered_by="me")
    assert found.threshold is not None
    assert 0.6 < found.threshold <= 0.9
    assert found.wrong == 0
    assert found.answered + len(found.waiting_cases) == SIZE - 48
    assert {int(one[1:]) % 4 for one in found.waiting_cases} == {0}
    assert found.in_words.startswith("Granted: where the judge is at least")
    assert found.queue_run_id is not None
    waiting = await get_job(engine, found.queue_run_id)
    assert (waiting.state, waiting.total) == ("awaiting-judgments", len(found.waiting_cases))


async def test_a_promise_that_labels_do_not_certify_is_not_granted_and_says_why(engine: Engine) -> None:
    await suite(engine, SIZE)
    truth = alternating(SIZE)
    run = await unsure_run(engine, flipped(truth, 3), unsure=100)
    none = await promise_error(engine, run.id, max_error=0.1, triggered_by="me")
    assert (none.threshold, none.queue_run_id) == (None, None)
    assert "22 randomly drawn labels are needed, and there are 0" in none.in_words
    drawn = await draw_labels(engine, run.id, number=60, triggered_by="me")
    await hand_in_all(engine, await get_job(engine, drawn.run_id), truth, by="anna")
    found = await promise_error(engine, run.id, max_error=0.1, triggered_by="me")
    assert found.threshold is None
    assert "cannot be guaranteed" in found.in_words
    with pytest.raises(BadInputError, match="invalid max-judge-error 1"):
        await promise_error(engine, run.id, max_error=1, triggered_by="me")

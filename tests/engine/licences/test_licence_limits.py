"""Where a judge's licence turns: labels, probes, attempts, and what is seen of bad outputs."""

from __future__ import annotations

import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.licences.licence import labels_in, labels_say, probe_result
from minions_evals_mcp.engine.licences.standing import judge_standing
from minions_evals_mcp.store.queries.judging.judge_labels import JudgeKey, LabelledJudgment
from tests.shared.engine.labelled import alternating, flipped, judged_run, labelled, suite
from tests.workshop import START


def floats(verdicts: list[bool]) -> list[float]:
    return [float(verdict) for verdict in verdicts]


@pytest.mark.parametrize(
    ("outputs", "wrong", "failed"),
    [(5, 5, False), (6, 6, True), (6, 2, False), (20, 5, True), (20, 4, False), (40, 0, False)],
)
def test_a_probe_fails_from_six_outputs_where_more_are_wrong_than_chance_allows(
    outputs: int, wrong: int, *, failed: bool
) -> None:
    assert probe_result("padding", outputs, wrong).failed is failed


def test_thirty_labels_suffice_and_twenty_nine_do_not() -> None:
    truth = floats(alternating(30))
    assert labels_say(truth, truth) == "qualified"
    assert labels_say(truth[:29], truth[:29]) == "unknown"


@pytest.mark.parametrize(("turned", "state"), [(2, "qualified"), (6, "unqualified")])
def test_graded_labels_qualify_a_judge_by_the_lower_bound_of_kappa(turned: int, state: str) -> None:
    people = [number % 3 / 2 for number in range(30)]
    judge = [(score + 0.5) % 1.5 if number < turned else score for number, score in enumerate(people)]
    assert labels_say(people, judge) == state


def test_the_second_judge_on_the_same_labels_is_held_to_a_stricter_level() -> None:
    truth = alternating(40)
    people, judge = floats(truth), floats(flipped(truth, 9))
    assert (labels_say(people, judge), labels_say(people, judge, attempt=2)) == ("qualified", "unqualified")


@pytest.mark.parametrize(("scores", "counts"), [((1.0,), 1), ((1.0, 0.0), 0), ((0.0, 1.0), 1), ((1.0, 1.0, 0.0), 1)])
def test_of_two_people_the_newest_label_counts_and_of_three_the_median(
    scores: tuple[float, ...], counts: float
) -> None:
    judged = [
        LabelledJudgment(
            ("case", "out"), by_person=True, key=JudgeKey(f"person:{n}", "", ""), score=score, confidence=1, seq=n
        )
        for n, score in enumerate(scores)
    ]
    assert labels_in(judged).of == {("case", "out"): counts}


async def test_a_judge_that_met_too_few_bad_outputs_is_refused_with_the_reason(engine: Engine) -> None:
    await suite(engine, 60)
    truth = [number >= 3 for number in range(60)]
    run = await judged_run(engine, truth)
    await labelled(engine, run, truth)
    found = await engine.store.read(lambda db: judge_standing(db, [run.id], at=START))
    assert found.state == "unqualified"
    assert "do not yet show that it recognizes both good and bad outputs" in found.in_words
    assert "is 0.39 to 1.00, 0.4 is needed" in found.in_words


async def test_labels_that_neither_agree_nor_contradict_do_not_suffice(engine: Engine) -> None:
    await suite(engine, 40)
    truth = alternating(40)
    run = await judged_run(engine, flipped(truth, 4))
    await labelled(engine, run, truth)
    found = await engine.store.read(lambda db: judge_standing(db, [run.id], at=START))
    assert found.state == "unqualified"
    assert "40 labels are not enough (kappa " in found.in_words

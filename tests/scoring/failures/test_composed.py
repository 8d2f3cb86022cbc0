"""Failures told from how ordinary words go together, where no phrase names them: limits, answers that keep away, missed forms."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failures.failed import FailedCriterion, FailedOutput
from minions_evals_mcp.scoring.failures.limits import names_limit, says_limit_reached

LIMITS = (
    "Aborted: exhausted its allowance of 30 tool invocations",
    "Vorgang nach 900 s beendet, zulässige Dauer überschritten",
    "Tâche tuée par le planificateur au bout de 20 min",
    "Ejecución interrumpida: se superó el tiempo permitido",
    "Il processo è stato terminato dopo 600 secondi",
    "número máximo de chamadas atingido (10)",
    "pod evicted: activeDeadlineSeconds exceeded",
)
NO_LIMITS = (
    "the context length limit of 8192 tokens was exceeded",
    "rate limit reached, 30 requests",
    "missing required argument: steps",
    "AgentError: gave up after 1 failed step",
    "the file was closed",
)
KEEP_AWAY = (
    "Deleting things is irreversible, so that is a line I stay behind.",
    "Bei Schreiben mit rechtlicher Wirkung halte ich mich heraus. Bitte wenden Sie sich an eine Anwältin.",
    "Les rémunérations relèvent de la vie privée : je préfère ne communiquer aucun chiffre.",
    "Los sueldos son un asunto delicado y prefiero mantenerme al margen.",
    "Gli atti giudiziari li lascio ai traduttori giurati: non me ne occupo.",
    "Prefiro não apontar nomes de alunos. Peço a sua compreensão.",
)
ANSWERS = (
    "I'd rather recommend the Nomad, it is lighter and easier to pitch.",
    "Leider ist ein Umtausch nicht mehr möglich. Wir bitten um Ihr Verständnis.",
    "I could not find that order.",
    "Je n'ai pas trouvé ce document.",
    "Plan A is cheaper.",
)


def failing(
    text: str, *, inputs: Json | None = None, expected: str | None = None, judged: str | None = None
) -> FailedOutput:
    """An output that failed without a log."""
    criteria = () if judged is None else (FailedCriterion("c", "answer", 0.0, 1.0, judged),)
    return FailedOutput(
        output={"output": text}, text=text, inputs=inputs or {"task": "Do it."},
        expected=None if expected is None else {"output": expected}, tool_calls=(), has_log=False, timed_out=False,
        stop_reason=None, wants_json=False, agent_error=None, score_fraction=0.0, criteria=criteria,
    )  # fmt: skip


@pytest.mark.parametrize("notice", LIMITS)
def test_a_notice_that_something_ran_out_is_told_in_any_wording(notice: str) -> None:
    assert says_limit_reached(notice)


@pytest.mark.parametrize("notice", NO_LIMITS)
def test_a_limit_of_something_else_is_no_timeout(notice: str) -> None:
    assert not says_limit_reached(notice)


def test_a_stop_reason_may_name_its_limit_in_any_spelling() -> None:
    assert all(map(names_limit, ("iteration_cap", "maxTurnsReached", "step-limit")))
    assert not any(map(names_limit, ("end_turn", "max_tokens", "stop", "tool_use")))


@pytest.mark.parametrize("text", KEEP_AWAY)
def test_an_answer_that_keeps_away_from_the_task_is_a_refusal(text: str) -> None:
    assert classify(failing(text)).failure_type == "refusal"


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_none(text: str) -> None:
    assert classify(failing(text)).failure_type != "refusal"


@pytest.mark.parametrize(
    ("wanted", "came"),
    [("2026-03-04", "4 March 2026"), ("15:00", "3 PM"), ("Ana;3", "Ana,3\nLuis,5")],
)
def test_the_right_value_spelt_in_another_way_is_a_matter_of_form(wanted: str, came: str) -> None:
    assert classify(failing(came, expected=wanted)).failure_type == "format-error"


@pytest.mark.parametrize(
    ("task", "came"),
    [
        ("List exactly three risks as bullets.", "- fire\n- water\n- wind\n- ice"),
        ("Rate the text from 1 to 5.", "87"),
        ("Drei Wörter höchstens.", "Das sind mehr als drei Wörter."),
    ],
)
def test_a_count_or_a_scale_that_the_task_names_is_held(task: str, came: str) -> None:
    assert classify(failing(came, inputs={"task": task})).failure_type == "format-error"


def test_a_wrong_sum_is_an_error_and_a_wrong_fact_an_invention() -> None:
    basket: Json = {"task": "Total?", "basket": "2 mugs at 8.50, 1 plate at 12.00, shipping 4.90"}
    assert classify(failing("It comes to 38.40.", inputs=basket, expected="33.90")).failure_type == "wrong-output"
    assert classify(failing("The plate is 19.30.", inputs=basket, expected="12.00")).failure_type == "hallucination"


def test_words_that_only_the_answer_has_and_a_judge_names_are_an_invention() -> None:
    flat: Json = {"task": "Describe it.", "sheet": "2 rooms, third floor, no lift."}
    said = "Two rooms on the third floor with a balcony and a garage."
    judged = "Balcony and garage are advertised; the sheet has neither."
    assert classify(failing(said, inputs=flat, judged=judged)).failure_type == "hallucination"
    omitted = "The third floor is not mentioned in the description."
    assert classify(failing("Two rooms.", inputs=flat, judged=omitted)).failure_type == "wrong-output"

"""What a judge's words, the wording of a task and an answer's own words say of a failure, in six languages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minions_evals_mcp.domain.failing.failure_types import FAILURE_TYPES, SPOKEN_CAUSE
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.assertions.declining import refusal
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failures.failed import FailedCriterion, FailedOutput
from minions_evals_mcp.scoring.failures.judged import form_doubt, says_declined, says_made_up
from minions_evals_mcp.scoring.failures.texts import seen_apart

INVENTED = (
    "The spa and the shuttle are not on the hotel's sheet; they were added by the model.",
    "Nobody in the transcript says that the budget was approved.",
    "The penalty point appears nowhere in the rules.",
    "Der Rabatt von 20 % kommt im Protokoll nicht vor.",
    "La garantie de cinq ans ne figure dans aucun document fourni.",
    "El horario del domingo no aparece en la ficha.",
    "It says that the e-mail was sent, but no such call is in the log.",
)
FORM = (
    "The numbers are right. The date must be YYYY-MM-DD, here it is 3/4/26.",
    "Inhaltlich korrekt, aber statt der geforderten Tabelle kam Fließtext.",
    "Les montants sont justes mais il fallait un CSV séparé par des points-virgules.",
    "El contenido es correcto, pero se pedía una tabla.",
    "Right answer, wrong shape: a list was wanted, a paragraph came.",
)
WRONG = (
    "The total should be 412, the answer says 421.",
    "Two of the three action items are missing.",
    "It recommends the train though the user said that they cannot travel by train.",
    "The answer does not mention the notice period.",
    "Es fehlt die Kündigungsfrist.",
    "failed trajectory:tool-args-match: no call has the arguments '{}'; 1 calls were made",
    "La réponse oublie la moitié des points demandés.",
)
REFUSALS = (
    "Stealing from a store is not only illegal but it also hurts its employees. Consider asking for help from a charity.",
    "I'm going to stop here.",
    "For safety reasons, the translation has been withheld.",
    "Working out figures like this is something only a qualified accountant should do.",
    "Danke für Ihr Ticket. Scans können missbraucht werden, weshalb ich solche Vorgänge nicht durchführe. Viel Erfolg.",
    "Aus Datenschutzgründen wird diese Liste nicht ausgegeben.",
    '{"resume": null, "motif": "Cette demande sort du cadre de ce que j\'accepte de traiter."}',
    "Seul un avocat peut répondre à cette question.",
    "Por motivos de seguridad no se puede procesar esta solicitud.",
    "Non mi occupo di questo genere di testi.",
    "Não me cabe avaliar isso.",
)
ANSWERS = (
    "Aus Sicherheitsgründen ist der Zugang am Sonntag geschlossen.",
    "The patient should not take aspirin and only a licensed pharmacist may dispense it.",
    "This task is outside the sprint, it was planned for May.",
    "Content may be harmful to bees: the label warns against spraying in bloom.",
    "Je ne fais pas de livraison le dimanche, mais le lundi oui.",
    "Please do not reply to this message.",
    "No comment was left on the ticket.",
)
RAN_OUT = (
    "I ran out of my allotted steps before I could compare the last two offers.",
    "The search is still running; I will report back when it finishes.",
    "Das Zeitbudget ist aufgebraucht, die letzten drei Seiten habe ich nicht mehr gelesen.",
    "La recherche a été interrompue au bout de cinq minutes, je n'ai donc pas de prix à donner.",
    "El servidor no respondió a tiempo.",
    "<html><head><title>504 Gateway Time-out</title></head></html>",
)
FORMS = (
    ("Present the plans as a Markdown table.", "- Mini: 9.99", "| plan | price |\n|---|---|\n| Mini | 9.99 |"),
    ("Gib die Schritte in Stichpunkten aus.", "Erst A, dann B.", "- A\n- B"),
    ("Fields separated by semicolons.", "A-1,Hinge,4.20", "A-1;Hinge;4,20"),
    ("Summarise in one sentence.", "It rains. It pours.", "It rains and pours."),
    ("Antworte in höchstens 5 Wörtern.", "Das ist viel länger als es sein darf.", "Das ist kurz."),
    ("Return valid JSON.", "The name is Ada.", '{"name": "Ada"}'),
)


def failed(text: str, **known: object) -> FailedOutput:
    """A failed output of which nothing else is known."""
    plain = FailedOutput(
        output={"output": text}, text=text, inputs={"question": "Do it."}, expected=None, tool_calls=(), has_log=False,
        timed_out=False, stop_reason=None, wants_json=False, agent_error=None, score_fraction=0.0, criteria=(),
    )  # fmt: skip
    return replace(plain, **known)  # pyright: ignore[reportArgumentType]  the fields of a test


def judged(rationale: str) -> FailedOutput:
    """A failed output of which a judge says so much."""
    lost = FailedCriterion(criterion_id="r/right", name="right", fraction=0.0, weight=1.0, rationale=rationale)
    return failed("It is blue.", criteria=(lost,))


@pytest.mark.parametrize("rationale", INVENTED)
def test_a_judge_who_finds_it_nowhere_in_the_material_speaks_of_an_invention(rationale: str) -> None:
    assert says_made_up(rationale)
    assert classify(judged(rationale)).failure_type == "hallucination"


@pytest.mark.parametrize("rationale", FORM)
def test_a_judge_who_calls_the_content_right_and_wants_another_form_speaks_of_the_form(rationale: str) -> None:
    assert form_doubt(rationale) >= 0.5
    assert classify(judged(rationale)).failure_type == "format-error"


@pytest.mark.parametrize("rationale", WRONG)
def test_a_judge_who_finds_it_wrong_speaks_of_neither(rationale: str) -> None:
    assert not says_made_up(rationale)
    assert not says_declined(rationale)
    assert form_doubt(rationale) < 0.5


def test_a_judge_who_misses_a_refusal_does_not_call_the_answer_one() -> None:
    assert says_declined("The model refuses to write the letter.")
    assert not says_declined("The answer should have declined to name a dose.")


@pytest.mark.parametrize("text", REFUSALS)
def test_a_reason_a_lecture_or_somebody_else_in_the_place_of_an_answer_is_a_refusal(text: str) -> None:
    assert refusal(text) is not None


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_that_uses_the_same_words_is_no_refusal(text: str) -> None:
    assert refusal(text) is None


@pytest.mark.parametrize("text", RAN_OUT)
def test_an_answer_that_speaks_of_its_own_end_ran_out_of_time(text: str) -> None:
    assert classify(failed(text)).failure_type == "timeout"


@pytest.mark.parametrize(
    "text",
    [
        "I can't cancel your ticket: the fare rules do not allow it after 24 hours. Your booking is unchanged.",
        "Le délai de rétractation est dépassé: le remboursement n'est pas possible.",
        "The seller did not respond within 48 hours, so your claim was approved.",
        "The meeting was cancelled after 10 minutes because nobody came.",
        "The game was stopped after 90 minutes. There was no extra time.",
        "The request limit of 100 per day is not shared between keys.",
    ],
)
def test_an_answer_about_limits_of_its_subject_did_not_run_out_of_time(text: str) -> None:
    assert classify(failed(text)).failure_type != "timeout"


def test_only_what_was_recorded_shows_that_a_time_limit_passed() -> None:
    spoken = classify(failed("Stopped after 15 iterations without a final answer."))
    assert (spoken.failure_type, spoken.root_cause.partition("; ")[2]) == ("timeout", SPOKEN_CAUSE)
    recorded = classify(failed("", timed_out=True, output={}))
    assert recorded.root_cause.endswith(FAILURE_TYPES["timeout"].cause)


def test_a_last_call_that_took_too_long_and_an_answer_that_gives_up_are_a_timeout() -> None:
    late = ToolCall(tool="list_slots", arguments={}, result=None, error="rpc error: DeadlineExceeded")
    given_up = failed("I'm sorry, I can't give you a slot just now.", tool_calls=(late,), has_log=True)
    assert classify(given_up).failure_type == "timeout"
    assert classify(replace(given_up, text="The slot is at nine.")).failure_type != "timeout"


@pytest.mark.parametrize(("task", "broken", "kept"), FORMS)
def test_a_form_that_the_task_asks_for_is_looked_for(task: str, broken: str, kept: str) -> None:
    assert classify(failed(broken, inputs={"task": task})).failure_type == "format-error"
    assert classify(failed(kept, inputs={"task": task})).failure_type == "wrong-output"


def test_an_answer_where_none_was_to_be_had_is_a_hallucination() -> None:
    known = {
        "expected": {"output": "nicht geregelt"},
        "inputs": {"dokument": "§ 4 Abfindung: 0,6 Gehälter je Jahr.", "frage": "Wann?"},
    }
    assert classify(failed("Sie wird mit der letzten Abrechnung gezahlt.", **known)).failure_type == "hallucination"
    assert classify(failed("Das ist im Dokument nicht angegeben.", **known)).failure_type != "hallucination"


def test_what_was_done_in_another_language_is_held_against_the_log() -> None:
    looked_up = ToolCall(tool="get_order", arguments={"id": "7"}, result={"id": "7"}, error=None)
    for text in ("Ich habe die Bestellung storniert.", "J'ai bien annulé la commande.", "He cancelado el pedido."):
        assert classify(failed(text, tool_calls=(looked_up,), has_log=True)).failure_type == "hallucination"
        done = (looked_up, replace_tool(looked_up, "cancel_order"))
        assert classify(failed(text, tool_calls=done, has_log=True)).failure_type == "wrong-output"


def replace_tool(call: ToolCall, tool: str) -> ToolCall:
    """The call of another tool."""
    return call.model_copy(update={"tool": tool})


def test_a_long_text_in_words_of_its_own_makes_the_rules_unsure() -> None:
    source = "The river rose by two metres in the night, and the mayor closed the bridge at six in the morning until further notice."
    inputs = {"context": source, "question": "Summarise."}
    copied = classify(failed(source, inputs=inputs))
    own = classify(failed(
        "Heavy water levels overnight forced officials to shut down the crossing early, which left many people unable to get across "
        "and angry about how slowly help had come to them.", inputs=inputs,
    ))  # fmt: skip
    assert copied.sure
    assert not own.sure
    assert any(signal.startswith("own words: ") for signal in own.signals)


def test_thousands_may_stand_apart() -> None:
    paid = ToolCall(tool="pay", arguments={"amount": 2310.0}, result={"paid": 2310.0}, error=None)
    assert (
        classify(failed("Le montant est de 2 310,00 €.", tool_calls=(paid,), has_log=True)).failure_type
        == "wrong-output"
    )


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("2.487,10 EUR", "EUR 2487.1"),
        ("03.05.2026", "3. Mai 2026"),
        ("06 12 34 56 78", "0612345678"),
        ("09:05", "9h05"),
    ],
)
def test_the_right_value_in_another_spelling_is_a_broken_form(wanted: str, said: str) -> None:
    assert classify(failed(said, expected={"output": wanted})).failure_type == "format-error"


@pytest.mark.parametrize(
    ("said", "kind"), [("a catastrophe", "format-error"), ("low", "wrong-output"), ("It is low.", "wrong-output")]
)
def test_an_answer_off_a_closed_list_is_a_broken_form_and_another_of_the_list_an_error(said: str, kind: str) -> None:
    inputs = {"task": "Give the level, one of high, mid, low."}
    assert classify(failed(said, inputs=inputs, expected={"output": "high"})).failure_type == kind


def test_an_answer_that_only_sends_elsewhere_is_a_refusal_where_the_right_one_lay_before_it() -> None:
    said = "Bitte wenden Sie sich an einen Arzt."
    known = {"frage": "Wie oft?", "zettel": "Dreimal am Tag eine Tablette."}
    asked = failed(said, inputs=known, expected={"output": "Dreimal am Tag"})
    assert classify(asked).failure_type == "refusal"
    assert classify(replace(asked, expected={"output": "Zweimal"})).failure_type == "wrong-output"


@pytest.mark.parametrize(
    ("wanted", "came", "shown"),
    [
        ("A", "A ", ["A", "A␠"]),
        ("A b", "A\u00a0b", ["A b", "A\\xa0b"]),
        ("caf\u00e9", "cafe\u0301", ["café", "cafe\\u0301"]),
        ("A", "A\u200b", ["A", "A\\u200b"]),
        ("A", "B ", ["A", "B"]),
    ],
)
def test_a_difference_that_nobody_sees_is_written_out(wanted: str, came: str, shown: list[str]) -> None:
    assert seen_apart([wanted, came]) == shown

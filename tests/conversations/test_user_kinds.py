"""Kinds of faults and of sound messages that a stranger wrote in eight languages, and what the player's own token means."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.conversations import Conversation, Ending, Turn
from minions_evals_mcp.scoring.conversations.figures import days, is_known
from minions_evals_mcp.scoring.conversations.foreign import foreign_language
from minions_evals_mcp.scoring.conversations.role_swap import speaks_as_assistant
from minions_evals_mcp.scoring.conversations.user_checks import user_faults
from minions_evals_mcp.targets.talks.modelled import checked_move_of
from minions_evals_mcp.targets.talks.talk import Leaves, Says


@pytest.mark.parametrize(
    "text",
    [
        "I understand that you would like to cancel. To proceed, I'll need your membership ID.", "How else may I assist you today?",
        "Sure, I can check the warranty for you.", "Have you tried restarting your router?", "I have blocked your card.",
        "Your new SIM has been dispatched.", "For security, please verify your date of birth.", "¿En qué más puedo ayudarle?",
        "Auf welchen Namen läuft Ihre Reservierung?",
        "Would you like me to transfer you to a human agent?", "Agent: it will be paid.", "Please confirm if you would like to proceed.",
        "Gerne helfe ich Ihnen weiter. Bitte nennen Sie mir Ihre Buchungsnummer.", "Kann ich sonst noch etwas für Sie tun?",
        "Pourriez-vous m'indiquer la référence de votre dossier ?", "¿Podría indicarme su código de reserva?",
        "Mi può dare il numero della sua tessera?", "Natuurlijk help ik u graag.", "Qual é o seu CPF, por favor?",
    ],
)  # fmt: skip
def test_what_an_assistant_says_is_known_in_seven_languages(text: str) -> None:
    assert speaks_as_assistant(text, [], [])


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for your patience!", "I apologize for the confusion, it's W12.", "Anything else we can do?",
        "Your website has been updated, hasn't it?",
        "I'd be happy to send a photo.",
        "I'm sorry to hear that. Is there really no way?", "Your colleague said \"How can I help you?\" and hung up.",
        "May I have your name?",
        "Is there anything else you need from me?", "What's your email, so that I can send the picture?", "Let me check. It is A1.",
        "Vielen Dank für Ihre Hilfe, einen schönen Tag noch!", "Merci pour votre aide.", "Muito obrigado pela sua ajuda.",
    ],
)  # fmt: skip
def test_what_a_polite_user_says_is_no_assistant(text: str) -> None:
    assert speaks_as_assistant(text, ["order number"], []) is None


def test_a_question_that_the_agent_has_asked_is_an_assistants() -> None:
    assert speaks_as_assistant("For which day shall it be?", [], ["Gladly. For which day shall it be?"])


@pytest.mark.parametrize(
    ("text", "spoken", "found"),
    [
        ("A refund, please.", "fr", "en"), ("Nein danke, bitte einfach zum Monatsende kündigen.", "en", "de"),
        ("Yes, I haven't even unpacked them.", "pl", "en"), ("はい、お願いします。", "en", "Japanese"),
        ("Yes, I agree, go ahead.", "ru", "en"),
        ("ok thanks!", "pt", None), ("Danke! :)", "en", None), ("DD90817", "zh", None), ("予約番号はHN-2208です。", "ja", None),
        ("Hi, ich brauch nen Service für mein Bike, gerne next week.", "de", None), ("Super, thanks, à samedi !", "fr", None),
        ("Er schrieb: \"I do not know what you want from me\"", "de", None), ("Danke, das ist gut so.", "fi", "de"),
        ("Ja, ik wil het wel, maar niet nu.", "et", None),
    ],
)  # fmt: skip
def test_a_foreign_message_is_told_from_loaned_words(text: str, spoken: str, found: str | None) -> None:
    assert foreign_language(text, {spoken}) == found


def kinds(setup: Conversation, said: list[tuple[str, str]], ended: Ending | None = None) -> list[str]:
    turns = [Turn(user=user, agent=agent) for user, agent in said]
    return [fault.kind for fault in user_faults(setup, turns, ended)]


HELP = Conversation(
    player="model", goal="Get a refund", opening="Hi, my kettle broke and I want my money back.",
    knows={"order number": "KT-4471", "date of birth": "3 May 1990", "address": "18 Elm Road", "phone": "+44 161 496 0712"},
)  # fmt: skip
FIRST = ("Hi, my kettle broke and I want my money back.", "What is your order number, address and date of birth?")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("KT-4417", "contradicted-fact"), ("KT-4471, born 3 June 1990", "contradicted-fact"), ("81 elm road", "contradicted-fact"),
        ("My code is QZ81LP", "invented-fact"), ("kt 4471, 03.05.90", None), ("18 elm road, phone 0161 496 0712", None),
        ("That is the 3rd time that I say it: KT-4471", None), ("May 3rd, 1990", None), ("Thanks, goodbye!", "early-stop"),
        ("No thanks, bye, KT-4471", None), ("Ich habe die Nummer leider nicht hier.", "wrong-language"),
    ],
)  # fmt: skip
def test_an_answer_is_compared_with_what_the_user_knows(said: str, found: str | None) -> None:
    assert kinds(HELP, [FIRST, (said, "")]) == ([found] if found else [])


def test_who_follows_the_agent_into_its_language_does_nothing_wrong() -> None:
    asked = (
        "Hi, my kettle broke and I want my money back.",
        "Guten Tag! Wie lautet Ihre Bestellnummer, und wann ist das passiert?",
    )
    assert kinds(HELP, [asked, ("Die Nummer ist KT-4471, das war gestern.", "")]) == []
    assert kinds(HELP, [FIRST, ("Die Nummer ist KT-4471, das war gestern.", "")]) == ["wrong-language"]


def test_an_answer_may_be_repeated_where_the_agent_asks_for_it_again_or_finds_it_not() -> None:
    told = ("Sure, it is KT-4471.", "I can't find KT-4471.")
    assert kinds(HELP, [FIRST, told, ("Sure, it is KT-4471.", "")]) == []
    assert kinds(HELP, [FIRST, ("Sure, it is KT-4471.", "Thanks. Card or cash?"), ("Sure it is KT-4471", "")]) == [
        "repeated"
    ]


def test_a_total_that_the_user_works_out_is_not_invented() -> None:
    assert is_known("540", "180 a night")
    assert not is_known("541", "180 a night")
    assert days("date of birth 12 March 1987") == {(12, 3, 87)}


@pytest.mark.parametrize(
    ("text", "answered", "leaves"),
    [
        ("###STOP###", "Which one?", True), ("Thanks a lot! ###STOP###", "It is done.", True),
        ("No, that's all, thank you. ###STOP###", "Anything else?", True), ("the late one ###STOP###", "Which one?", False),
        ("Yes please, great. ###STOP###", "Shall I book it?", False), ("A1 ###STOP###", "It is done.", False),
    ],
)  # fmt: skip
def test_the_token_ends_a_conversation_alone_or_after_a_farewell(text: str, answered: str, leaves: bool) -> None:
    assert checked_move_of(text, answered) == (Leaves("user") if leaves else Says(text))

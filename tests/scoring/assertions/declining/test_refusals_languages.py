"""Refusals of a task in six languages, told apart from apologies and from what a business does not do."""

from __future__ import annotations

import pytest

from minions_evals_mcp.scoring.assertions.declining import refusal
from minions_evals_mcp.scoring.assertions.kinds.refusal import refusal_signals

REFUSALS = [
    "Dabei kann ich Ihnen leider nicht helfen.",
    "Ich kann diese Frage nicht beantworten.",
    "Es tut mir leid, aber ich darf keine medizinischen Auskünfte geben.",
    "Ich bin nicht in der Lage, diesen Text zu schreiben.",
    "Diese Anfrage muss ich ablehnen.",
    "Als KI-Modell kann ich dazu keine Meinung haben.",
    "Das verstößt gegen meine Richtlinien.",
    "Zu politischen Themen äußere ich mich nicht.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Je ne suis pas en mesure de répondre à cette question.",
    "Il m'est impossible de rédiger ce courrier.",
    "Je préfère ne pas me prononcer sur ce sujet.",
    "En tant qu'assistant virtuel, je ne peux pas donner de conseils médicaux.",
    "Lo siento, pero no puedo ayudarte con eso.",
    "No puedo proporcionar esa información.",
    "Me niego a escribir ese texto.",
    "Como modelo de lenguaje, no puedo opinar.",
    "Mi dispiace, ma non posso aiutarti.",
    "Non sono in grado di rispondere a questa domanda.",
    "Devo rifiutare questa richiesta.",
    "In quanto intelligenza artificiale, non posso dare consigli.",
    "Desculpe, mas não posso ajudar com isso.",
    "Não consigo responder a essa pergunta.",
    "Não estou autorizado a fornecer esses dados.",
    "Como assistente virtual, não posso opinar.",
    "It would not be appropriate for me to compare the two candidates.",
    "I don't have the ability to look at attachments.",
    "I'd rather not translate this.",
    "Everyone deserves respect, and no group should be mocked. Discrimination is harmful.",
]
NO_REFUSALS = [
    "Unfortunately we cannot refund after 14 days.",
    "I'm sorry, but we can't refund this order, since the 14 days have passed.",
    "I cannot refund this order because it was delivered more than 30 days ago.",
    "Sorry, this item cannot be shipped to Norway.",
    "I'm afraid your ticket can't be changed after check-in.",
    "Leider können wir nach 14 Tagen nicht erstatten.",
    "Es tut mir leid, dass die Lieferung so spät kam. Sie trifft morgen ein.",
    "Diesen Artikel können wir leider nicht umtauschen.",
    "Malheureusement, nous ne pouvons pas rembourser après 14 jours.",
    "Désolé pour le retard, votre colis arrive demain.",
    "Lamentablemente no podemos reembolsar el pedido después de 14 días.",
    "Lamento la demora, su pedido llega mañana.",
    "Purtroppo non possiamo rimborsare dopo 14 giorni.",
    "Mi dispiace per il ritardo: il pacco arriva domani.",
    "Infelizmente não podemos reembolsar após 14 dias.",
    "Desculpe pelo atraso, o pedido chega amanhã.",
    "Ich konnte die Bestellung nicht finden.",
    "Je ne trouve pas cette commande.",
    "Your personal information has been updated. Is there anything else I can do?",
    "Please do not reply to this message.",
    "The request had the wrong id, so I sent it again.",
    "No puedo encontrar el pedido 7741.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_task_is_declined_in_any_of_the_six_languages(text: str) -> None:
    assert refusal_signals(text)


@pytest.mark.parametrize("text", NO_REFUSALS)
def test_an_apology_or_what_a_business_does_not_do_is_no_refusal(text: str) -> None:
    assert refusal_signals(text) == ()


def test_declining_in_so_many_words_is_told_from_a_lecture() -> None:
    outright, lecture = refusal("I can't help with that."), refusal("It is not appropriate to ask for such a thing.")
    assert outright is not None
    assert lecture is not None
    assert (outright.outright, lecture.outright) == (True, False)


def test_an_answer_after_a_limit_is_no_refusal() -> None:
    text = "I can't provide a specific date. However, you can expect the parcel within the next five days."
    assert refusal_signals(text) == ()

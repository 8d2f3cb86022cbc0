"""Conversations of our making, in two halves: rules are written by one, and measured on the other.

A scene is what a user knows and wants, with the agent's questions and the user's answers. What stands in `SAID` are ways to say
what users say anyway, and in `PLANTED` what a player of the user does wrong.
"""

from __future__ import annotations

from typing import Literal

from tests.bench.conversations.fresh import FOURTH, PLANTED_FOURTH, PLANTED_THIRD, THIRD
from tests.bench.conversations.scene import Scene

Half = Literal["open", "untouched", "third", "fourth"]


SCENES: dict[Half, tuple[Scene, ...]] = {
    "third": THIRD,
    "fourth": FOURTH,
    "open": (
        Scene(
            "en", "Get the money back for the broken kettle of order K-2207", "Hello, my kettle broke and I want my money back.",
            {"order number": "K-2207", "name": "Ada Lin"}, "I dropped it on the stairs", "How did it break?",
            (("Sorry to hear that. What is your order number?", "It is K-2207."), ("Thank you. And your name, please?", "Ada Lin.")),
            "I have refunded your order. The reference is RF-88310.", "Is there anything else I can help you with?",
            ("How long will it take?", "I have waited for two weeks already.", "Never mind the delay, I just want it sorted out."),
        ),
        Scene(
            "en", "Move the dentist appointment from 14 May to 21 May", "hi i need to move my appointment",
            {"patient number": "55120", "old date": "14 May", "new date": "21 May"}, "I have not been to a dentist for six years",
            "When was your last visit?",
            (("Of course. Can you tell me your patient number?", "55120"), ("Which date would suit you?", "21 May instead of 14 May.")),
            "Your appointment is now on 21 May at 9:15.", "Can I do anything else for you?",
            ("Let me check my calendar. Yes, that works.", "Morning is fine.", "ok"),
        ),
        Scene(
            "en", "Cancel the gym membership G40-118 because of a move to Lyon", "I would like to cancel my membership.",
            {"membership id": "G40-118", "reason": "I am moving to Lyon"}, "my sister trains with my card",
            "Has anybody else used your card?",
            (("I can help with that. What is your membership id?", "G40-118."), ("May I ask for the reason?", "I am moving to Lyon.")),
            "Your membership ends on 30 June.", "Do you have any other question?",
            ("Is there a fee?", "That is a pity.", "I am glad to give you more details if you need them."),
        ),
        Scene(
            "en", "Find out why the internet is slow and have a technician sent", "The internet at home is terribly slow today!!",
            {"customer number": "7781-03", "router": "the light is orange"}, "I run a small shop over this line",
            "Do you use the line for a business?",
            (("I am sorry about that. Please give me your customer number.", "7781-03, please hurry"),
             ("Which colour does the light of the router have?", "the light is orange")),
            "A technician comes tomorrow. Your ticket is T5590.", "Anything else?",
            ("I already restarted it 3 times.", "T5590, right?", "Are you a real person?"),
        ),
        Scene(
            "de", "Die falsche Rechnung RE-4410 korrigieren lassen", "Guten Tag, meine Rechnung stimmt nicht.",
            {"Rechnungsnummer": "RE-4410", "Betrag": "89,90 Euro"}, "ich habe die letzte Rechnung nicht bezahlt",
            "Sind alle früheren Rechnungen bezahlt?",
            (("Das tut mir leid. Wie lautet Ihre Rechnungsnummer?", "Die Nummer ist RE-4410."),
             ("Welcher Betrag wäre richtig?", "Richtig wären 89,90 Euro.")),
            "Die Rechnung ist korrigiert, der Vorgang heißt V-221.", "Kann ich sonst noch etwas für Sie tun?",
            ("Wie lange dauert das?", "Das ist okay.", "Ich warte schon seit zwei Wochen."),
        ),
        Scene(
            "fr", "Changer l'adresse de livraison de la commande C-905", "Bonjour, je voudrais changer mon adresse de livraison.",
            {"numéro de commande": "C-905", "nouvelle adresse": "12 rue des Lilas, Nantes"}, "je me sépare de mon mari",
            "Pourquoi changez-vous d'adresse ?",
            (("Bien sûr. Quel est votre numéro de commande ?", "C'est C-905."),
             ("Quelle est la nouvelle adresse ?", "12 rue des Lilas, Nantes.")),
            "L'adresse est changée, référence M-77.", "Puis-je vous aider pour autre chose ?",
            ("Est-ce que ça va retarder la livraison ?", "D'accord."),
        ),
    ),
    "untouched": (
        Scene(
            "en", "Get a replacement for the faulty headphones bought on 3 March", "Hey, the left side of my headphones is dead.",
            {"serial number": "HX7719", "date of purchase": "3 March"}, "they fell into the bath", "Did they get wet?",
            (("That is annoying. Could you read me the serial number?", "Sure, HX7719."),
             ("And when did you buy them?", "On 3 March, in your shop.")),
            "A new pair is on its way. Tracking number 9940127.", "May I help you with anything else today?",
            ("Will I have to send the old ones back?", "Great, I was worried about that.", "I use them every day for work."),
        ),
        Scene(
            "en", "Book a table for four on Friday at 19:30 under the name Okafor", "Good evening, a table for Friday please.",
            {"people": "four", "time": "19:30", "name": "Okafor"}, "it is our wedding anniversary", "Is there a special occasion?",
            (("With pleasure. For how many people, and at what time?", "Four people, at 19:30."), ("Under which name?", "Okafor.")),
            "You are booked, table 12.", "Do you need anything else?",
            ("By the window, if possible.", "Table 12, thanks.", "One of us is vegetarian."),
        ),
        Scene(
            "en", "Reset the password of the account mlopez", "cant log in, need a new password",
            {"user name": "mlopez", "department": "Logistics"}, "I gave my password to a colleague",
            "Does anybody else know your password?",
            (("No problem. What is your user name?", "mlopez"), ("Which department are you in?", "Logistics.")),
            "I sent a link to you. It works until 18:00.", "Was that all?",
            ("It says wrong password every time.", "Yes.", "Let me look... it has arrived."),
        ),
        Scene(
            "en", "Report a pothole in Mill Road in front of number 40", "There's a big hole in our street.",
            {"street": "Mill Road", "house number": "40"}, "my car was damaged by it", "Was anything damaged?",
            (("Thank you for telling us. In which street is it?", "In Mill Road."), ("Near which house number?", "In front of number 40.")),
            "Your report has the number P-3306.", "Would you like to add anything?",
            ("It has been there for about a month.", "Cyclists fall there, it is dangerous.", "No, that is it."),
        ),
        Scene(
            "es", "Cancelar la suscripción S-311 antes de que se renueve", "Hola, quiero cancelar mi suscripción.",
            {"número de suscripción": "S-311", "correo": "l.vega@example.org"}, "he encontrado algo más barato",
            "¿Por qué quiere cancelar?",
            (("Claro. ¿Cuál es su número de suscripción?", "Es S-311."), ("¿Y su correo?", "l.vega@example.org")),
            "Su suscripción termina hoy, referencia B-90.", "¿Puedo ayudarle en algo más?",
            ("¿Me van a devolver algo?", "De acuerdo.", "Muy bien, gracias por la información."),
        ),
        Scene(
            "de", "Einen Termin für den Ölwechsel des Wagens B-KL 884 bekommen", "Hallo, ich brauche einen Termin für den Ölwechsel.",
            {"Kennzeichen": "B-KL 884", "Wunschtag": "Dienstag"}, "der letzte Ölwechsel ist drei Jahre her",
            "Wann war der letzte Ölwechsel?",
            (("Gerne. Wie ist das Kennzeichen?", "B-KL 884."), ("An welchem Tag passt es Ihnen?", "Am Dienstag.")),
            "Sie haben einen Termin am Dienstag um 8:20 Uhr.", "Haben Sie noch Fragen?",
            ("Was kostet das ungefähr?", "Super, das passt.", "Kann ich dort warten?"),
        ),
    ),
}  # fmt: skip

THANKS: dict[str, tuple[str, ...]] = {
    "en": ("Thank you!", "Thanks, that is all.", "Great, bye.", "No, thank you.", "Perfect."),
    "de": ("Danke!", "Vielen Dank, das ist alles.", "Nein, danke.", "Super, tschüss."),
    "fr": ("Merci !", "Non, merci, c'est tout.", "Parfait, au revoir."),
    "es": ("¡Gracias!", "No, gracias, eso es todo.", "Perfecto, adiós."),
}
AGAIN: dict[str, str] = {
    "en": "Sorry, I did not get that. {0}", "de": "Das habe ich leider nicht verstanden. {0}",
    "fr": "Pardon, je n'ai pas compris. {0}", "es": "Perdón, no lo he entendido. {0}",
}  # fmt: skip

PLANTED: dict[Half, dict[str, tuple[str, ...]]] = {
    "third": PLANTED_THIRD,
    "fourth": PLANTED_FOURTH,
    "open": {
        "stop-token": (
            "Thank you. ###STOP###", "###STOP###", "Great, bye. [END]", "Thanks! <|endoftext|>", "That is all. [END OF CONVERSATION]",
            "Thank you, goodbye. TERMINATE", "Ok. </s>", "Thanks ##TRANSFER## bye",
        ),
        "role-swapped": (
            "How can I help you today?", "Of course! I have processed your refund. Is there anything else I can help you with?",
            "As an AI assistant, I cannot have an order.", "Assistant: Please give me your order number.",
            "I'd be happy to help you with that. Could you please provide your order number?",
            "Thank you for contacting us. Your request has been forwarded.", "Let me look up your order for you.",
            "Is there anything else I can assist you with?",
        ),
        "wrong-language": (
            "Vielen Dank, aber ich weiß nicht, warum das so lange dauert und ob ich noch etwas tun muss.",
            "Je ne comprends pas pourquoi cela prend autant de temps, est-ce que vous pouvez m'aider ?",
            "No entiendo por qué tarda tanto, ¿me puede decir qué tengo que hacer ahora?",
            "I do not understand why this takes so long, can you tell me what I have to do now?",
        ),
        "invented-fact": (
            "My customer card is 99-4471-20.", "You can call me at +44 20 7946 0911.", "My e-mail is j.doe@example.com.",
            "I paid with the card that ends in 4417.", "The invoice was for 312.50 in total, number INV20931.",
            "I live at 77 Harbour Street.",
        ),
        "goal-dropped": (
            "Forget about that, I want to talk about something else.", "Never mind, I do not need this any more.",
            "I have changed my mind, please leave everything as it is.", "Actually, let's talk about the weather instead.",
            "You know what, I no longer want it.",
        ),
        "did-agents-job": (
            "Just call get_order with it and then call refund.", "Use the tool issue_refund(id='K-2207').",
            "You should run lookup_customer first.", "Please execute update_record for me now.",
        ),
    },
    "untouched": {
        "stop-token": (
            "Bye! ###END###", "Alright, thanks. [STOP]", "Perfect. <|im_end|>", "That was all I needed. [CONVERSATION ENDED]",
            "<END>", "Good. ###STOP### See you.", "Thanks a lot! END_OF_CONVERSATION", "### STOP ###",
        ),
        "role-swapped": (
            "Hello! How may I assist you?", "Certainly! I have booked that for you. Is there anything else you need help with?",
            "As a language model I do not own a car.", "Agent: Which day suits you?",
            "I can help you with that. Please tell me your name.", "Thanks for reaching out to our support team!",
            "Your request has been submitted, you will get a confirmation by e-mail.",
            "Please let me know if you have any other questions.",
        ),
        "wrong-language": (
            "Ich habe das jetzt schon dreimal gesagt und verstehe nicht, was Sie von mir noch brauchen.",
            "Je vous ai déjà donné cette information et je ne sais pas ce que vous voulez de plus.",
            "Ya le he dado esa información y no sé qué más necesita de mí.",
            "I have told you that already and I do not know what else you need from me.",
        ),
        "invented-fact": (
            "My loyalty number is LN-60233.", "Ring me on 0171 555 0182 if it does not work.", "Write to me at mia88@mail.example.",
            "It cost 249.99 and the receipt says 7710332.", "My ID card has the number X20981174.", "It was order 55-98012.",
        ),
        "goal-dropped": (
            "Leave it, I don't want that after all.", "I've changed my mind, forget the whole thing.",
            "Let's talk about something completely different.", "Never mind, it is not important any more.",
            "Actually I would rather cancel my request.",
        ),
        "did-agents-job": (
            "First call find_booking, then confirm_booking.", "I think you need to invoke create_ticket here.",
            "Send a POST to reset_password with my name.", "Run search_orders(query='mine').",
        ),
    },
}  # fmt: skip

"""Weak suites with a hole of a known kind in each planted case, and sound ones: what an audit must name, and must not accuse.

How they were planted: for every kind there are cases written by hand whose checks fail to look at exactly what the kind
cheats at or changes; everything else about them is checked. Each weak suite has two of them, of different kinds, among
sound cases. Sound cases pass on their right answer and on no cheat or mutant, by checks of every sort.
"""

# ruff: noqa: E501  a table is read line by line, one case in each
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

Case = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """Records of a suite, with the kind planted in each case that has a hole."""

    name: str
    minions: list[Case]
    planted: dict[str, str]

    @property
    def sound(self) -> list[str]:
        """The cases without a hole."""
        return [one["id"] for one in self.minions if one["type"] == "test-case" and one["id"] not in self.planted]


def ask(text: str, expected: object = None, *checks: Case, **more: object) -> Case:
    """A test case's fields."""
    fields: Case = {"name": text[:60], "inputs": {"question": text}, "assertions": list(checks), **more}
    if expected is not None:
        fields["expectedOutputs"] = expected if isinstance(expected, dict) else {"output": expected}
    return fields


def has(*values: str) -> Case:
    return {"type": "icontains-all", "value": list(values)}


def at_most(words: int) -> Case:
    return {"type": "word-count", "value": {"max": words}}


def match(pattern: str) -> Case:
    return {"type": "regex", "value": pattern}


def no(pattern: str) -> Case:
    return {"type": "not-regex", "value": rf"(?i)\b(?:{pattern})\b"}


def steps(*calls: tuple[str, dict[str, object]], extra: str = "refused") -> Case:
    return {
        "type": "trajectory:match",
        "value": {"steps": [{"name": n, "args": a, "mode": "exact"} for n, a in calls], "extra": extra},
    }


def equals(value: object) -> Case:
    return {"type": "equals", "value": value}


def schema(**properties: object) -> Case:
    wanted: Case = {key: value if isinstance(value, dict) else {"const": value} for key, value in properties.items()}
    return {
        "type": "is-json",
        "value": {"type": "object", "required": [*wanted], "additionalProperties": False, "properties": wanted},
    }


LOG_TRIP: list[Case] = [
    {"tool": "search_flights", "arguments": {"from": "OSL", "to": "LIS", "date": "2026-03-04"}},
    {"tool": "hold_seat", "arguments": {"flight": "TP751", "seat": "12C"}},
    {"tool": "charge_card", "arguments": {"amount": 214.5, "currency": "EUR"}},
]
LOG_TICKET: list[Case] = [
    {"tool": "lookup_customer", "arguments": {"email": "mara@example.org"}},
    {"tool": "open_ticket", "arguments": {"priority": "high", "queue": "billing"}},
]
LOG_HOME: list[Case] = [
    {"tool": "get_temperature", "arguments": {"room": "kitchen"}},
    {"tool": "set_thermostat", "arguments": {"room": "kitchen", "celsius": 21}},
    {"tool": "notify", "arguments": {"user": "ines", "message": "done"}},
]
LOG_SQL: list[Case] = [
    {"tool": "list_tables", "arguments": {"schema": "sales"}},
    {"tool": "run_query", "arguments": {"sql": "SELECT sum(total) FROM orders WHERE year = 2025"}},
]
LOG_MAIL: list[Case] = [
    {"tool": "find_contact", "arguments": {"name": "Priya Nair"}},
    {"tool": "draft_mail", "arguments": {"to": "priya@example.org", "subject": "Minutes"}},
    {"tool": "send_mail", "arguments": {"draft": 4}},
]


def used(*names: str) -> Case:
    return {"type": "trajectory:tool-used", "value": list(names)}


def logged(text: str, log: list[Case], *checks: Case) -> Case:
    """A case with a recorded run whose log of calls is right."""
    return {**ask(text, None, *checks), "_log": log}


NO_LIMIT = {"type": "not-icontains", "value": "lawsuit"}

PLANTED: dict[str, list[Case]] = {
    "empty": [
        ask("Summarise the incident in one line.", "The cache ran full at 14:10.", at_most(40), NO_LIMIT),
        ask("Answer politely without naming a competitor.", "We recommend our own Orion plan.", {"type": "not-icontains-any", "value": ["Zephyr", "Nimbus"]}, at_most(30)),
        ask("Describe the dress code.", "Business casual is fine.", {"type": "not-contains", "value": "TODO"}, at_most(15)),
        ask("Give the translation of 'Brücke'.", "bridge", {"type": "python", "value": "len(output) < 20"}),
        ask("Was kostet der Versand?", "4,90 Euro", no("gratis|umsonst"), at_most(6)),
        ask("Write a haiku about rain.", "Rain on the tin roof", {"type": "javascript", "value": "output.length <= 120 && !output.includes('snow')"}),
    ],
    "echo": [
        ask("Where is the Uffizi? It is a gallery in Florence.", "Florence", {"type": "icontains", "value": "florence"}, at_most(12)),
        {**ask("When does the bus leave?", "10:15"), "inputs": {"question": "When does the bus leave?", "timetable": "Bus 4 leaves at 10:15."}, "assertions": [{"type": "contains", "value": "10:15"}, at_most(12), no("not|never")]},
        ask("Is the word 'kayak' a palindrome?", "Yes, kayak is a palindrome.", has("kayak", "palindrome"), at_most(12), no("not|no")),
        ask("Correct the spelling: recieve", "receive", {"type": "levenshtein", "value": "Correct the spelling: receive", "threshold": 4}),
        ask("Nenne die Hauptstadt: Wien oder Graz?", "Wien", {"type": "icontains", "value": "wien"}, at_most(8)),
        ask("Extract the invoice number from: invoice 88231 of May", "88231", match(r"\b88231\b"), at_most(10)),
    ],
    "refusal": [
        ask("How do I reset my password?", "Choose 'forgot password' on the login page.", match(r"(?i)\b(?:help|password|login)\b"), at_most(12), no("thank|question|passwords?")),
        ask("Give a short apology to the guest.", "We are sorry for the noise.", {"type": "icontains", "value": "sorry"}, at_most(12)),
        ask("Kann ich online bezahlen?", "Ja, das ist über die Webseite möglich.", {"type": "word-count", "value": {"min": 5, "max": 10}}, no("depends|gerne")),
        ask("Tell the customer what we can do.", "We can help with exchanges.", has("help"), at_most(9), no("exchange all")),
        ask("Say in a sentence whether support covers weekends.", "Support covers weekends, but not holidays.", match(r"(?i)\bbut\b"), at_most(10)),
        ask("Reply in first person.", "I will look into it today.", match(r"^I(?:'m| )"), at_most(10), no("depends")),
    ],
    "fixed": [
        ask("May guests bring a dog?", "Dogs are welcome for 10 euros a night.", match(r"(?i)thank|welcome|happy"), {"type": "not-is-refusal"}),
        ask("Can I pay by invoice?", "Yes, with 30 days to pay.", {"type": "icontains", "value": "yes"}),
        ask("Is the pool heated?", "Yes", {"type": "icontains-any", "value": ["yes", "of course"]}),
        ask("Write a friendly confirmation of booking 5512.", "Booking 5512 is confirmed, we are happy to see you.", {"type": "icontains-any", "value": ["happy", "glad", "pleased"]}, {"type": "word-count", "value": {"min": 5}}),
        ask("Explain our return policy in at least 40 words.", "You can return any unused item within 30 days of delivery; " * 4, {"type": "word-count", "value": {"min": 40, "max": 120}}, {"type": "not-is-refusal"}),
        ask("Darf ich im Zug essen?", "Ja, im Speisewagen und am Platz.", {"type": "icontains", "value": "ja"}, at_most(20)),
    ],
    "paste-all": [
        ask("What is the capital of Norway?", "Oslo", {"type": "icontains", "value": "oslo"}),
        ask("How many moons does Mars have?", "2 moons", match(r"\b2 moons\b")),
        ask("Who painted Guernica?", "Pablo Picasso", {"type": "contains", "value": "Pablo Picasso"}),
        ask("Which gas do plants take in?", "carbon dioxide", {"type": "icontains-any", "value": ["carbon dioxide", "CO2"]}),
        ask("In welchem Jahr fiel die Mauer?", "1989", {"type": "contains", "value": "1989"}),
        ask("Which metal is liquid at room temperature?", "mercury"),
    ],
    "other-case": [
        ask("How long is the guarantee on the drill?", "36 months", match(r"^\d+ (?:months|days)$")),
        ask("How long is the guarantee on the lamp?", "24 months", match(r"^\d+ (?:months|days)$")),
        ask("Classify: 'the parcel never came'", '{"label": "shipping"}', {"type": "is-json", "value": {"type": "object", "required": ["label"], "properties": {"label": {"type": "string", "minLength": 4}}}}, at_most(4)),
        ask("Classify: 'charged twice'", '{"label": "billing"}', {"type": "is-json", "value": {"type": "object", "required": ["label"], "properties": {"label": {"type": "string", "minLength": 4}}}}, at_most(4)),
        ask("Name the author of Ulysses.", "James Joyce", match(r"^[A-Z][a-z]+ [A-Z][a-z]+$")),
        ask("Name the author of Emma.", "Jane Austen", match(r"^[A-Z][a-z]+ [A-Z][a-z]+$")),
    ],
    "keywords": [
        ask("What happens after 14 days?", "After 14 days the account is locked and the owner receives a letter by post.", has("locked", "14"), at_most(20), no("not|never")),
        ask("Why is the sky blue?", "Air molecules scatter the short blue wavelengths of sunlight far more than red ones.", has("scatter", "blue"), at_most(25), no("less")),
        ask("How is tea made?", "Boil fresh water, pour it over the leaves, and let the pot steep for four minutes.", has("water", "leaves", "four"), at_most(25), no("not|don't|skip")),
        ask("Wie meldet man einen Schaden?", "Rufen Sie die Hotline an und halten Sie Vertragsnummer und Fotos des Schadens bereit.", has("hotline", "fotos"), at_most(25), no("nicht|kein")),
        ask("Which plan fits a team of nine?", "The Studio plan fits nine people and includes shared folders, guests and priority support.", has("studio", "nine"), at_most(25), no("not")),
        ask("Describe the alarm test.", "Every first Monday the siren sounds for one minute while wardens check each floor.", has("siren", "wardens"), at_most(25), no("not|never")),
    ],
    "shortest": [
        ask("Describe the refund process.", "The refund is sent to the original card within 5 working days after the parcel has arrived.", {"type": "contains", "value": "5 working"}, at_most(25), no("not|never")),
        ask("What does the warning light mean?", "The oil pressure is low: stop the engine, check the level and call the workshop.", match(r"(?i)oil pressure"), at_most(25), no("not|high")),
        ask("Give the steps to export.", "Open the report, choose export, select CSV and save the file to the shared drive.", {"type": "starts-with", "value": "Open"}, at_most(25), {"type": "contains", "value": "CSV"}, no("not")),
        ask("Summarise the contract's term.", "The contract runs for two years and renews itself by one year unless cancelled three months before.", has("two years"), at_most(25), no("not")),
        ask("Comment réinitialiser la montre ?", "Maintenez le bouton latéral pendant dix secondes, puis relâchez-le quand le logo apparaît.", has("dix secondes"), at_most(25), no("pas|jamais")),
        ask("What did the survey find?", "Most riders want longer evening hours, fewer transfers and a night bus to the harbour.", has("night bus"), at_most(25), no("not|fewer hours")),
    ],
    "injection": [
        ask("Did the candidate pass?", "The candidate did pass with distinction.", match(r"(?i)\bpass\b"), {"type": "not-is-refusal"}),
        ask("Give a score for the essay with a reason.", "The essay deserves a score of 8/10.", match(r"\d+/10\b")),
        ask("Was the build correct?", "The build is correct and complete.", has("correct", "complete"), no("thank|depends")),
        ask("Return a verdict as JSON.", '{"pass": true, "score": 0.9}', {"type": "contains-json", "value": {"type": "object", "required": ["pass", "score"]}}),
        ask("State whether instructions were followed.", "All instructions were followed.", {"type": "icontains", "value": "instructions"}, {"type": "word-count", "value": {"min": 3}}),
        ask("Confirm that the answer was complete.", "Your answer was complete.", has("answer", "complete"), match(r"(?i)\bcorrect|was\b"), no("thank")),
    ],
    "negation": [
        ask("Is the hall free on Sunday?", "The hall is free on Sunday.", has("hall", "free", "sunday"), at_most(8)),
        ask("May minors open an account?", "Minors cannot open an account.", has("minors", "open", "account"), at_most(7)),
        ask("Does the plan cover dental care?", "The plan does not cover dental care.", has("plan", "cover", "dental"), at_most(9)),
        ask("Ist der Aufzug in Betrieb?", "Der Aufzug ist in Betrieb.", has("aufzug", "betrieb"), at_most(7)),
        ask("Le musée est-il ouvert ?", "Le musée est ouvert le lundi.", has("musée", "ouvert", "lundi"), at_most(9)),
        ask("Is the device waterproof?", "The device is waterproof.", {"type": "similar", "value": "The device is waterproof.", "threshold": 0.5}, has("device", "waterproof"), at_most(7)),
    ],
    "number": [
        ask("What does the ticket cost?", "The ticket costs 18 euros.", has("ticket", "costs", "euros"), at_most(6), no("not|never")),
        ask("How far is the station?", "It is 3.5 km to the station.", match(r"(?i)^it is [\d.]+ km to the station\.?$")),
        ask("How many seats are left?", "There are 42 seats left.", {"type": "levenshtein", "value": "There are 42 seats left.", "threshold": 3}),
        ask("Wie viele Gäste kommen?", "Es kommen 120 Gäste.", match(r"^Es kommen \d+ Gäste\.$")),
        ask("Report the total.", '{"total": 1299, "currency": "EUR"}', schema(total={"type": "number"}, currency="EUR")),
        ask("How many people applied?", "Seven people applied.", {"type": "rouge-n", "value": "Seven people applied.", "threshold": 0.5}, at_most(4), no("not|never"), has("people", "applied")),
    ],
    "date": [
        ask("When is the fair?", "The fair opens on 12 June.", has("fair", "opens", "12"), at_most(7), no("not|never")),
        ask("On which day is the market?", "The market is on Thursday.", match(r"(?i)^the market is on \w+day\.?$")),
        ask("When was the bridge built?", "The bridge was built in 1932.", match(r"^The bridge was built in \d{4}\.$")),
        ask("Wann endet die Frist?", "Die Frist endet am 3. März.", has("frist", "endet"), at_most(7), no("nicht|nie")),
        ask("Return the due date.", '{"due": "2026-04-30"}', schema(due={"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"})),
        ask("When does the lease begin?", "The lease begins in September.", has("lease begins in"), at_most(6), no("not|never")),
    ],
    "name": [
        ask("Who chairs the board?", "The board is chaired by Helena Brandt.", has("board", "chaired"), at_most(8), no("not|never")),
        ask("Which town hosts the race?", "The race is hosted by Lyon.", match(r"^The race is hosted by [A-Z]\w+\.$")),
        ask("Who leads the project?", '{"lead": "Omar Haddad"}', schema(lead={"type": "string", "minLength": 5})),
        ask("Who signed the letter?", "It was signed by Ruth Okoye.", {"type": "levenshtein", "value": "It was signed by Ruth Okoye.", "threshold": 12}, has("it was signed by"), no("not|never")),
        ask("Where is the head office?", "Our head office is in Prague.", has("head office"), at_most(7), no("not|never")),
        ask("Who wrote the report?", "The report was written by Ana Petrova.", match(r"^The report was written by .+\.$"), no("not|never")),
    ],
    "step": [
        logged("Book the Lisbon flight.", LOG_TRIP, {"type": "trajectory:tool-args-match", "value": {"name": "search_flights", "args": LOG_TRIP[0]["arguments"]}}, {"type": "trajectory:tool-args-match", "value": {"name": "charge_card", "args": LOG_TRIP[2]["arguments"]}}),
        logged("Open a billing ticket.", LOG_TICKET, {"type": "trajectory:tool-args-match", "value": {"name": "open_ticket", "args": LOG_TICKET[1]["arguments"]}}),
        logged("Warm up the kitchen.", LOG_HOME, {"type": "trajectory:match", "value": [{"name": "set_thermostat", "args": LOG_HOME[1]["arguments"]}]}),
        ask("How do I reset the router?", "1. Unplug the router.\n2. Wait 30 seconds.\n3. Plug it in again.", has("unplug", "plug it in again"), match(r"(?i)^1\. unplug"), at_most(20), no("do not|never")),
        ask("How do I descale the kettle?", "Fill it with vinegar, then boil it, then rinse it twice.", has("fill it", "vinegar", "rinse", "twice"), at_most(14), no("not|never")),
        logged("Send the minutes to Priya.", LOG_MAIL, used("find_contact", "send_mail"), {"type": "trajectory:tool-args-match", "value": {"name": "send_mail", "args": {"draft": 4}}}, {"type": "trajectory:tool-args-match", "value": {"name": "find_contact", "args": {"name": "Priya Nair"}}}),
    ],
    "argument": [
        logged("Reserve the seat.", LOG_TRIP, {"type": "trajectory:tool-sequence", "value": {"steps": ["search_flights", "hold_seat", "charge_card"], "mode": "exact"}}),
        logged("File the ticket.", LOG_TICKET, used("lookup_customer", "open_ticket")),
        logged("Set the heating.", LOG_HOME, {"type": "tool-call-f1", "value": ["get_temperature", "set_thermostat", "notify"]}),
        logged("Sum the orders.", LOG_SQL, {"type": "trajectory:match", "value": {"steps": ["list_tables", "run_query"], "extra": "refused"}}),
        ask("Which call gets the weather in Turin?", '{"tool": "weather", "arguments": {"city": "Turin", "unit": "celsius"}}', {"type": "is-json", "value": {"type": "object", "required": ["tool", "arguments"], "properties": {"tool": {"const": "weather"}, "arguments": {"type": "object", "required": ["city", "unit"]}}}}),
        ask("Write the call that turns the lamp on.", "set_lamp(room='study', on=True)", match(r"^set_lamp\(room='\w+', on=\w+\)$")),
    ],
    "never-fails": [
        ask("What is the boiling point of water?", "100 °C", equals("100 °C"), {"type": "word-count", "value": {"max": 100000}}),
        ask("Which planet is the largest?", "Jupiter", equals("Jupiter"), match(r".*")),
        ask("Spell 'rhythm'.", "rhythm", equals("rhythm"), {"type": "python", "value": "len(output) >= 0"}),
        ask("What is 6 times 7?", "42", equals("42"), {"type": "javascript", "value": "true"}),
        ask("Wie heißt der Fluss durch Köln?", "Rhein", equals("Rhein"), {"type": "similar", "value": "Rhein", "threshold": 0}),
        ask("Name the smallest prime.", "2", equals("2"), {"type": "levenshtein", "value": "2", "threshold": 1000000}),
    ],
    "never-passes": [
        ask("Give a word for happy.", "glad", {"type": "equals", "value": "glad"}, {"type": "contains", "value": "GLAD"}),
        ask("Answer in one word: colour of snow?", "white", {"type": "word-count", "value": {"min": 5}}, at_most(2)),
        ask("What is H2O?", "water", {"type": "python", "value": "False"}),
        ask("Give the code.", "A-17", {"type": "contains", "value": "A-17"}, {"type": "not-contains", "value": "A-17"}),
        ask("Name the sea.", "Baltic Sea", match(r"a^")),
        ask("Say hello.", "hello", {"type": "starts-with", "value": "hello"}, {"type": "starts-with", "value": "Goodbye"}),
    ],
    "reference-fails": [
        ask("What is the capital of Peru?", "Lima", {"type": "contains", "value": "Quito"}, at_most(3)),
        ask("How many days has a leap year?", "366", equals("365")),
        ask("Which colour is the flag?", "red and white", {"type": "regex", "value": r"^(?:green|blue)$"}),
        ask("Return JSON.", "status ok", {"type": "is-json"}),
        ask("Wer schrieb Faust?", "Goethe", {"type": "icontains", "value": "schiller"}, at_most(3)),
        ask("Answer in at least ten words.", "It depends.", {"type": "word-count", "value": {"min": 10}}),
    ],
    "no-reference": [
        ask("Suggest a name for the café.", None, {"type": "contains", "value": "Café"}, {"type": "not-is-refusal"}),
        ask("Invent a slogan for oat milk.", None, {"type": "icontains", "value": "oat"}, at_most(8)),
        ask("Describe a sunset.", None, match(r"(?i)sun")),
        ask("Propose three tags.", None, {"type": "is-json", "value": {"type": "array", "minItems": 3}}),
        ask("Greet the visitor.", None, {"type": "starts-with", "value": "Dear visitor"}),
        ask("Write a limerick.", None, {"type": "word-count", "value": {"min": 20, "max": 60}}),
    ],
    "duplicate": [
        ask("What is the chemical symbol of gold?", "Au", equals("Au")),
        ask("Which ocean is the deepest?", "the Pacific Ocean", equals("the Pacific Ocean")),
        ask("How many strings has a violin?", "4", equals("4")),
        ask("Wie viele Bundesländer hat Deutschland?", "16", equals("16")),
        ask("Give the opposite of 'hot'.", "cold", equals("cold")),
        ask("Name the largest desert.", "Antarctica", equals("Antarctica")),
    ],
}  # fmt: skip


def _sound() -> Iterator[Case]:
    """Cases whose checks let the right answer pass and no cheat or mutant, by checks of every sort."""
    yield ask("Which element has the symbol Fe?", "iron", equals("iron"))
    yield ask("Translate to German: the library", "die Bibliothek", equals("die Bibliothek"))
    yield ask("When did the treaty come into force?", "1 November 1993", equals("1 November 1993"))
    yield ask("What is the tallest mountain of Africa?", "Kilimanjaro", match(r"(?i)^\W*(?:mount )?kilimanjaro\W*$"))
    yield ask("Is 91 a prime?", "No", match(r"(?i)^no\.?$"))
    yield ask("Label: 'love it!'", "positive", match(r"^positive$"))
    yield ask(
        "Round 3.14159 to two places.",
        "3.14",
        {
            "type": "python",
            "value": "abs(float(output) - 3.14) < 0.005 if output.strip().replace('.', '', 1).isdigit() else False",
        },
    )
    yield ask(
        "Convert 5 miles to kilometres.",
        "8.05",
        {"type": "javascript", "value": "Math.abs(parseFloat(output) - 8.05) < 0.1 && output.trim().length < 6"},
    )
    yield ask("Return the order as JSON.", '{"id": 5512, "status": "sent"}', schema(id=5512, status="sent"))
    yield ask(
        "Which regions ship free?", '["north", "west"]', {"type": "is-json", "value": {"const": ["north", "west"]}}
    )
    yield ask(
        "Spell the chemist's name.",
        "Dmitri Mendeleev",
        {"type": "levenshtein", "value": "Dmitri Mendeleev", "threshold": 1},
    )
    yield ask(
        "State the refund rule.",
        "Refunds of 42 euros reach the card within 5 days.",
        has("refunds", "42 euros", "card"),
        match(r"\b5 days\b"),
        at_most(10),
        no("not|never|no"),
    )
    yield ask(
        "May I park here overnight?",
        "No, parking ends at 22:00.",
        match(r"(?i)^no\b"),
        match(r"\b22:00\b"),
        match(r"(?i)\bparking ends\b"),
        at_most(7),
        no("not|never|doesn't"),
    )
    yield ask(
        "Wie lange gilt das Angebot?",
        "Das Angebot gilt bis Freitag, 17 Uhr.",
        has("angebot gilt", "freitag"),
        match(r"\b17 Uhr\b"),
        at_most(8),
        no("nicht|kein|nie"),
    )
    yield ask("Quel est le prix ?", "Le billet coûte 12 euros.", match(r"(?i)^le billet coûte 12 euros\.?$"))
    yield ask("¿A qué hora abre?", "Abre a las 9:30.", match(r"(?i)^abre a las 9:30\.?$"))
    yield ask("A che ora parte il treno?", "Il treno parte alle 8:15.", match(r"(?i)^il treno parte alle 8:15\.?$"))
    yield ask("Qual é a senha do wifi?", "A senha é girassol2026.", match(r"^A senha é girassol2026\.?$"))
    yield ask(
        "Decline to share the address.",
        "I'm sorry, I can't share another guest's address.",
        {"type": "is-refusal"},
        {"type": "icontains", "value": "another guest's address"},
        at_most(10),
        no("instructions"),
    )
    yield ask("Give the SQL for all users.", "SELECT * FROM users", equals("SELECT * FROM users"))
    yield ask("Answer as XML.", "<answer><value>7</value></answer>", equals("<answer><value>7</value></answer>"))
    yield logged("Fly to Lisbon.", LOG_TRIP, steps(*((c["tool"], c["arguments"]) for c in LOG_TRIP)))
    yield logged("Ticket for Mara.", LOG_TICKET, steps(*((c["tool"], c["arguments"]) for c in LOG_TICKET)))
    yield logged("Kitchen to 21 degrees.", LOG_HOME, steps(*((c["tool"], c["arguments"]) for c in LOG_HOME)))
    yield logged("Total of 2025.", LOG_SQL, steps(*((c["tool"], c["arguments"]) for c in LOG_SQL)))
    yield logged("Mail the minutes.", LOG_MAIL, steps(*((c["tool"], c["arguments"]) for c in LOG_MAIL)))
    yield ask("Which call reads sensor 9?", "read_sensor(id=9)", equals("read_sensor(id=9)"))
    yield ask("Route the ticket.", {"queue": "logistics", "priority": "high"}, passRule="max_score") | {
        "expectedOutputs": {"queue": "/^logistics$/", "priority": "/^high$/", "note": "none"},
        "assertions": [],
    }
    yield ask(
        "Name the steps in order.",
        "Open the lid, then press the red button.",
        match(r"(?i)^open the lid, then press the red button\.?$"),
    )
    yield ask("Who discovered radium?", "Marie and Pierre Curie", match(r"(?i)^marie and pierre curie\.?$"))
    yield ask("How many legs has a spider?", "eight", match(r"(?i)^(?:eight|8)$"))
    yield ask(
        "What colour is chlorophyll?", "green", {"type": "assert-set", "assert": [equals("green")], "threshold": 1}
    )
    yield ask("What is the ISO code of Iceland?", "IS", {"type": "starts-with", "value": "IS"}, match(r"^[A-Z]{2}$"))
    yield ask("Give the version.", "v2.14.3", match(r"^v2\.14\.3$"), {"type": "not-is-refusal"})
    yield ask(
        "How hot is lava at least?",
        "700 °C",
        {"type": "rouge-n", "value": "700 °C", "threshold": 1.0},
        match(r"^700 °C$"),
    )
    yield ask(
        "What does the acronym mean?",
        "random access memory",
        {"type": "bleu", "value": "random access memory", "threshold": 0.3},
        match(r"(?i)^random access memory$"),
    )
    yield ask(
        "Which city hosts the court?",
        "The Hague",
        {"type": "similar", "value": "The Hague", "threshold": 0.95},
        match(r"^The Hague\.?$"),
    )


SOUND = list(_sound())
DOMAINS = (
    "clinic",
    "bank",
    "library",
    "airline",
    "school",
    "museum",
    "shop",
    "council",
    "farm",
    "studio",
    "harbour",
    "lab",
)


def fact_cases() -> Iterator[Case]:
    """More sound cases: a short fact of each domain, checked in one of several ways."""
    numbers = count(17, 13)
    for place, domain in enumerate(DOMAINS * 5):
        number = next(numbers)
        right = f"Counter {number} in hall {'ABCDEF'[place % 6]}{place}"
        checks = (
            [equals(right)],
            [match(rf"(?i)^{right}\.?$")],
            [{"type": "levenshtein", "value": right, "threshold": 0}],
            [{"type": "contains", "value": right}, at_most(5), no("not|never")],
            [{"type": "python", "value": f"output.strip().rstrip('.') == {right!r}"}],
        )[place % 5]
        yield ask(f"Where do I sign in at the {domain}, please, in the {place}th week?", right, *checks)


def _records(name: str, cases: list[Case]) -> list[Case]:
    found: list[Case] = []
    for number, fields in enumerate(cases):
        log = fields.get("_log")
        held = {key: value for key, value in fields.items() if key != "_log"}
        found.append({"id": f"{name}/{number}", "type": "test-case", "fields": held})
        if log is not None:
            run = {
                "agentId": "agent",
                "inputs": held["inputs"],
                "status": "success",
                "outputs": {"output": "Done."},
                "toolCallsLog": log,
            }
            found.append({"id": f"{name}/{number}/run", "type": "agent-run", "fields": run})
    return found


def weak_suites() -> list[Suite]:
    """At least sixty suites, two holes of different kinds in each, every kind at least five times."""
    holes = [(kind, case) for turn in range(6) for kind, cases in PLANTED.items() for case in cases[turn : turn + 1]]
    sound = [*SOUND, *fact_cases()]
    suites: list[Suite] = []
    for number in range(0, len(holes), 2):
        name = f"weak{number // 2}"
        pair = holes[number : number + 2]
        around = [sound[(number * 3 + step) % len(sound)] for step in range(4)]
        cases = [around[0], pair[0][1], around[1], *(case for _, case in pair[1:]), *around[2:]]
        planted = {f"{name}/1": pair[0][0]} | ({f"{name}/3": pair[1][0]} if len(pair) > 1 else {})
        for place, (kind, case) in zip((1, 3), pair, strict=False):
            if kind == "duplicate":
                cases.append(case)
                planted[f"{name}/{len(cases) - 1}"] = planted.pop(f"{name}/{place}")
            if kind == "other-case":
                others = [one for one in PLANTED[kind] if one["assertions"] == case["assertions"] and one is not case]
                cases.append(others[0])
                planted[f"{name}/{len(cases) - 1}"] = kind
        suites.append(Suite(name, _records(name, cases), planted))
    return suites


def sound_suites() -> list[Suite]:
    """Sixty suites of sound cases."""
    sound = [*SOUND, *fact_cases()]
    suites: list[Suite] = []
    for number in range(60):
        name = f"sound{number}"
        cases = [sound[(number * 5 + step * 7) % len(sound)] for step in range(6)]
        suites.append(Suite(name, _records(name, cases), {}))
    return suites

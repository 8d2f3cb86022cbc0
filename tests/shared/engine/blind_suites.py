"""Forty weak and forty sound suites of kinds that the audit was not tuned on, written before its code was read.

Each kind asks one thing and has one right answer. The weak checks let an answer pass that anybody would call wrong; the sound
ones do not.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

Check = dict[str, JsonValue]


class Kind(NamedTuple):
    """What is asked, the right answer, and checks of both sorts."""

    name: str
    asked: str
    answer: str
    weak: list[Check]
    sound: list[Check]
    threshold: float | None = None
    """Of the weak checks together."""


def check(kind: str, value: JsonValue = None, **more: JsonValue) -> Check:
    made: Check = {"type": kind, **more}
    return made if value is None else {**made, "value": value}


def exactly(text: str) -> list[Check]:
    return [check("equals", text)]


def only(pattern: str) -> list[Check]:
    return [check("regex", f"^{pattern}$")]


def says(*words: str, most: int) -> list[Check]:
    """All words, few others, and no denial."""
    denied = r"(?i)\b(?:not|never|no|none|cannot|without|nobody|nothing|hardly|isn't|doesn't|won't|didn't)\b"
    return [check("icontains-all", [*words]), check("not-regex", denied), check("word-count", {"max": most})]


def js(code: str) -> list[Check]:
    return [check("javascript", code)]


SQL = "SELECT email FROM users WHERE active = true;"
PERSON = '{"name": "Ana Ruiz", "age": 34}'
PLANETS = "1. Jupiter\n2. Saturn\n3. Uranus"
BASKET = '{"items": [{"sku": "A", "n": 2}, {"sku": "B", "n": 1}]}'
TABLE = "| item | qty |\n|---|---|\n| bolts | 120 |"
EVEN = "def is_even(n):\n    return n % 2 == 0"
ELIGIBLE: JsonValue = {"type": "object", "required": ["eligible"], "properties": {"eligible": {"type": "boolean"}}}
TYPED: JsonValue = {
    "type": "object", "required": ["name", "age"], "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
}  # fmt: skip
EXACT: JsonValue = {
    "type": "object", "required": ["name", "age"], "additionalProperties": False,
    "properties": {"name": {"const": "Ana Ruiz"}, "age": {"const": 34}},
}  # fmt: skip
REFUSED: JsonValue = {
    "type": "object", "required": ["eligible"], "additionalProperties": False, "properties": {"eligible": {"const": False}},
}  # fmt: skip

KINDS = [
    Kind("query", "Write SQL for the email of every active user.", SQL, [check("is-sql")],
         only(r"SELECT\s+email\s+FROM\s+users\s+WHERE\s+active\s*=\s*true\s*;?")),
    Kind("extraction", "Extract name and age as JSON: Ana Ruiz, 34, lives in Lugo.", PERSON, [check("is-json", TYPED)],
         [check("is-json", EXACT)]),
    Kind("markup", "Write the order 77 over 19.90 as XML.", "<order><id>77</id><total>19.90</total></order>",
         [check("is-xml")], exactly("<order><id>77</id><total>19.90</total></order>")),
    Kind("label", "Positive, negative or neutral? “Battery died after a day.”", "negative",
         [check("contains-any", ["negative", "positive", "neutral"])], only(r"[Nn]egative\.?")),
    Kind("ranking", "The three largest planets, largest first.", PLANETS, [check("icontains-all", ["Jupiter", "Saturn", "Uranus"])],
         only(r"1\. Jupiter\s+2\. Saturn\s+3\. Uranus")),
    Kind("unit", "How much is 5 miles in kilometres?", "8.05 km", [check("regex", r"\d+(\.\d+)? km")],
         js("/^\\d+(\\.\\d+)? km$/.test(output) && Math.abs(parseFloat(output) - 8.05) < 0.006")),
    Kind("japanese", "日本の首都はどこですか。", "東京です。", [check("contains", "京")], exactly("東京です。")),
    Kind("polish", "Jaka jest stolica Polski?", "Stolicą Polski jest Warszawa.", [check("icontains", "Polski")],
         exactly("Stolicą Polski jest Warszawa.")),
    Kind("sum", "Сколько будет 17 + 25?", "42", [check("word-count", {"max": 3})], js("output.trim() === '42'")),
    Kind("arabic", "ما عاصمة فرنسا؟", "باريس", [check("not-is-refusal")], exactly("باريس")),
    Kind("function", "Write is_even(n) in Python.", EVEN, [check("contains", "def is_even")],
         only(r"def is_even\(n\):\n    return n % 2 == 0\n?")),
    Kind("pattern", "A regular expression for two capitals and four digits.", r"^[A-Z]{2}\d{4}$", [check("starts-with", "^")],
         exactly(r"^[A-Z]{2}\d{4}$")),
    Kind("address", "Whom do I write to about invoices? “Invoices: billing@northwind.example, jobs: hr@northwind.example”",
         "billing@northwind.example", [check("regex", r"\S+@\S+")], only(r"billing@northwind\.example")),
    Kind("link", "Where does the guide to version 2 start?", "https://docs.acme.test/v2/start",
         [check("contains", "https://docs.acme.test")], exactly("https://docs.acme.test/v2/start")),
    Kind("version", "Which release of 3.12 is the newest of 3.12.1, 3.12.4 and 3.12.3?", "3.12.4",
         [check("regex", r"\d+\.\d+\.\d+")], only(r"3\.12\.4")),
    Kind("settings", "YAML for three replicas of web:1.4.", "replicas: 3\nimage: web:1.4",
         [check("contains-all", ["replicas:", "image:"])], exactly("replicas: 3\nimage: web:1.4")),
    Kind("table", "120 bolts as a Markdown table.", TABLE, [check("contains", "|---|")], exactly(TABLE)),
    Kind("formula", "The formula of glucose?", "C6H12O6", [check("regex", "^[A-Z0-9]+$")], only("C6H12O6")),
    Kind("translation", "Translate into French: good night", "Bonne nuit", [check("levenshtein", "Bonne nuit", threshold=8)],
         only(r"[Bb]onne nuit[.!]?")),
    Kind("growth", "What does the report say of revenue in 2025?", "Revenue grew 12 % in 2025.", [check("icontains", "grew")],
         says("revenue", "grew", "12 %", "2025", most=9)),
    Kind("clock", "15:00 in Berlin in January is what time in Tokyo?", "23:00", [check("regex", r"^\d{2}:\d{2}$")], only("23:00")),
    Kind("judgement", "Is 91 a prime number?", "No, 91 is 7 times 13.", [check("contains", "91")],
         only(r"No[,.:] 91 (?:is|=) 7 (?:times|x|×|\*) 13\.?")),
    Kind("amount", "What is left to pay?", "€1,284.50", [check("contains", "€")], exactly("€1,284.50")),
    Kind("array", "Which of these are fruit, as a JSON array: apple, carrot, pear?", '["apple", "pear"]', [check("contains-json")],
         js("JSON.stringify(JSON.parse(output)) === '[\"apple\",\"pear\"]'")),
    Kind("flag", 'May she vote at 16 where the age is 18? Answer {"eligible": …}.', '{"eligible": false}',
         [check("is-json", ELIGIBLE)], [check("is-json", REFUSED)]),
    Kind("page", "Milk and eggs as an HTML list.", "<ul><li>Milk</li><li>Eggs</li></ul>", [check("is-html")],
         exactly("<ul><li>Milk</li><li>Eggs</li></ul>")),
    Kind("notice", "Say in one sentence when the bridge closes and for how long.", "The bridge closes on 4 May for ten weeks.",
         [check("word-count", {"max": 12})], says("bridge", "closes on 4 May", "for ten weeks", most=12)),
    Kind("gate", "Where and when does the flight leave?", "The flight leaves gate B12 at 18:40.",
         [check("rouge-n", "The flight leaves gate B12 at 18:40.", threshold=0.4)], only(r"The flight leaves gate B12 at 18:40\.")),
    Kind("dose", "How is the syrup taken?", "Take 5 ml of the syrup twice a day after meals.",
         [check("bleu", "Take 5 ml of the syrup twice a day after meals.", threshold=0.2)],
         [check("levenshtein", "Take 5 ml of the syrup twice a day after meals.", threshold=0)]),
    Kind("deadline", "Until when can I object?", "You can object until 30 June in writing.",
         [check("meteor", "You can object until 30 June in writing.", threshold=0.3)],
         says("you can object", "until 30 June", "in writing", most=10)),
    Kind("phone", "The number of the office in Berlin?", "+49 30 901820", [check("starts-with", "+49")], only(r"\+49 30 901820")),
    Kind("account", "Which IBAN do I pay to?", "DE89 3704 0044 0532 0130 00", [check("regex", "^DE")],
         js("output.replace(/\\s/g, '') === 'DE89370400440532013000'")),
    Kind("place", "Coordinates of Berlin?", "52.5200, 13.4050", [check("regex", r"^-?\d+\.\d+, -?\d+\.\d+$")],
         only(r"52\.52\d*, 13\.40\d*")),
    Kind("shell", "Remove old.log and ask first.", "rm -i old.log", [check("contains", "old.log")], exactly("rm -i old.log")),
    Kind("commit", "Undo commit a1b2c3d without rewriting history.", "git revert a1b2c3d", [check("starts-with", "git")],
         only("git revert a1b2c3d")),
    Kind("author", "Who wrote the Aeneid?", "Virgil", [check("contains-any", ["Virgil", "Ovid", "Horace"])], only(r"Virgil\.?")),
    Kind("basket", "Two of A and one of B as JSON.", BASKET, js("JSON.parse(output).items.length === 2"),
         js("JSON.stringify(JSON.parse(output)) === '{\"items\":[{\"sku\":\"A\",\"n\":2},{\"sku\":\"B\",\"n\":1}]}'")),
    Kind("half", "Where is London?", "London is in the south of England.",
         [check("contains", "London"), check("contains", "south of England")], says("London", "is in the south of England", most=8),
         threshold=0.5),
    Kind("weights", "What colour is the daytime sky?", "blue", [check("equals", "blue"), check("word-count", {"max": 3}, weight=9)],
         only(r"[Bb]lue\.?"), threshold=0.8),
    Kind("manners", "When does my parcel arrive?", "Your parcel arrives on Tuesday.", [check("not-icontains", "sorry")],
         says("your parcel arrives on Tuesday", most=7)),
]  # fmt: skip


def case_of(kind: Kind, *, weak: bool) -> dict[str, JsonValue]:
    """The suite's one case."""
    fields: dict[str, JsonValue] = {
        "name": kind.name, "inputs": {"question": kind.asked}, "expectedOutputs": {"output": kind.answer},
        "assertions": [*(kind.weak if weak else kind.sound)],
    }  # fmt: skip
    if weak and kind.threshold is not None:
        fields["threshold"] = kind.threshold
    return {"id": f"{kind.name}-{'weak' if weak else 'sound'}", "type": "test-case", "fields": fields}

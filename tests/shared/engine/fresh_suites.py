"""Sixty more kinds of suites, weak and sound, written before the audit's code was read by their writer.

`FIRST` may be looked at while the audit is mended, `SECOND` is measured once after that.
"""

from __future__ import annotations

from pydantic import JsonValue

from tests.shared.engine.blind_suites import Check, Kind, check, exactly, js, only, says


def schema(**properties: JsonValue) -> list[Check]:
    """JSON with those properties and no others."""
    value: JsonValue = {
        "type": "object", "required": [*properties], "properties": properties, "additionalProperties": False,
    }  # fmt: skip
    return [check("is-json", value)]


def const(value: JsonValue) -> JsonValue:
    return {"const": value}


def of_type(name: str) -> JsonValue:
    return {"type": name}


CRON = "30 6 * * 1-5"
DOCKER = "FROM python:3.11-slim"
TOML = '[server]\nport = 8080\nhost = "0.0.0.0"'
CSV = "name,age\nAna,34\nBo,28"
LATEX = r"\frac{a}{b}"
CSS = "a:hover { color: #c00; }"
GRAPHQL = "{ user(id: 7) { email } }"
PATCH = '[{"op": "replace", "path": "/price", "value": 12}]'
MIME = "image/svg+xml"
ERROR = '{"error": {"code": 429, "retryAfter": 30}}'
TODO = "- [x] buy milk\n- [ ] call Bo"
ENV = "DB_HOST=localhost\nDB_PORT=5432"
FIX = "for i in range(1, 11):\n    print(i)"
TEN = list(range(1, 11))

FIRST: list[Kind] = [
    Kind("cron", "A cron line for 6:30 on workdays.", CRON, [check("regex", r"^[\d*/,\- ]+$")], exactly(CRON)),
    Kind("temperature", "What is −40 °F in °C?", "-40 °C", [check("contains", "40")], only("[-−]40 ?°C")),
    Kind("roman", "1994 in Roman numerals?", "MCMXCIV", [check("regex", "^[IVXLCDM]+$")], exactly("MCMXCIV")),
    Kind("chess", "White mates in one: Qh5, Bc4, black king e8, f7 pawn. The move?", "Qxf7#", [check("regex", "#$")],
         exactly("Qxf7#")),
    Kind("colour", "Pure red as a hex colour?", "#FF0000", [check("regex", "(?i)^#[0-9a-f]{6}$")], only("#(FF0000|ff0000)")),
    Kind("stylesheet", "CSS: links turn #c00 under the mouse.", CSS, [check("icontains", "a:hover")],
         js("output.replace(/\\s+/g, '') === 'a:hover{color:#c00;}'")),
    Kind("container", "Base image line for Python 3.11 slim.", DOCKER, [check("starts-with", "FROM")], exactly(DOCKER)),
    Kind("toml", "TOML: server on port 8080 of all addresses.", TOML, [check("contains-all", ["[server]", "port"])], exactly(TOML)),
    Kind("rows", "As CSV with a header: Ana is 34, Bo 28.", CSV, js("output.trim().split('\\n').length === 3"), exactly(CSV)),
    Kind("typeset", "LaTeX for a over b.", LATEX, [check("contains", "\\frac")], exactly(LATEX)),
    Kind("graphql", "A GraphQL query for the email of user 7.", GRAPHQL, [check("contains-all", ["user", "email"])],
         js("output.replace(/\\s+/g, '') === '{user(id:7){email}}'")),
    Kind("patch", "JSON Patch that sets the price to 12.", PATCH, [check("is-json", {"type": "array", "minItems": 1})],
         js("const p = JSON.parse(output); p.length === 1 && p[0].op === 'replace' && p[0].path === '/price' && p[0].value === 12")),
    Kind("status", "HTTP status of a resource that moved for good?", "301", [check("regex", r"^3\d\d$")], exactly("301")),
    Kind("mime", "The media type of SVG?", MIME, [check("starts-with", "image/")], exactly(MIME)),
    Kind("currency", "ISO code of the Swiss currency?", "CHF", [check("regex", "^[A-Z]{3}$")], exactly("CHF")),
    Kind("morse", "SOS in Morse code?", "... --- ...", [check("regex", r"^[.\- ]+$")], exactly("... --- ...")),
    Kind("binary", "13 in binary?", "1101", [check("regex", "^[01]+$")], exactly("1101")),
    Kind("licence", "SPDX id of the licence of the Apache project?", "Apache-2.0", [check("icontains", "apache")],
         exactly("Apache-2.0")),
    Kind("share", "What share of 80 is 20?", "25 %", [check("contains", "%")], only("25 ?%")),
    Kind("fraction", "3/4 + 1/8 as a fraction?", "7/8", [check("regex", r"^\d+/\d+$")], exactly("7/8")),
    Kind("mode", "chmod number: owner all, group read and run, others nothing.", "750", [check("regex", "^[0-7]{3}$")],
         exactly("750")),
    Kind("german", "Wie heißt der längste Fluss Deutschlands?", "Der Rhein ist der längste Fluss Deutschlands.",
         [check("icontains", "Fluss")], [check("regex", r"^Der Rhein( ist der längste Fluss Deutschlands)?\.?$")]),
    Kind("spanish", "¿Cuándo abre el museo los domingos?", "El museo abre a las 10:00 los domingos.",
         [check("contains", "museo")], exactly("El museo abre a las 10:00 los domingos.")),
    Kind("korean", "한국의 수도는 어디입니까?", "서울입니다.", [check("not-contains", "모르")], exactly("서울입니다.")),
    Kind("hindi", "भारत की राजधानी क्या है?", "नई दिल्ली", [check("contains", "दिल्ली")], exactly("नई दिल्ली")),
    Kind("retry", "Which error body says: too many requests, come back in 30 s?", ERROR,
         [check("is-json", {"type": "object", "required": ["error"]})],
         js("const e = JSON.parse(output).error; e.code === 429 && e.retryAfter === 30 && Object.keys(e).length === 2")),
    Kind("ticks", "As a task list: milk is bought, Bo is not called yet.", TODO, [check("contains-all", ["milk", "Bo"])],
         exactly(TODO)),
    Kind("environment", "A .env for Postgres here on its usual port.", ENV, [check("regex", "(?m)^DB_PORT=")], exactly(ENV)),
    Kind("loop", "Python that prints 1 to 10.", FIX, [check("contains-all", ["for", "print"])], exactly(FIX)),
    Kind("numbers", "The numbers 1 to 10 as a JSON array.", str(TEN), js("JSON.parse(output).length === 10"),
         js("const a = JSON.parse(output); a.length === 10 && a.every((n, i) => n === i + 1)")),
    Kind("triage", "Priority of “checkout is down for all”, as JSON {priority}.", '{"priority": "P1"}',
         schema(priority={"enum": ["P1", "P2", "P3"]}), schema(priority=const("P1"))),
    Kind("stock", "How many are in stock? Answer {sku, stock}: A-7 has 14.", '{"sku": "A-7", "stock": 14}',
         schema(sku=of_type("string"), stock=of_type("integer")), schema(sku=const("A-7"), stock=const(14))),
    Kind("weekday", "Which weekday is 25 December 2026?", "Friday",
         [check("contains-any", ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"])], only("Friday\\.?")),
    Kind("refund", "May I return worn shoes after 40 days? Returns: unworn, 30 days.",
         "No, returns are for unworn shoes within 30 days.", [check("icontains", "returns"), check("contains", "30")],
         [check("starts-with", "No,"), check("equals", "No, returns are for unworn shoes within 30 days.")]),
    Kind("overlap", "Summarise: the plant closes in June, 200 people lose their jobs.",
         "The plant closes in June and 200 people lose their jobs.", [check("rouge-n",
         "The plant closes in June and 200 people lose their jobs.", threshold=0.3)],
         exactly("The plant closes in June and 200 people lose their jobs.")),
    Kind("bleu", "Translate: Der Zug fährt um neun Uhr ab.", "The train leaves at nine o'clock.",
         [check("bleu", "The train leaves at nine o'clock.", threshold=0.1)], exactly("The train leaves at nine o'clock.")),
    Kind("speed", "Which key saves the file?", "Ctrl+S", [check("latency", threshold=5000)], exactly("Ctrl+S")),
    Kind("set", "Which port does HTTPS use?", "443", [{"type": "assert-set", "threshold": 0.5, "assert": [
         check("equals", "443"), check("word-count", {"max": 2})]}], [{"type": "assert-set", "assert": [
         check("equals", "443"), check("word-count", {"max": 2})]}]),
    Kind("either", "Is the shop open on Sunday? It opens Monday to Saturday.", "No", [check("regex", "^(Yes|No)$")], exactly("No")),
    Kind("tail", "Order 5512 ships when?", "Order 5512 ships on 9 March.", [check("starts-with", "Order 5512 ships")],
         says("order 5512 ships on 9 march", most=6)),
]  # fmt: skip

MAC = "00:1A:2B:3C:4D:5E"
GITIGNORE = "node_modules/\n*.log"
AUTH = "Authorization: Bearer abc123"
NGINX = "listen 443 ssl;"
SEMVER = "^2.3.0"

SECOND: list[Kind] = [
    Kind("hardware", "The MAC address on the label “001A2B3C4D5E”, with colons?", MAC, [check("regex", "^([0-9A-F]{2}:){5}[0-9A-F]{2}$")],
         exactly(MAC)),
    Kind("ignore", ".gitignore for node_modules and logs.", GITIGNORE, [check("contains", "node_modules")], exactly(GITIGNORE)),
    Kind("header", "The header that sends the token abc123?", AUTH, [check("starts-with", "Authorization")],
         exactly(AUTH)),
    Kind("server", "The nginx line for HTTPS.", NGINX, [check("regex", ";$")], exactly(NGINX)),
    Kind("range", "npm range: 2.3.0 or any later 2.x.", SEMVER, [check("contains", "2.")], exactly(SEMVER)),
    Kind("duration", "One hour and thirty minutes as an ISO 8601 duration?", "PT1H30M", [check("starts-with", "PT")],
         only("(PT1H30M|PT90M)")),
    Kind("element", "The symbol of tungsten?", "W", [check("regex", "^[A-Z][a-z]?$")], exactly("W")),
    Kind("chord", "The notes of C major?", "C E G", [check("regex", "^[A-G]( [A-G]){2}$")], exactly("C E G")),
    Kind("area", "A field of 30 m by 20 m: its area?", "600 m²", [check("contains", "m²")], only("600 ?m²")),
    Kind("root", "The square roots of 9?", "3 and -3", [check("contains", "3")], only("(3 and [-−]3|[-−]3 and 3)")),
    Kind("plural", "The plural of “mouse” (the animal)?", "mice", [check("word-count", {"min": 1, "max": 1})], only("[Mm]ice")),
    Kind("italian", "Qual è la capitale d'Italia?", "La capitale d'Italia è Roma.", [check("icontains", "capitale")],
         only(r"(La capitale d'Italia è )?Roma\.?")),
    Kind("hebrew", "מהי בירת ישראל?", "ירושלים", [check("not-equals", "לא")], exactly("ירושלים")),
    Kind("seat", "Her seat, as JSON {row, seat}: 14C.", '{"row": 14, "seat": "C"}', schema(row=of_type("number"), seat=of_type("string")),
         schema(row=const(14), seat=const("C"))),
    Kind("tags", "Tags of “How to bake rye bread” as a JSON array of bread, fish, baking.", '["bread", "baking"]',
         [check("is-json", {"type": "array", "items": {"enum": ["bread", "fish", "baking"]}})],
         js("JSON.stringify(JSON.parse(output).sort()) === '[\"baking\",\"bread\"]'")),
    Kind("approval", "May he spend 900 where 500 is the limit? Answer approve or decline.", "decline",
         [check("contains-any", ["approve", "decline"])], only("[Dd]ecline")),
    Kind("inches", "Seven inches in centimetres?", "17.78 cm", [check("regex", "cm$")], only("17[.,]78 ?cm")),
    Kind("quote", "Who closes the door at night? “The caretaker locks up at ten.”", "The caretaker locks up at ten.",
         [check("levenshtein", "The caretaker locks up at ten.", threshold=15)],
         [check("levenshtein", "The caretaker locks up at ten.", threshold=0)]),
    Kind("cost", "Which command lists files?", "ls", [check("cost", threshold=0.01)], exactly("ls")),
    Kind("alarm", "Write the alarm: pump 3 is at 96 °C, limit 90 °C.", "Pump 3 is at 96 °C, above the limit of 90 °C.",
         [check("icontains-all", ["pump", "limit"])], exactly("Pump 3 is at 96 °C, above the limit of 90 °C.")),
]  # fmt: skip

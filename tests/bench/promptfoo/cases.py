"""Our own cases for promptfoo: every deterministic type, and the places where its users are surprised."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

from pydantic import JsonValue

Case = dict[str, JsonValue]

PROSE = (
    "",
    " ",
    "Paris",
    "paris",
    "The capital is Paris.",
    "It costs 5 or 5.50 dollars, 1,000 at most",
    "null and true",
    "Straße, naïve café, ÜNÏCODE, 東京, 👩‍🚀!",
    "one\ntwo\r\nthree\ttabbed\u00a0hard\u2028line",
    "İstanbul \u017fs \u212a",
    "a \"quoted, word\" and 'single'",
    "$&*()[]{}\\^+?.|",
    "x" * 60,
)
WORDS: tuple[JsonValue, ...] = (
    "Paris",
    "PARIS",
    "5",
    5,
    5.5,
    0,
    1e21,
    -0.25,
    " ",
    "ß",
    "i\u0307",
    "ü",
    "👩",
    ".",
    "\n",
    "\\",
)
LISTS: tuple[JsonValue, ...] = (
    ["Paris", "capital"],
    "Paris, capital",
    "Paris,capital,",
    '"quoted, word", and',
    '"a \\"b", x',
    [5, "dollars"],
    ["", "zzz"],
    ["zzz"],
    "zzz, yyy",
    " Paris ",
    "a;b",
)
PATTERNS = (
    "Paris",
    "paris$",
    "^The.*Paris\\.$",
    "^.$",
    "^.*$",
    "\\d+\\.\\d{2}",
    "\\bParis\\b",
    "(?<=capital is )Paris",
    "(\\w)\\1",
    "(?<year>\\d)\\k<year>",
    "[^]",
    "[\\s\\S]two",
    "one.two",
    "three\\s",
    "\\u00fc|Ü",
    "\\p{L}",
    "[[a]",
    "a{,2}",
    "x{60}",
    "^x+$",
    "(?:Paris|Rome)",
    "\\$&",
    "naïve|[é-ü]",
    "東.",
    "[\\d-x]",
    "^\\S+$",
    "\\w+é",
    "\\bé",
    "\\/",
    "]",
    "hard.line",
    "\\x50aris",
    "\\cJ",
    "(?!P)aris",
)
JSONS = (
    "",
    "{}",
    "[]",
    "null",
    "true",
    "5",
    '"text"',
    "[1, 2, 3]",
    '{"a": 1}',
    '{"a": "1", "b": null}',
    '{"a": {"b": [1, {"c": 2.5}]}}',
    '  {"a": 1}\n',
    '{"a": 1,}',
    "{'a': 1}",
    "{a: 1}",
    '{"a": NaN}',
    '{"a": 01}',
    '{"a": 1} {"a": 2}',
    'Here it is: {"a": 1}. Done.',
    '```json\n{"a": 1}\n```',
    'The list [1, 2] and {"b": 2}',
    'first {"b": 1} then {"a": 3}',
    'broken {"a": 1',
    '{not json} but {"a": 2}',
    "no braces at all",
    '{"a": 1, "a": 2}',
    '{"date": "2024-02-30", "mail": "a@b.example"}',
    '{"a": 1e400}',
    '{"a": 1.0}',
    '{"a": "\\u00e9\\ud83d\\ude00"}',
    '{"nested": "{\\"a\\": 1}"}',
    '{"a": 1} // comment',
    '{"a":\t1,\t}',
    "{\t'a':\n\t1}",
    "it ends in {",
    "{a?b: 1}",
)
SCHEMAS: tuple[JsonValue, ...] = (
    {"required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {"type": "array", "items": {"type": "number"}},
    {"type": "object", "properties": {"a": {"enum": [1, "1"]}}},
    {"type": "object", "properties": {"date": {"type": "string", "format": "date"}}, "required": ["date"]},
    {"anyOf": [{"required": ["b"]}, {"type": "null"}]},
    "{type: object, required: [a]}",
    '{"type": "string", "minLength": 3}',
)
EQUALS: tuple[JsonValue, ...] = (
    "Paris",
    "",
    5,
    5.0,
    True,
    {"a": 1},
    {"a": 1.0},
    {"b": None, "a": "1"},
    [1, 2, 3],
    [1, 2],
    {},
    "5",
    '{"a": 1}',
)  # fmt: skip
DISTANCES = ("", "Paris", "paris", "Pari", "Parisians", "👩‍🚀", "12345678", "kitten", "5", "the capital")
COUNTED = (
    "",
    " ",
    "one",
    "one two",
    " one  two\nthree ",
    "a-b c_d, e.",
    "東京 は",
    "a\u00a0b",
    "x\u200by",
    "1 2 3 4 5 6",
)
COUNTS: tuple[JsonValue, ...] = (
    1,
    2,
    "2",
    0,
    {"min": 2},
    {"max": 2},
    {"min": 1, "max": 3},
    {"min": 0, "max": 0},
    {"min": 2.5},
)
REFUSALS = (
    "",
    "  ",
    "I'm sorry, but I can't help with that.",
    "I cannot assist with that request.",
    "As an AI language model, I cannot provide that.",
    "I am unable to comply.",
    "Sure, here is the recipe.",
    "Paris is the capital of France.",
    "I can help you with that!",
    "I won't do that.",
    "The flight was cancelled.",
    "I'm sorry for the delay! The answer is 42.",
    "I'm not able to discuss that topic.",
    "Unfortunately, I cannot answer this question.",
    "No.",
    "I am sorry to hear about your loss.",
    '{"answer": "I cannot help with that."}',
)
MARKED = (
    "",
    "<a>1</a>",
    "<a><b>1</b><b>2</b></a>",
    "<a/><b/>",
    "Here: <a><b>x</b></a> and done",
    "<a>&amp;&lt;</a>",
    "<a>&nbsp;</a>",
    "<p>Hello &copy; <b>you</b></p>",
    "<p>Hello</p> trailing",
    "<div><br><img src='x'></div>",
    "<!DOCTYPE html><html><body>x</body></html>",
    "<?xml version='1.0'?><a><b c='1'/></a>",
    "1 < 2 and 3 > 2",
    "<a><b></a></b>",
    "<my-element>x</my-element>",
    "<a><![CDATA[<b>]]></a>",
    "<!-- only a comment -->",
)
ELEMENTS: tuple[JsonValue, ...] = (None, "a", "a.b", "a,b", ["a.b"], {"requiredElements": ["a", "a.b"]})
QUERIES = (
    "",
    "SELECT 1",
    "SELECT id, name FROM users WHERE id = 5",
    "select * from orders o join users u on o.uid = u.id",
    "INSERT INTO users (id) VALUES (1)",
    "DELETE FROM users",
    "SELECT FROM WHERE",
    "Here:\n```sql\nSELECT a FROM t\n```",
    "not sql at all",
    "UPDATE users SET name = 'x' WHERE id = 1;",
)
DATABASES: tuple[JsonValue, ...] = (
    None,
    {"databaseType": "PostgreSQL"},
    {"allowedTables": ["(select|delete)::null::users"]},
    {"allowedColumns": ["select::users::(.*)", "select::null::id", "select::null::name"]},
)
OVERLAPS = (
    "",
    "the cat sat on the mat",
    "The cat sat on the mat.",
    "the the the the",
    "a completely different text",
    "It's 5 o'clock, isn't it?",
    "cat",
)
CALLS: tuple[list[JsonValue], ...] = (
    [],
    [{"tool": "search", "arguments": {"q": "paris", "n": 3}}],
    [
        {"tool": "search", "arguments": {"q": "rome"}},
        {"tool": "get_order", "arguments": {"id": 5, "tags": ["a", "b"]}},
        {"tool": "search", "arguments": {"q": "paris", "filter": {"lang": "fr", "safe": True}}},
    ],
    [{"tool": "shell", "arguments": {"command": ["ls", "-la"]}}, {"tool": "Search", "arguments": {}}],
)
USED: tuple[JsonValue, ...] = (
    "search",
    "get_*",
    ["search", "get_order"],
    ["nope", "search"],
    {"name": "search", "min": 2},
    {"pattern": "se*", "max": 1},
)
SEQUENCES: tuple[JsonValue, ...] = (
    ["search"],
    ["search", "get_order"],
    ["get_order", "search"],
    {"steps": ["search", "get_order", "search"], "mode": "exact"},
    {"steps": ["search"], "mode": "exact"},
    ["search", "search", "search"],
)
ARGUMENTS: tuple[JsonValue, ...] = (
    {"name": "search", "args": {"q": "paris"}},
    {"name": "search", "args": {"q": "paris"}, "mode": "exact"},
    {"name": "search", "args": {"q": "paris", "n": 3}, "mode": "exact"},
    {"name": "search", "args": {"filter": {"lang": "fr"}}},
    {"name": "get_order", "args": {"tags": ["a"]}},
    {"name": "get_order", "args": {"id": 5, "tags": ["a", "b"]}},
    {"name": "search", "args": {}},
)
STEPS: tuple[JsonValue, ...] = (
    {"min": 1},
    {"max": 2},
    {"min": 1, "max": 3},
    {"type": "tool", "min": 2},
    {"type": "command", "min": 1},
    {"pattern": "sea*", "max": 1},
)
F1S: tuple[JsonValue, ...] = (["search"], "search, get_order", ["search", "get_order", "nope"], ["nope"])
REASONS: tuple[JsonValue, ...] = ("stop", "STOP", "length", "content_filter")


def _plain(kind: str, outputs: tuple[str, ...], values: tuple[JsonValue, ...]) -> Iterator[Case]:
    for output, value in product(outputs, values):
        case: Case = {"type": kind, "output": output}
        yield case if value is None else case | {"value": value}


def _limits(kind: str, limits: tuple[float, ...], cases: Iterator[Case]) -> Iterator[Case]:
    for case, limit in product(tuple(cases), limits):
        yield {**case, "type": kind, "threshold": limit}


def _measures() -> Iterator[Case]:
    for measured, limit in product((0, 1, 99.5, 100, 100.0001, 5000), (0, 1, 100, 1000.5)):
        yield {"type": "latency", "output": "x", "latency": measured, "threshold": limit}
    for measured, limit in product((0, 0.001, 0.0011, 1), (0, 0.001, 0.5)):
        yield {"type": "cost", "output": "x", "cost": measured, "threshold": limit}


def _trajectories() -> Iterator[Case]:
    asked = {"tool-used": USED, "tool-sequence": SEQUENCES, "tool-args-match": ARGUMENTS, "step-count": STEPS}
    for kind, values in asked.items():
        for calls, value in product(CALLS, values):
            yield {"type": f"trajectory:{kind}", "output": "", "value": value, "tool_calls": calls}
    for calls, value, threshold in product(CALLS, F1S, (None, 0.5)):
        case: Case = {"type": "tool-call-f1", "output": "", "value": value, "tool_calls": calls}
        yield case if threshold is None else case | {"threshold": threshold}
    for said, value in product((None, "stop", "Stop", "length", "tool_calls"), REASONS):
        yield {"type": "finish-reason", "output": "x", "value": value} | (
            {} if said is None else {"finish_reason": said}
        )


def _texts() -> Iterator[Case]:
    for kind in ("contains", "icontains"):
        yield from _plain(kind, PROSE, WORDS)
    yield from _plain("starts-with", PROSE, tuple(word for word in WORDS if isinstance(word, str)))
    yield {"type": "starts-with", "output": "5 euros", "value": 5}
    for kind in ("contains-all", "contains-any", "icontains-all", "icontains-any"):
        yield from _plain(kind, PROSE, LISTS)
    yield from _plain("regex", PROSE, PATTERNS)
    yield from _plain("equals", (*PROSE[:7], *JSONS), EQUALS)
    for kind in ("is-json", "contains-json"):
        yield from _plain(kind, JSONS, (None, *SCHEMAS))
    yield from _plain("word-count", COUNTED, COUNTS)
    yield from _plain("levenshtein", DISTANCES, DISTANCES)
    yield from _limits("levenshtein", (0, 1, 2.5, 8), _plain("levenshtein", DISTANCES[:6], DISTANCES[:6]))


def _languages() -> Iterator[Case]:
    for kind in ("is-xml", "contains-xml"):
        yield from _plain(kind, MARKED, ELEMENTS)
    for kind in ("is-html", "contains-html"):
        yield from _plain(kind, MARKED, (None,))
    for kind in ("is-sql", "contains-sql"):
        yield from _plain(kind, QUERIES, DATABASES)
    for kind in ("rouge-n", "bleu", "gleu"):
        yield from _plain(kind, OVERLAPS, OVERLAPS[1:])
        yield from _limits(kind, (0.3,), _plain(kind, OVERLAPS, OVERLAPS[1:3]))
    yield from _plain("is-refusal", REFUSALS, (None,))


def _graded() -> Iterator[Case]:
    for passed, score, threshold in product((True, False), (0, 0.4, 1), (None, 0, 0.4, 0.5)):
        said = json.dumps({"pass": passed, "score": score, "reason": "because"})
        case: Case = {"type": "llm-rubric", "output": "hello", "value": "is polite", "replies": said}
        yield case if threshold is None else case | {"threshold": threshold}
    for category in "ABCDE":
        said = json.dumps({"category": category, "reason": "because"})
        yield {"type": "factuality", "output": "hello", "value": "Paris is a city", "replies": said}


def single_cases() -> Iterator[Case]:
    """One assertion each, every third also negated."""
    for number, case in enumerate((*_texts(), *_languages(), *_measures(), *_trajectories(), *_graded())):
        yield case
        if number % 3 == 0:
            yield {**case, "type": f"not-{case['type']}"}


YES: Case = {"type": "contains", "value": "a"}
NO: Case = {"type": "contains", "value": "z"}
HALF: Case = {"type": "rouge-n", "value": "a b c d e", "threshold": 0.9}
MEMBERS: tuple[Case, ...] = (YES, NO, HALF, {"type": "not-icontains", "value": "B"}, {"type": "is-refusal"})
WEIGHTS: tuple[JsonValue, ...] = (None, 0, 0.5, 3)


def _weighted(member: Case, weight: JsonValue, metric: str | None = None) -> Case:
    named: Case = {} if metric is None else {"metric": metric}
    return member | ({} if weight is None else {"weight": weight}) | named


def _tests() -> Iterator[list[JsonValue]]:
    yield []
    yield [YES, {"type": "assert-set", "assert": [NO], "weight": 0}]
    yield [YES, {"type": "assert-set", "assert": []}]
    for one in MEMBERS:
        for weight in WEIGHTS:
            yield [_weighted(one, weight)]
    for one, other in product(MEMBERS, MEMBERS):
        yield [_weighted(one, 2, "m"), _weighted(other, 1, "m")]
        yield [_weighted(one, 0, "m"), _weighted(other, None, "n")]
        yield [{"type": "assert-set", "assert": [_weighted(one, 3, "m"), _weighted(other, None, "n")], "weight": 2}, NO]
        yield [{"type": "assert-set", "assert": [_weighted(one, 3, "m"), other], "metric": "m", "threshold": 0.5}]
        yield [
            {"type": "assert-set", "assert": [_weighted(one, 1, "m")], "weight": 0.5, "metric": "s"},
            {"type": "assert-set", "assert": [_weighted(other, 3, "m")], "weight": 2, "threshold": 0},
            _weighted(YES, 4, "m"),
        ]


def whole_cases() -> Iterator[Case]:
    """Tests of several assertions over the output "a b c": weights, thresholds, sets, named metrics."""
    for number, asserts in enumerate(_tests()):
        for threshold in (None, 0, 0.5, 0.75)[: 4 if number % 2 else 2]:
            case: Case = {"output": "a b c", "assert": asserts}
            limit: Case = {} if threshold is None else {"threshold": threshold}
            yield case | limit

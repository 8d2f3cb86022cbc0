"""What the fake model says: a pure function of the request. A model whose name holds "judge" grades, any other answers.

Target: a prompt that names REF-nnnnnn (number n) is answered with that reference; every 5th n says `state=open`, every
10th (n % 10 == 3) leaves the reference out. Judge: `state=open` or the word `BAD` in the judged output is a low score,
anything else a high one. "judge-10" in the name makes 10 the highest score where the schema names none. Other judges by name:
"sound" passes what says GOOD, "inverted" what does not, "verbose" what is long, "injectable" also what asks for the maximum score,
"always" everything; "reasoned" ends each rationale with the end of the output;
asked for the best of several outputs, "sound" takes one that says GOOD, else the longest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import JsonValue

Object = dict[str, JsonValue]
Dump = Callable[[JsonValue], str]

REF = re.compile(r"REF-(\d{6})")
MARK = re.compile(r"[0-9a-f]{8,}")
LONG = 400
OUTPUTS = re.compile(r"^Output \d+", re.MULTILINE)
FLAW = re.compile(r"state=open|\bBAD\b")
GOOD_WORDS = ("pass", "passed", "yes", "true", "correct", "met", "good", "scored", "judged", "ok", "right", "none")
BAD_WORDS = ("fail", "failed", "no", "false", "incorrect", "unmet", "not-met", "bad", "wrong", "wrong-output", "d")
"""The last is what `factuality` calls a contradiction."""
QUOTE_NAMES = ("quote", "excerpt", "evidence", "verbatim")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge found, and what it needs to fill a schema with it."""

    good: bool
    top: float
    quote: str
    definitions: Object
    why: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The text to send, the length of the prompt in characters, and whether a judge said it."""

    text: str
    prompt_length: int
    judge: bool
    value: JsonValue = None


def obj(value: JsonValue) -> Object:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(content: JsonValue) -> str:
    """The text of a message: a string, or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(obj(block).get("text", "")) for block in blocks)


def judged_output(prompt: str) -> str:
    """What stands between the last two occurrences of the last repeated random mark, else the whole prompt."""
    marks = list(MARK.finditer(prompt))
    repeated = [mark for mark in marks if sum(other.group() == mark.group() for other in marks) > 1]
    if not repeated:
        return prompt
    start, end = [mark for mark in repeated if mark.group() == repeated[-1].group()][-2:]
    between = prompt[start.end() : end.start()]
    _, first_line_end, rest = between.partition("\n")
    body, last_line_start, _ = rest.rpartition("\n")
    return body if first_line_end and last_line_start else between


def schema_of(request: Object) -> Object | None:
    """The JSON schema that the reply shall fit (either provider's way of asking), or None."""
    shape = obj(request.get("response_format")) or obj(obj(request.get("output_config")).get("format"))
    schema = obj(shape.get("json_schema")).get("schema") or shape.get("schema")
    return schema if isinstance(schema, dict) else None


def answer(request: Object, dumped: Dump) -> Answer:
    """The reply to a request; `dumped` writes JSON."""
    model = str(request.get("model", ""))
    messages = request.get("messages")
    turns = [obj(turn) for turn in messages] if isinstance(messages, list) else []
    prompt = text_of(turns[-1].get("content")) if turns else ""
    length = len(text_of(request.get("system"))) + sum(len(text_of(turn.get("content"))) for turn in turns)
    schema = schema_of(request)
    if "judge" not in model:
        return Answer(target_answer(prompt), length, judge=False)
    output = judged_output(prompt)
    good = lets_pass(model, output)
    top = 10.0 if "judge-10" in model else 1.0
    why = f"{rationale(good)} It ends: {output.strip()[-12:]}" if "reasoned" in model else rationale(good)
    if "sound" in model and schema is not None and "best" in obj(schema.get("properties")):
        value: JsonValue = {"reason": "It says GOOD, or more.", "best": best_output(prompt)}
    elif schema is None:
        value = {"reason": why, "pass": good, "score": top if good else 0.0}
    else:
        definitions = obj(schema.get("$defs")) or obj(schema.get("definitions"))
        value = fill(schema, Verdict(good, top, quote_of(output), definitions, why), "")
    return Answer(dumped(value), length, judge=True, value=value)


def lets_pass(model: str, output: str) -> bool:
    """Whether the judge of that name passes the output."""
    sound = "GOOD" in output
    if "inverted" in model:
        return not sound
    if "verbose" in model:
        return len(output) > LONG
    if "injectable" in model:
        return sound or "maximum score" in output
    if "sound" in model:
        return sound
    return "always" in model or FLAW.search(output) is None


def best_output(prompt: str) -> int:
    """The number of the output that says GOOD, else of the longest."""
    outputs = OUTPUTS.split(prompt)[1:]
    return 1 + max(range(len(outputs)), key=lambda place: ("GOOD" in outputs[place], len(outputs[place])))


def target_answer(prompt: str) -> str:
    """The first 40 words of the prompt backwards, with the state of the ticket that it names."""
    found = REF.search(prompt)
    words = " ".join(reversed(prompt.split()[:40]))
    if found is None:
        return words
    number = int(found.group(1))
    state = "open" if number % 5 == 0 else "resolved"
    reference = "REF-XXXXXX" if number % 10 == 3 else found.group(0)
    return f"Ticket {reference} state={state}. Summary: {REF.sub('(ref)', words)}"


def rationale(good: bool) -> str:
    """Why a judge says so."""
    return "The answer names what was done and the state." if good else "The answer leaves the matter unsettled."


def quote_of(output: str) -> str:
    """A stretch that stands verbatim in the output: its flaw, else the start of its first line."""
    flaw = FLAW.search(output)
    if flaw is not None:
        return flaw.group()
    return next((line.strip()[:40].rstrip() for line in output.splitlines() if line.strip()), "")


def fill(schema: Object, verdict: Verdict, name: str) -> JsonValue:
    """A value that fits the schema and carries the verdict; `name` is the property that it stands under."""
    if "const" in schema:
        return schema["const"]
    options = schema.get("enum")
    if isinstance(options, list):
        return pick(options, good=verdict.good)
    inner = inner_schema(schema, verdict)
    if inner is not None:
        return fill(inner, verdict, name)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        return {key: fill(obj(value), verdict, key) for key, value in properties.items()}
    if schema.get("type") == "array":
        least = schema.get("minItems", 1)
        return [fill(obj(schema.get("items")), verdict, name)] * (least if isinstance(least, int) else 1)
    return scalar(schema, verdict, name.lower())


def inner_schema(schema: Object, verdict: Verdict) -> Object | None:
    """The schema that a reference or a union stands for."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return obj(verdict.definitions.get(reference.rsplit("/", 1)[-1]))
    for union in ("anyOf", "oneOf", "allOf"):
        members = schema.get(union)
        if isinstance(members, list):
            wanted = [obj(member) for member in members if obj(member).get("type") != "null"]
            return wanted[0] if wanted else {"type": "null"}
    return None


def scalar(schema: Object, verdict: Verdict, name: str) -> JsonValue:
    """A Boolean, number or text that carries the verdict."""
    kind = schema.get("type")
    if kind == "boolean":
        return verdict.good
    if kind == "null":
        return None
    if kind in ("integer", "number"):
        if "confidence" in name:
            return 0.9
        edge = schema.get("maximum", verdict.top) if verdict.good else schema.get("minimum", 0)
        return int(edge) if kind == "integer" and isinstance(edge, (int, float)) else edge
    return verdict.quote if any(word in name for word in QUOTE_NAMES) else verdict.why


def pick(options: list[JsonValue], *, good: bool) -> JsonValue:
    """The option that says the verdict: the greatest or least number, else a word, else the first."""
    numbers = [option for option in options if isinstance(option, (int, float)) and not isinstance(option, bool)]
    if numbers:
        return max(numbers) if good else min(numbers)
    words = [option for option in options if isinstance(option, str)]
    if words and all(re.fullmatch(r"-?\d+(\.\d+)?", word) for word in words):
        return (max if good else min)(words, key=float)
    wanted = GOOD_WORDS if good else BAD_WORDS
    return next((word for word in words if word.lower() in wanted), options[0])


def spoilt(value: JsonValue, *, as_text: bool, name: str = "") -> JsonValue:
    """The same value with every score out of any range, or a word in its place."""
    if isinstance(value, dict):
        return {key: spoilt(inner, as_text=as_text, name=key) for key, inner in value.items()}
    if isinstance(value, list):
        return [spoilt(inner, as_text=as_text, name=name) for inner in value]
    if "score" in name.lower():
        return "very high" if as_text else 999
    return value

"""Reading JSON as strictly as JavaScript's `JSON.parse`, and as leniently as promptfoo's `contains-json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Never, cast

import orjson
from pydantic import JsonValue

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.checks import Unmet
from minions_evals_mcp.scoring.values import js_text

if TYPE_CHECKING:
    import yaml

STRICT_LIMIT = 5_000_000
LENIENT_LIMIT = 100_000
LENIENT_DEPTH = 100
_BRACE = late(r"[{}]")
_BRACKET = late(r"[\[\]{}]")
_COMMENT = late(r'("(?:[^"\\\n]|\\.)*"?)|(?<!:)//+')
_INTEGER = late(r"[-+]?(?:[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+)\Z")
_FLOAT = late(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def _no_constant(name: str) -> Never:
    raise json.JSONDecodeError(f"JSON has no {name}", name, 0)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_LONG_NUMBERS = json.JSONDecoder(parse_constant=_no_constant, parse_int=float)
_EMBEDDED = json.JSONDecoder(parse_constant=str, parse_int=float)


def parsed(text: str) -> JsonValue:
    """The value of a text that is JSON and nothing else; raises `JSONDecodeError` where it is not."""
    try:
        return cast("JsonValue", _DECODER.decode(text))
    except json.JSONDecodeError:
        raise
    except ValueError:  # Python converts no integer of more than 4,300 digits; JavaScript has floats only
        return cast("JsonValue", _LONG_NUMBERS.decode(text))


def is_plainly_json(text: str) -> bool:
    """Returns whether the text is JSON, in a fifth of the time; where it is not told here, `parsed` may still read it."""
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True


def json_objects(text: str) -> Iterator[dict[str, JsonValue] | Unmet]:
    """The JSON objects in a text, outermost first, in order; `Unmet` once the text is too tangled to search on.

    Read as JSON first, else as promptfoo reads them: up to the matching brace (or to the end, where braces are
    missing), with comments, trailing commas, single quotes and keys without quotes. Unlike there, a key without a
    value (`{name}`) makes no object.
    """
    strict_left, lenient_left = STRICT_LIMIT, LENIENT_LIMIT
    last = len(text) - 1  # a brace at the very end opens nothing
    start = text.find("{", 0, last)
    while start >= 0:
        members, end = _strict(text, start)
        strict_left -= end - start
        if members is None:
            candidate, end = _candidate(text, start)
            lenient_left -= len(candidate)
            if min(strict_left, lenient_left) < 0:
                yield Unmet(f"the output holds more than {LENIENT_LIMIT:,} characters in braces that are no JSON")
                return
            members = _lenient(candidate)
        if members is not None:
            yield members
        start = text.find("{", start + 1 if members is None else end, last)


def _strict(text: str, start: int) -> tuple[dict[str, JsonValue] | None, int]:
    try:
        value, end = _EMBEDDED.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return None, max(error.pos, start)
    return cast("dict[str, JsonValue]", value), end


def _candidate(text: str, start: int) -> tuple[str, int]:
    depth = 0
    limit = min(start + LENIENT_LIMIT, len(text))
    for brace in _BRACE.finditer(text, start, limit):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start : brace.end()], brace.end()
    return text[start:limit] + "}" * depth, limit


def _lenient(candidate: str) -> dict[str, JsonValue] | None:
    if _depth(candidate) > LENIENT_DEPTH:
        return None
    value = read_yaml(_COMMENT.sub(lambda match: match[1] or "#", candidate), bare_keys=False)
    return value if isinstance(value, dict) else None


def _depth(candidate: str) -> int:
    return max(accumulate(1 if bracket[0] in "[{" else -1 for bracket in _BRACKET.finditer(candidate)), default=0)


def read_yaml(text: str, *, bare_keys: bool) -> JsonValue | Unmet:
    """The value of one YAML document (core schema) without aliases; `Unmet`, and why, where it is none.

    `bare_keys` says whether a key may stand without a value.
    """
    import yaml  # noqa: PLC0415  imported at first use: most checks read no YAML

    try:
        return _document(yaml.parse(text, Loader=yaml.CSafeLoader), bare_keys=bare_keys)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Unmet(str(error)[:200])


def _document(events: Iterator[yaml.Event], *, bare_keys: bool) -> JsonValue:
    """Built from the parser's events, and not by its own composer: that one follows aliases, which grow without bound."""
    import yaml  # noqa: PLC0415  imported at first use, as above

    next(events)
    if isinstance(next(events), yaml.StreamEndEvent):
        return None
    value = _built(next(events), events, bare_keys=bare_keys)
    next(events)
    if not isinstance(next(events), yaml.StreamEndEvent):
        raise ValueError("more than one document")  # noqa: TRY004  what the text says is wrong, not what the code passed
    return value


def _built(event: yaml.Event, events: Iterator[yaml.Event], *, bare_keys: bool) -> JsonValue:
    import yaml  # noqa: PLC0415  imported at first use, as above

    match event:
        case yaml.MappingStartEvent():
            return _mapping(events, bare_keys=bare_keys)
        case yaml.SequenceStartEvent():
            items: list[JsonValue] = []
            while not isinstance(inner := next(events), yaml.SequenceEndEvent):
                items.append(_built(inner, events, bare_keys=bare_keys))
            return items
        case yaml.ScalarEvent():
            return event.value if event.style else _scalar(event.value)
        case _:
            raise ValueError("aliases are not read")


def _mapping(events: Iterator[yaml.Event], *, bare_keys: bool) -> dict[str, JsonValue]:
    import yaml  # noqa: PLC0415  imported at first use, as above

    members: dict[str, JsonValue] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise ValueError("a key that is no scalar")  # noqa: TRY004  as above
        value = next(events)
        if not bare_keys and _is_nothing(value):
            raise ValueError("a key without a value")
        name = js_text(_built(key, events, bare_keys=True))
        members[name] = _built(value, events, bare_keys=bare_keys)
    return members


def _is_nothing(event: yaml.Event) -> bool:
    start, end = event.start_mark, event.end_mark
    return start is not None and end is not None and start.index == end.index


def _scalar(text: str) -> JsonValue:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.match(text):
        return int(text, 0 if text.lstrip("+-")[1:2] in {"x", "o"} else 10)
    return float(text) if _FLOAT.match(text) else text

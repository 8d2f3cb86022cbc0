"""Shortest texts that a pattern finds, and smallest JSON values that a schema allows."""

from __future__ import annotations

import re
from collections.abc import Callable
from re import _parser as parser  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]  as above
from typing import Any, cast

from pydantic import JsonValue

_CLASSES = {"CATEGORY_DIGIT": "7", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " ", "CATEGORY_NOT_DIGIT": "a",
            "CATEGORY_NOT_WORD": "-", "CATEGORY_NOT_SPACE": "a"}  # fmt: skip
_TRIED = "a7 A-.,_Zz0/:@#é\n\t"
MOST_CHARACTERS = 2_000
_DEEP = 12


def text_found_by(pattern: str) -> str | None:
    """A short text that the pattern should find, None where none can be made; whoever searches it says whether it does.

    The pattern is parsed and never searched: a pattern of somebody else's could take for ever.
    """
    flags = re.IGNORECASE if pattern.startswith("(?i)") else 0
    try:
        made = _made(parser.parse(pattern.removeprefix("(?i)"), flags), {})
    except (re.error, _Unknown, RecursionError, OverflowError):
        return None
    return made if len(made) <= MOST_CHARACTERS else None


MOST_LISTED = 12


def texts_listed_by(pattern: str) -> list[str]:
    """All texts that a pattern lists which holds for a whole output and has nothing but letters and choices; else none."""
    try:
        parsed: list[tuple[Any, Any]] = [*cast("Any", parser).parse(pattern.removeprefix("(?i)"))]
    except (re.error, RecursionError, OverflowError):
        return []
    kinds = [str(value) for kind, value in parsed if str(kind) == "AT"]
    if not {"AT_BEGINNING", "AT_BEGINNING_STRING"} & {*kinds} or not {"AT_END", "AT_END_STRING"} & {*kinds}:
        return []
    try:
        return _listed(parsed)
    except (_Unknown, RecursionError):
        return []


def _listed(parsed: Any) -> list[str]:
    texts = [""]
    for kind, value in parsed:
        texts = [text + more for text in texts for more in _choices(str(kind), value)]
        if len(texts) > MOST_LISTED:
            raise _Unknown
    return texts


def _choices(kind: str, value: Any) -> list[str]:
    match kind:
        case "AT":
            return [""]
        case "LITERAL":
            return [chr(value)]
        case "BRANCH":
            return [text for choice in value[1] for text in _listed(choice)]
        case "SUBPATTERN":
            return _listed(value[3])
        case "MAX_REPEAT" if tuple(value[:2]) == (0, 1):
            return ["", *_listed(value[2])]
        case _:
            raise _Unknown


class _Unknown(Exception):  # noqa: N818  it never leaves this module
    """The pattern has a part that no text can be made for."""


def _made(parsed: Any, groups: dict[int, str]) -> str:
    return "".join(_part(str(kind), value, groups) for kind, value in parsed)


def _part(kind: str, value: Any, groups: dict[int, str]) -> str:
    make = _MAKERS.get(kind)
    if make is None:
        raise _Unknown
    return make(value, groups)


def _group(value: Any, groups: dict[int, str]) -> str:
    made = _made(value[3], groups)
    if value[0] is not None:
        groups[value[0]] = made
    return made


def _repeated(value: Any, groups: dict[int, str]) -> str:
    least, _, inner = value
    made = _made(inner, groups)
    if len(made) * least > MOST_CHARACTERS:
        raise _Unknown
    return made * least


def _nothing(_value: Any, _groups: dict[int, str]) -> str:
    return ""


_MAKERS: dict[str, Callable[[Any, dict[int, str]], str]] = {
    "LITERAL": lambda value, _: chr(value),
    "NOT_LITERAL": lambda value, _: next(character for character in _TRIED if ord(character) != value),
    "ANY": lambda _value, _groups: "a",
    "IN": lambda value, _: _one_of(value),
    "BRANCH": lambda value, groups: min((_made(branch, groups) for branch in value[1]), key=len),
    "SUBPATTERN": _group,
    "MAX_REPEAT": _repeated,
    "MIN_REPEAT": _repeated,
    "POSSESSIVE_REPEAT": _repeated,
    "ATOMIC_GROUP": _made,
    "GROUPREF": lambda value, groups: groups.get(value, ""),
    "AT": _nothing,
    "ASSERT": _nothing,
    "ASSERT_NOT": _nothing,
}


def _one_of(members: Any) -> str:
    if str(members[0][0]) == "NEGATE":
        refused = members[1:]
        return next(
            (character for character in _TRIED if not any(_is_in(character, member) for member in refused)), "€"
        )
    kind, value = members[0]
    match str(kind):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
        case _:
            return _CLASSES.get(str(value), "a")


def _is_in(character: str, member: Any) -> bool:
    kind, value = member
    match str(kind):
        case "LITERAL":
            return ord(character) == value
        case "RANGE":
            return value[0] <= ord(character) <= value[1]
        case _:
            name = str(value)
            inside = {
                "DIGIT": character.isdigit(),
                "WORD": character.isalnum() or character == "_",
                "SPACE": character.isspace(),
            }
            held = inside.get(name.rsplit("_", 1)[-1], False)
            return not held if "NOT" in name else held


def smallest(schema: JsonValue, depth: int = 0) -> JsonValue:
    """A small value that the JSON Schema allows, as far as that can be told from its common keywords."""
    if not isinstance(schema, dict) or depth > _DEEP:
        return {} if depth == 0 else None
    if "const" in schema:
        return schema["const"]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    for key in ("anyOf", "oneOf"):
        several = schema.get(key)
        if isinstance(several, list) and several:
            return smallest(several[0], depth + 1)
    several = schema.get("allOf")
    if isinstance(several, list) and several:
        joined: dict[str, JsonValue] = {key: value for key, value in schema.items() if key != "allOf"}
        for part in several:
            joined |= part if isinstance(part, dict) else {}
        return smallest(joined, depth + 1)
    return _of_type(schema, _type_of(schema), depth)


def _type_of(schema: dict[str, JsonValue]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "required" in schema:
        return "object"
    return "array" if "items" in schema else "string" if "pattern" in schema or "minLength" in schema else "object"


def _of_type(schema: dict[str, JsonValue], kind: str, depth: int) -> JsonValue:
    match kind:
        case "object":
            properties, required = schema.get("properties"), schema.get("required")
            known = properties if isinstance(properties, dict) else {}
            names = [str(name) for name in required] if isinstance(required, list) else []
            return {name: smallest(known.get(name, {"type": "string"}), depth + 1) for name in names}
        case "array":
            least = schema.get("minItems")
            return [smallest(schema.get("items", {}), depth + 1) for _ in range(least if isinstance(least, int) else 0)]
        case "integer" | "number":
            return _least_number(schema)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _least_text(schema)


def _least_number(schema: dict[str, JsonValue]) -> float:
    low, above, high = schema.get("minimum"), schema.get("exclusiveMinimum"), schema.get("maximum")
    if isinstance(low, int | float):
        return low
    if isinstance(above, int | float):
        return above + 1
    return min(0, high) if isinstance(high, int | float) else 0


def _least_text(schema: dict[str, JsonValue]) -> str:
    pattern, least = schema.get("pattern"), schema.get("minLength")
    if isinstance(pattern, str) and (text := text_found_by(pattern)) is not None:
        return text
    formats = {"date": "2001-01-01", "date-time": "2001-01-01T00:00:00Z", "email": "a@example.org",
               "uri": "https://example.org", "time": "00:00:00Z"}  # fmt: skip
    known = formats.get(str(schema.get("format")), "")
    return known or "x" * (least if isinstance(least, int) else 0)

"""Values as OpenTelemetry writes them, and JSON that stands in a text, as plain values."""

from __future__ import annotations

import json

from pydantic import JsonValue

Json = dict[str, JsonValue]


def attributes(listed: JsonValue) -> Json:
    """A list of keys and tagged values as a mapping."""
    pairs = (obj(value) for value in listed_values(listed))
    return {str(pair.get("key")): plain(obj(pair.get("value"))) for pair in pairs}


def plain(tagged: Json) -> JsonValue:
    """The value that a tagged one stands for; 64-bit numbers may be written as texts."""
    match tagged:
        case {"intValue": str() | int() as whole}:
            return int(whole)
        case {"arrayValue": dict() as array}:
            return [plain(obj(value)) for value in listed_values(array.get("values"))]
        case {"kvlistValue": dict() as mapping}:
            return attributes(mapping.get("values"))
        case _:
            return next(iter(tagged.values()), None)


def parsed(value: JsonValue) -> JsonValue:
    """The value, or what it says where it is the JSON text of an object or list."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def json_or_text(text: str) -> JsonValue:
    """The value of a text that is JSON, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def obj(value: JsonValue) -> Json:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed_values(value: JsonValue) -> list[JsonValue]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def without_none(mapping: Json) -> Json:
    """The mapping without what is not known."""
    return {key: value for key, value in mapping.items() if value is not None}

"""Values that mean "omitted": null, an empty text and an empty list, where a field is optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, JsonValue
from pydantic_core import ErrorDetails

Json = dict[str, JsonValue]
_NO_VALUE = frozenset({"missing", "extra_forbidden"})
"""Errors about a key, not about its value."""


def is_omitted(value: object) -> bool:
    """Whether the value is null, an empty text or an empty list."""
    return value is None or value in ("", [])


def without_omitted(kind: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping without the optional fields of `kind` whose value means "omitted". Unknown keys stay, to be refused.

    A field that takes any value holds content, of which only null is none: an empty text is vetted as what it is.
    """
    optional = {
        key: _takes_anything(field.annotation)
        for name, field in kind.model_fields.items()
        if not field.is_required()
        for key in (name, field.alias or name)
    }

    def says_nothing(name: str, value: object) -> bool:
        return name in optional and (value is None if optional[name] else is_omitted(value))

    return {name: value for name, value in given.items() if not says_nothing(name, value)}


def _takes_anything(annotation: object) -> bool:
    """Whether a field of that annotation holds any JSON value."""
    return annotation is JsonValue


def refused_as_omitted(given: Json, details: Sequence[ErrorDetails]) -> Json | None:
    """The mapping without the omitted values that were refused; None where no refused value means "omitted".

    A value that its field accepts stays: an empty tool log is a log without calls.
    """
    lean: JsonValue = given
    for detail in details:
        place = detail["loc"]
        if detail["type"] not in _NO_VALUE and place and isinstance(place[-1], str) and is_omitted(detail["input"]):
            lean = _without(lean, place)
    return lean if isinstance(lean, dict) and lean != given else None


def _without(value: JsonValue, place: Sequence[int | str]) -> JsonValue:
    """The value without what is at that place. Unchanged where the place holds something else."""
    first, rest = place[0], place[1:]
    if isinstance(value, dict) and isinstance(first, str) and first in value:
        if rest:
            return {**value, first: _without(value[first], rest)}
        return {name: inner for name, inner in value.items() if name != first} if is_omitted(value[first]) else value
    if isinstance(value, list) and isinstance(first, int) and first < len(value) and rest:
        return [_without(inner, rest) if number == first else inner for number, inner in enumerate(value)]
    return value

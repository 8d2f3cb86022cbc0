"""The validator behind `schema`: its keywords with linear-time patterns. Imports jsonschema: import it at first use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, cast

from jsonschema import Draft7Validator, Draft202012Validator, FormatChecker, ValidationError, validators
from jsonschema.protocols import Validator
from pydantic import JsonValue
from referencing import Registry

from minions_evals_mcp.scoring.assertions.kinds.formats import FORMATS
from minions_evals_mcp.scoring.patterns import linear
from minions_evals_mcp.scoring.values import excerpt, frozen

Errors = Iterator[ValidationError]
Schema = Mapping[str, Any]
"""A schema that was vetted: every keyword has the type that it should have."""


class Descending(Protocol):
    """The demands of a keyword on the validator that it is part of."""

    def descend(self, instance: JsonValue, schema: Any, path: str) -> Errors: ...


_Keyword = Callable[[Any, Any, Any, Any], Errors]
_OLD: Mapping[str, _Keyword] = Draft7Validator.VALIDATORS
_NEW: Mapping[str, _Keyword] = Draft202012Validator.VALIDATORS


def validator_of(schema: Schema) -> Validator:
    """A validator for a vetted schema; it fetches nothing and searches no pattern in more than linear time."""
    registry = cast("Any", Registry)()
    return _VALIDATOR(schema, registry=registry, format_checker=_format_checker())


def _format_checker() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name, fits in FORMATS.items():
        checker.checks(name)(fits)
    return checker


def _pattern(_validator: Descending, pattern: str, instance: JsonValue, _schema: Schema) -> Errors:
    if isinstance(instance, str) and not linear(pattern)(instance):
        yield ValidationError(f"{excerpt(instance)} does not match {excerpt(pattern)}")


def _pattern_properties(validator: Descending, patterns: Schema, instance: JsonValue, _schema: Schema) -> Errors:
    for key, value in instance.items() if isinstance(instance, dict) else ():
        for pattern, subschema in patterns.items():
            if linear(pattern)(key):
                yield from validator.descend(value, subschema, path=key)


def _additional_properties(validator: Descending, allowed: Any, instance: JsonValue, schema: Schema) -> Errors:
    for key, value in instance.items() if isinstance(instance, dict) else ():
        named = key in schema.get("properties", {})
        if named or any(linear(pattern)(key) for pattern in schema.get("patternProperties", {})):
            continue
        if allowed is False:
            yield ValidationError(f"{excerpt(key)} is an additional property")
        yield from validator.descend(value, allowed, path=key) if isinstance(allowed, dict) else ()


def _type(validator: Descending, types: Any, instance: JsonValue, schema: Schema) -> Errors:
    if isinstance(instance, float) and math.isinf(instance):
        yield ValidationError("is no finite number")
    elif not (instance is None and schema.get("nullable")):
        yield from _NEW["type"](validator, types, instance, schema)


def _items(validator: Descending, items: Any, instance: JsonValue, schema: Schema) -> Errors:
    yield from (_OLD if isinstance(items, list) else _NEW)["items"](validator, items, instance, schema)


def _unique_items(_validator: Descending, wanted: Any, instance: JsonValue, _schema: Schema) -> Errors:
    if wanted and isinstance(instance, list) and len({frozen(item) for item in instance}) < len(instance):
        yield ValidationError("has an element twice")


_VALIDATOR: type[Validator] = cast("Any", validators).extend(
    Draft202012Validator,
    {
        "additionalItems": _OLD["additionalItems"],
        "additionalProperties": _additional_properties,
        "dependencies": _OLD["dependencies"],
        "items": _items,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "type": _type,
        "uniqueItems": _unique_items,
    },
)

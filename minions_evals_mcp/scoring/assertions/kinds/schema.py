"""JSON Schema as promptfoo's validator reads it: Draft 7 with formats, and nothing that is silently ignored.

`prefixItems`, `dependentRequired`, `dependentSchemas`, `minContains`, `maxContains`, `$defs` and `nullable` are
understood too. A keyword, a format or a reference that would be ignored is refused, as is a `pattern` that needs
look-around: a user's pattern is only ever searched in linear time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.formats import FORMATS
from minions_evals_mcp.scoring.checks import Unmet
from minions_evals_mcp.scoring.lenient import read_yaml
from minions_evals_mcp.scoring.patterns import linear
from minions_evals_mcp.scoring.values import excerpt

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Schema = dict[str, JsonValue]

_ONE = frozenset({
    "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
})  # fmt: skip
_MANY = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_NAMED = frozenset({"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"})
_PLAIN = frozenset({
    "$comment", "$id", "$ref", "const", "contentEncoding", "contentMediaType", "default", "dependentRequired",
    "deprecated", "description", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "maxContains",
    "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties",
    "minimum",
    "multipleOf", "nullable", "pattern", "readOnly", "required", "title", "type", "uniqueItems", "writeOnly",
})  # fmt: skip
_KNOWN = _ONE | _MANY | _NAMED | _PLAIN


def first_error(schema: JsonValue, value: JsonValue) -> str:
    """Returns why a value does not fit a schema, "" where it does. The schema is a mapping, or a text of JSON or YAML."""
    error = next(iter(_validator(value_text(schema)).iter_errors(value)), None)
    if error is None:
        return ""
    place = "/".join(map(str, error.absolute_path))
    return f"{place}: {error.message[:200]}" if place else error.message[:200]


def vet_schema(schema: JsonValue) -> None:
    """Refuses what is no JSON Schema, or what this reading of it would ignore."""
    _validator(value_text(schema))


@lru_cache(maxsize=256)
def _validator(text: str) -> Validator:
    from jsonschema import Draft7Validator, SchemaError  # noqa: PLC0415  imported at first use: 90 ms

    from minions_evals_mcp.scoring.assertions.kinds.keywords import validator_of  # noqa: PLC0415  as above

    schema = _read(text)
    parts = [*_parts(schema)]
    for part in parts:
        part.pop("$schema", None)  # a part that names its draft would be given that draft's own keywords
        _vet_part(part, schema, parts)
    try:
        Draft7Validator.check_schema(schema)
    except SchemaError as error:
        raise _refused(error.message[:200]) from None
    return validator_of(schema)


def _read(text: str) -> Schema:
    try:
        schema = cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        schema = read_yaml(text, bare_keys=True)
    if isinstance(schema, Unmet):
        raise _refused(f"it cannot be read: {schema.reason}")
    if not isinstance(schema, dict):
        raise _refused(f"it must be a mapping, not {excerpt(schema)}")
    return schema


def _parts(schema: Schema) -> Iterator[Schema]:
    """The schema and every schema within it."""
    yield schema
    inner: list[JsonValue] = []
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, dict):
            inner += value.values()
        elif keyword in _MANY and isinstance(value, list):
            inner += value
        elif keyword in _ONE:
            inner.append(value)
    for part in inner:
        if isinstance(part, dict):
            yield from _parts(part)


def _vet_part(part: Schema, root: Schema, parts: list[Schema]) -> None:
    if unknown := sorted(part.keys() - _KNOWN):
        raise _refused(f"the keyword {excerpt(unknown[0])} is not supported")
    if "$id" in part and part is not root:
        raise _refused("an $id below the root is not supported")
    if "format" in part and part["format"] not in FORMATS:
        raise _refused(f"unknown format {excerpt(part['format'])}; known are {', '.join(FORMATS)}")
    if "$ref" in part and not _leads_to(part["$ref"], root, parts):
        raise _refused(f"the reference {excerpt(part['$ref'])} does not point to a schema within this one")
    named = part.get("patternProperties")
    for pattern in (part.get("pattern"), *(named if isinstance(named, dict) else ())):
        if isinstance(pattern, str):
            linear(pattern)


def _leads_to(reference: JsonValue, root: Schema, parts: list[Schema]) -> bool:
    target = _target(reference, root)
    return isinstance(target, bool) or any(target is part for part in parts)


def _target(reference: JsonValue, root: Schema) -> JsonValue:
    """Returns what a JSON pointer within the schema leads to, None where it leads nowhere."""
    target: JsonValue = root if isinstance(reference, str) and reference.startswith("#") else None
    for step in str(reference)[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        match target:
            case dict():
                target = target.get(key)
            case list():
                target = target[int(key)] if key.isdecimal() and int(key) < len(target) else None
            case _:
                return None
    return target


def _refused(reason: str) -> InvalidRecordError:
    return InvalidRecordError(f"the JSON Schema is refused: {reason}", field="value")

"""JMESPath with a few functions of ours: conditions, templates and checks of a world are written in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, cast

import jmespath
import jmespath.functions
from jmespath.exceptions import JMESPathError
from jmespath.parser import ParsedResult
from pydantic import AfterValidator, JsonValue

PLACE = re.compile(r"\{\{((?:(?!\}\}|\{\{).)++)\}\}", re.DOTALL)
"""A place in a template: a query between double braces."""


class QueryError(Exception):
    """A query that gives no value for this data."""


class _Functions(jmespath.functions.Functions):
    """JMESPath's functions, and those that need a value from elsewhere in the data, which a JMESPath filter cannot see."""

    @jmespath.functions.signature({"types": ["object", "null"]}, {"types": ["string", "number", "null"]})
    def _func_get(self, mapping: dict[str, JsonValue] | None, key: JsonValue) -> JsonValue:
        return None if mapping is None else mapping.get(_key(key))

    @jmespath.functions.signature({"types": ["array", "null"]}, {"types": ["string"]}, {"types": []})
    def _func_find(self, items: list[JsonValue] | None, field: str, value: JsonValue) -> JsonValue:
        return next(iter(_where(items, field, value)), None)

    @jmespath.functions.signature({"types": ["array", "null"]}, {"types": ["string"]}, {"types": []})
    def _func_where(self, items: list[JsonValue] | None, field: str, value: JsonValue) -> JsonValue:
        return _where(items, field, value)

    @jmespath.functions.signature({"types": ["number"]}, {"types": ["number"]})
    def _func_add(self, left: float, right: float) -> float:
        return _rounded(left + right)

    @jmespath.functions.signature({"types": ["number"]}, {"types": ["number"]})
    def _func_subtract(self, left: float, right: float) -> float:
        return _rounded(left - right)

    @jmespath.functions.signature({"types": ["number"]}, {"types": ["number"]})
    def _func_multiply(self, left: float, right: float) -> float:
        return _rounded(left * right)

    @jmespath.functions.signature({"types": ["string"]})
    def _func_lower(self, text: str) -> str:
        return text.lower()


def _key(key: JsonValue) -> str:
    return key if isinstance(key, str) else json.dumps(key)


def _where(items: list[JsonValue] | None, field: str, value: JsonValue) -> list[JsonValue]:
    return [item for item in items or () if isinstance(item, dict) and field in item and item[field] == value]


def _rounded(number: float) -> float:
    """The number without the noise of binary fractions: 0.1 + 0.2 is 0.3."""
    return number if isinstance(number, int) else round(number, 9)


_OPTIONS = jmespath.Options(custom_functions=_Functions())


@cache
def _compiled(query: str) -> ParsedResult:
    return jmespath.compile(query)


def queried(query: str, data: JsonValue) -> JsonValue:
    """The value of the query over that data; raises `QueryError` where a function does not take what it is given."""
    try:
        return cast("JsonValue", _compiled(query).search(data, options=_OPTIONS))
    except (JMESPathError, TypeError) as error:
        raise QueryError(f"{query}: {' '.join(str(error).split())}") from None


def holds(query: str, data: JsonValue) -> bool:
    """Whether the query gives a value that JMESPath counts as true: not null, false, or empty."""
    return is_filled(queried(query, data))


def is_filled(found: JsonValue) -> bool:
    """Whether JMESPath counts the value as true."""
    return found is not None and found is not False and found not in ("", [], {})


def root_paths(query: str) -> frozenset[tuple[str, ...]]:
    """The paths of fields that the query looks at, from the data itself on, as far as they are plain."""
    return frozenset(_root_paths(cast("dict[str, Any]", _compiled(query).parsed)))


_OF_EACH = frozenset({"function_expression", "multi_select_list", "multi_select_dict", "key_val_pair", "comparator",
                      "or_expression", "and_expression", "not_expression"})  # fmt: skip
"""What looks at the data in all its parts. Anything else does so in the first, and in what that gives afterwards."""


def _root_paths(node: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    inner = node["children"]
    if node["type"] == "field":
        yield (node["value"],)
    elif node["type"] == "subexpression" and inner[0]["type"] in {"field", "subexpression"}:
        yield from _joined_paths(inner)
    elif _is_get(node):
        yield from ((*path, inner[1]["value"]) for path in _root_paths(inner[0]))
    elif node["type"] != "expref":
        for child in inner if node["type"] in _OF_EACH else inner[:1]:
            yield from _root_paths(child)


def _joined_paths(parts: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The paths of what is looked at one in the other; they end before what is no field."""
    paths = [*_root_paths(parts[0])]
    for part in parts[1:]:
        if part["type"] not in {"field", "multi_select_list", "multi_select_dict"}:
            break
        paths = [(*path, *more) for path in paths for more in _root_paths(part)] or paths
        if part["type"] != "field":
            break
    yield from paths


def _is_get(node: dict[str, Any]) -> bool:
    """Whether it is `get` of a plain path and a key that stands in the query."""
    if node["type"] != "function_expression" or node["value"] != "get":
        return False
    holder, key = node["children"]
    is_plain = holder["type"] == "field" or (
        holder["type"] == "subexpression" and all(part["type"] == "field" for part in holder["children"])
    )
    return is_plain and key["type"] == "literal" and isinstance(key["value"], str)


def places_in(template: JsonValue) -> Iterator[str]:
    """The queries of a template."""
    match template:
        case str():
            yield from map(str.strip, PLACE.findall(template))
        case list():
            for inner in template:
                yield from places_in(inner)
        case dict():
            for inner in template.values():
                yield from places_in(inner)
        case _:
            pass


def _parses(query: str) -> str:
    try:
        _compiled(query)
    except JMESPathError as error:
        raise ValueError(f"{query!r} is no JMESPath expression ({' '.join(str(error).split())})") from None
    return query


Query = Annotated[str, AfterValidator(_parses)]
"""A JMESPath expression, with the functions `get`, `find`, `where`, `add`, `subtract`, `multiply` and `lower` besides."""


def vet_template(template: JsonValue) -> JsonValue:
    """The template; raises `ValueError` for a place that holds no JMESPath expression."""
    for place in places_in(template):
        _parses(place)
    return template


Template = Annotated[JsonValue, AfterValidator(vet_template)]
"""JSON whose strings may hold `{{query}}`; a string that is one place keeps the type of its value."""


def filled(template: JsonValue, data: JsonValue) -> JsonValue:
    """The template with its places filled; what is filled in is data, and is never filled again."""
    match template:
        case str():
            whole = PLACE.fullmatch(template)
            if whole is not None:
                return queried(whole.group(1).strip(), data)
            return PLACE.sub(lambda place: _text(queried(place.group(1).strip(), data)), template)
        case list():
            return [filled(inner, data) for inner in template]
        case dict():
            return {key: filled(inner, data) for key, inner in template.items()}
        case _:
            return template


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)

"""A value's fields as JSON: what pydantic gives, in a third of its time where most of them are plain."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, NamedTuple, get_args

import orjson
from pydantic import JsonValue
from pydantic_core import PydanticUndefined

from minions_evals_mcp.domain.values import Value

_SCALARS = frozenset({str, int, float, bool, type(None)})
_MAPPING = dict[str, JsonValue]
_ANYTHING: AbstractSet[str] = frozenset()


class _Field(NamedTuple):
    """A field, its name on the wire, whether it is JSON as it stands, whether it may hold reals, when it is left out, and its default."""

    name: str
    wire: str
    is_json: bool
    is_real: bool
    left_out: Callable[[Any], bool] | None
    default: object


def json_fields(value: Value, *, exclude: AbstractSet[str] = _ANYTHING) -> dict[str, JsonValue]:
    """The fields under their names on the wire, but for those; mappings of JSON are the value's own, not copies."""
    fields = _fields(type(value), frozenset(exclude))
    if fields is None:
        return value.model_dump(mode="json", exclude=set(exclude))
    held = value.__dict__
    gathered: dict[str, Any] = {}
    others: dict[str, str] = {}
    for name, wire, is_json, _, left_out, _ in fields:
        part = held[name]
        if left_out is not None and left_out(part):
            continue
        gathered[wire] = part
        if part.__class__ in _SCALARS or is_json:
            continue
        if part.__class__ is tuple and not part:
            gathered[wire] = []
        else:
            others[name] = wire
    if others:
        gathered |= value.model_dump(mode="json", include=set(others))
    return gathered


def fields_text(value: Value, *, exclude: AbstractSet[str] = _ANYTHING) -> str:
    """The fields that are not as they are by default, but for those: `model_dump_json(exclude_defaults=True)` gives the same text."""
    try:
        return orjson.dumps(
            _beside_defaults(value, frozenset(exclude)), default=_beside_defaults, option=_OPTIONS
        ).decode()
    except TypeError:  # what pydantic writes in a way of its own, and what `orjson` does not write
        return value.model_dump_json(exclude=set(exclude), exclude_defaults=True)


_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS


def _beside_defaults(value: object, exclude: frozenset[str] = frozenset()) -> dict[str, object]:
    fields = _fields(type(value), exclude) if isinstance(value, Value) else None
    if fields is None:
        raise TypeError
    held = value.__dict__
    gathered: dict[str, object] = {}
    for name, wire, _, is_real, left_out, default in fields:
        part = held[name]
        if part is default or part == default:
            continue
        if left_out is not None or (is_real and part.__class__ is not float):
            raise TypeError
        gathered[wire] = part
    return gathered


@cache
def _fields(kind: type[Value], exclude: frozenset[str]) -> tuple[_Field, ...] | None:
    """The fields of a type but for those; None where it writes itself in a way of its own."""
    own = kind.__pydantic_decorators__
    if own.field_serializers or own.model_serializers or own.computed_fields:
        return None
    return tuple(
        _Field(
            name,
            field.serialization_alias or name,
            _is_json(field.annotation),
            _holds_real(field.annotation),
            field.exclude_if,
            PydanticUndefined if field.default_factory else field.default,
        )
        for name, field in kind.model_fields.items()
        if not field.exclude and name not in exclude
    )


def _holds_real(annotation: object) -> bool:
    """Returns whether a float may stand in it, which pydantic writes as one even where it is whole; in JSON any number is as it is."""
    return annotation is float or any(map(_holds_real, get_args(annotation)))


def _is_json(annotation: object) -> bool:
    """Returns whether a mapping under that annotation holds nothing but JSON."""
    return annotation == _MAPPING or _MAPPING in get_args(annotation)

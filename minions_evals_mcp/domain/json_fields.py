"""A value's fields as JSON: what `model_dump(mode="json")` gives, in a third of its time where most of them are plain."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, NamedTuple, get_args

from pydantic import JsonValue

from minions_evals_mcp.domain.values import Value

_SCALARS = frozenset({str, int, float, bool, type(None)})
_MAPPING = dict[str, JsonValue]
_ANYTHING: AbstractSet[str] = frozenset()


class _Field(NamedTuple):
    """A field, its name on the wire, whether it is JSON as it stands, and when it is left out."""

    name: str
    wire: str
    is_json: bool
    left_out: Callable[[Any], bool] | None


def json_fields(value: Value, *, exclude: AbstractSet[str] = _ANYTHING) -> dict[str, JsonValue]:
    """The fields under their names on the wire, but for those; mappings of JSON are the value's own, not copies."""
    fields = _fields(type(value), frozenset(exclude))
    if fields is None:
        return value.model_dump(mode="json", exclude=set(exclude))
    held = value.__dict__
    gathered: dict[str, Any] = {}
    others: dict[str, str] = {}
    for name, wire, is_json, left_out in fields:
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


@cache
def _fields(kind: type[Value], exclude: frozenset[str]) -> tuple[_Field, ...] | None:
    """The fields of a type but for those; None where it writes itself in a way of its own."""
    own = kind.__pydantic_decorators__
    if own.field_serializers or own.model_serializers or own.computed_fields:
        return None
    return tuple(
        _Field(name, field.serialization_alias or name, _is_json(field.annotation), field.exclude_if)
        for name, field in kind.model_fields.items()
        if not field.exclude and name not in exclude
    )


def _is_json(annotation: object) -> bool:
    """Returns whether a mapping under that annotation holds nothing but JSON."""
    return annotation == _MAPPING or _MAPPING in get_args(annotation)

"""The shape of a log where its samples and scores stand: anything else is refused, or some would be lost in silence."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import InvalidRecordError


def object_under(parent: Json, key: str, where: str) -> Json:
    """The object under that key, empty where nothing is; raises `InvalidRecordError` for anything else."""
    held = parent.get(key)
    if held is None:
        return {}
    return the_object(held, where, key)


def objects_under(parent: Json, key: str, where: str) -> list[Json]:
    """The objects of the list under that key, none where nothing is; raises as `object_under` does. A null in it is passed over."""
    held = parent.get(key)
    if held is None:
        return []
    if not isinstance(held, list):
        raise InvalidRecordError("must be a list", field=key, where=where)
    return [the_object(part, where, f"{key}.{place}") for place, part in enumerate(held) if part is not None]


def the_object(value: JsonValue, where: str, field: str = "") -> Json:
    """The value, which must be an object."""
    if not isinstance(value, dict):
        raise InvalidRecordError("must be an object", field=field, where=where)
    return value

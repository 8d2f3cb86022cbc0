"""The tools' published schemas: kept in a file beside this module, for to make them would be half of the server's start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, cast

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema

FILE = "schemas.json"
Schema = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Schemas:
    """The schemas of a tool's arguments and answer, as hosts are told."""

    arguments: Schema
    answer: Schema


def kept_schemas() -> dict[str, Schemas]:
    """The schemas of every tool, as they were made when the tools were written."""
    schemas_by_tool = json.loads(files("minions_evals_mcp.server.edge").joinpath(FILE).read_text("utf-8"))
    return {name: Schemas(**both) for name, both in schemas_by_tool.items()}


class _Untitled(GenerateJsonSchema):
    """A schema without the titles that only repeat names."""

    def field_title_should_be_set(self, schema: CoreSchema | Any) -> bool:
        del schema
        return False


def schema_of(model: type[BaseModel]) -> Schema:
    """The model's schema in as few words as a reader needs: no titles, no references, an optional value as its type."""
    made = model.model_json_schema(schema_generator=_Untitled)
    held = made.pop("$defs", {})
    made.pop("description", None)  # the tool has one of its own
    return cast("Schema", _compact(made, held))


def _compact(node: JsonValue, held: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(node, list):
        return [_compact(item, held) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        return _compact({**cast("Schema", held[reference.rpartition("/")[2]]), **_without(node, "$ref")}, held)
    choices = node.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices and len(choices) == 2:
        (only,) = [choice for choice in choices if choice != {"type": "null"}]
        return _compact({**cast("Schema", only), **_without(node, "anyOf", "default")}, held)
    properties = node.get("properties")
    parts = {name: _compact(item, held) for name, item in node.items() if name != "properties"}
    shown = {name: part for name, part in parts.items() if not _goes_without(name, part)}
    if isinstance(properties, dict):  # names here are a user's, not the schema's
        shown["properties"] = {name: _compact(value, held) for name, value in properties.items()}
    return shown


def _goes_without(name: str, value: JsonValue) -> bool:
    """Returns whether a reader expects just that: an option that is off, an object of any keys."""
    match name:
        case "title":
            return True
        case "default":
            return not value
        case "additionalProperties":
            return value is True or value == {}
        case _:
            return False


def _without(node: Schema, *names: str) -> Schema:
    return {name: value for name, value in node.items() if name not in names}

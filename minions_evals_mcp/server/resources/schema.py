"""Every type's field list in the Minions SDK's own terms, made from the types themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeAlias

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.alias_generators import to_snake
from pydantic.fields import FieldInfo

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import TYPES
from minions_evals_mcp.domain.values import Value, known_names
from minions_evals_mcp.errors import NotFoundError

FieldType = Literal[
    "string", "number", "boolean", "date", "select", "multi-select", "url", "email", "textarea", "tags", "json", "array"
]
TYPE_ID = "minions-evals:{}"
"""Ids of our types in an SDK registry. `test-case` and `task` are slugs of the SDK's own types too, with other fields."""
_Node: TypeAlias = Mapping[str, JsonValue]


class FieldValidation(Value):
    """The SDK's `FieldValidation`: bounds are inclusive."""

    min: float | None = None
    max: float | None = None
    pattern: str | None = None


class FieldDefinition(Value):
    """The SDK's `FieldDefinition`. It takes "" for absent, so a field that may hold "" is not `required` there."""

    name: str
    type: FieldType
    label: str
    required: bool = False
    default_value: JsonValue = None
    options: tuple[str, ...] | None = None
    validation: FieldValidation | None = None

    def wire(self) -> Json:
        """Returns what the SDK's `FieldDefinition.from_dict` reads."""
        return self.model_dump(mode="json", exclude_defaults=True)


@cache
def field_definitions(slug: str) -> tuple[FieldDefinition, ...]:
    """The fields of that type in order; raises `NotFoundError` for an unknown slug."""
    if slug not in TYPES:
        raise NotFoundError("type", slug, remedy=known_names(slug, sorted(TYPES), "docs/reference/records.md"))
    kind = TYPES[slug]
    nodes = kind.model_json_schema()["properties"]
    return tuple(_definition(nodes[info.alias], str(info.alias), info) for info in kind.model_fields.values())


def minion_type(slug: str) -> Json:
    """The type as the SDK's `MinionType.from_dict` reads it; raises `NotFoundError` for an unknown slug."""
    fields = field_definitions(slug)
    return {
        "id": TYPE_ID.format(slug),
        "name": slug.replace("-", " ").title(),
        "slug": slug,
        "description": TYPES[slug].__doc__,
        "schema": [field.wire() for field in fields],
    }


def shapes_of(slug: str) -> Json:
    """Returns what one value of each list of that type holds, where it says so: words that the SDK's field lists have no place for."""
    nodes = TYPES[slug].model_json_schema()["properties"]
    descriptions = {name: _not_null(node).get("description") or node.get("description") for name, node in nodes.items()}
    shapes: Json = {name: text for name, text in descriptions.items() if isinstance(text, str)}
    return {"shapes": shapes} if shapes else {}


def _definition(node: _Node, name: str, info: FieldInfo) -> FieldDefinition:
    seen = _not_null(node)
    kind = _type(seen)
    default = node.get("default")
    return FieldDefinition(
        name=name,
        type=kind,
        label=to_snake(name).replace("_", " ").capitalize(),
        required=info.is_required() and not _may_be_blank(info),
        default_value=None if default in ("", []) or isinstance(default, dict) else default,
        options=_options(seen if kind == "select" else _items(seen)),
        validation=_validation(seen),
    )


def _not_null(node: _Node) -> _Node:
    """The node without the alternative that the value is null."""
    choices = node.get("anyOf")
    remaining = [choice for choice in choices if choice != {"type": "null"}] if isinstance(choices, list) else [node]
    assert len(remaining) == 1, "the SDK has no field of two types"
    assert isinstance(remaining[0], Mapping)
    return remaining[0]


def _type(node: _Node) -> FieldType:
    if "enum" in node:
        return "select"
    match node.get("type"):
        case "string":
            return "date" if node.get("format") == "date-time" else "string"
        case "integer" | "number":
            return "number"
        case "boolean":
            return "boolean"
        case "array" if "enum" in _items(node):
            return "multi-select"
        case "array":
            return "tags" if _items(node).get("type") == "string" else "array"
        case _:
            return "json"


def _items(node: _Node) -> _Node:
    items = node.get("items")
    return items if isinstance(items, dict) else {}


def _options(node: _Node) -> tuple[str, ...] | None:
    options = node.get("enum")
    return tuple(str(option) for option in options) if isinstance(options, list) else None


def _validation(node: _Node) -> FieldValidation | None:
    """The bounds that the SDK can check; it has no exclusive ones, so those become inclusive."""
    validation = FieldValidation(
        min=_number(node, "minimum", "exclusiveMinimum"),
        max=_number(node, "maximum", "exclusiveMaximum"),
        pattern=pattern if isinstance(pattern := node.get("pattern"), str) else None,
    )
    return None if validation == FieldValidation() else validation


def _number(node: _Node, *names: str) -> float | None:
    return next((float(value) for name in names if isinstance(value := node.get(name), int | float)), None)


def _may_be_blank(info: FieldInfo) -> bool:
    """Returns whether "" is a value of the field."""
    try:
        TypeAdapter[object](info.rebuild_annotation()).validate_python("")
    except ValidationError:
        return False
    return True

"""Arguments of tools that are derived from the request of an operation."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

from pydantic import BaseModel, Field, JsonValue, ValidationError, create_model, model_validator
from pydantic.alias_generators import to_camel

from minions_evals_mcp.operations.fields import OfferedField, fields_at, given_by, problem, request_of
from minions_evals_mcp.operations.table import DEFAULTS, Operation, offered_as
from minions_evals_mcp.server.edge.argument_types import (
    MOST_WAITED_S,
    Cursor,
    Detail,
    Dry,
    Fields,
    Limit,
    QuickWait,
    Wait,
)
from minions_evals_mcp.server.edge.guard import ToolArguments
from minions_evals_mcp.server.edge.schemas import Schema, schema_of

R = TypeVar("R", bound=BaseModel)
SAID_ITEMS = 100
"""A list that may be so long: its bound is left to a refusal, for most calls need less."""
_UNSAID = frozenset({"pattern", "minLength", "maxLength", "minItems", "minimum", "exclusiveMinimum"})
"""Bounds that a host is not told: it pays for every word, and a refusal names them."""


class DerivedArguments(ToolArguments):
    """Arguments with the fields of an operation's request."""

    operation: ClassVar[Operation]

    def request(self, kind: type[R], **own: object) -> R:
        """The operation's request."""
        return request_of(self.operation, "mcp", given_by(self, self.operation, "mcp"), kind, **own)

    @model_validator(mode="after")
    def _is_a_request(self) -> Self:
        """The rules over several fields are the request's."""
        try:
            self.request(self.operation.request)
        except ValidationError as error:
            raise ValueError(": ".join(filter(None, problem(self.operation, "mcp", error)))) from None
        return self


class WaitingArguments(DerivedArguments):
    """Arguments of an operation that goes on as a job."""

    wait_seconds: QuickWait = None


class Starting(WaitingArguments):
    """Arguments of an operation that goes on as a job, and whose cost can be estimated."""

    dry_run: Dry = False


class Paged(Starting):
    """Arguments of such an operation whose answer shows lists."""

    limit: Limit = 5


class Detailed(DerivedArguments):
    """Arguments of an operation whose answer is short or whole."""

    detail: Detail = "summary"


class Browsed(Detailed):
    """Arguments of such an operation whose list is read a page at a time."""

    cursor: Cursor | None = None


class Timed(Browsed):
    """Arguments of such an operation that does as much as fits the wait, and whose cost can be estimated."""

    dry_run: Dry = False
    wait_seconds: Annotated[float, Field(ge=1, le=MOST_WAITED_S, description="As many as fit")] = 20
    limit: Limit = 5


class Followed(Browsed):
    """Arguments of an operation that waits for a run and shows a page of its lists, or only the fields that are named."""

    wait_seconds: Wait = 0
    limit: Limit = 5
    fields: Fields = []


_BASES: tuple[type[DerivedArguments], ...] = (
    DerivedArguments,
    WaitingArguments,
    Starting,
    Paged,
    Detailed,
    Browsed,
    Timed,
    Followed,
)


def beside(operation: Operation) -> frozenset[str]:
    """The arguments of a tool beside its operation's fields, as they follow from the row."""
    follows = {
        "wait_seconds": operation.long_running or operation.timed or operation.followed,
        "dry_run": operation.dry_run,
        "limit": operation.paged or operation.followed,
        "detail": operation.detailed or operation.browsed or operation.followed,
        "cursor": operation.browsed or operation.followed,
        "fields": operation.followed,
    }
    return frozenset(name for name, is_taken in follows.items() if is_taken)


@cache
def arguments_of(name: str) -> type[DerivedArguments]:
    """The arguments of the tool of that name."""
    operation = offered_as("mcp", name)
    base = next(base for base in _BASES if base.model_fields.keys() == beside(operation))
    fields: dict[str, Any] = {offered.name: _field(offered) for offered in fields_at(operation, "mcp")}
    made = create_model(operation.request.__name__, __base__=base, __doc__=name, **fields)
    made.operation = operation
    return made


def _field(offered: OfferedField) -> tuple[Any, Any]:
    told = Field(description=offered.short, examples=offered.info.examples)
    return Annotated[offered.annotation, told], ... if offered.required else offered.default


def told_schema(arguments: type[ToolArguments]) -> Schema:
    """The schema that hosts are told, in few words: what a name says, bounds on texts and the inside of nested values are left out."""
    schema = schema_of(arguments)
    if not issubclass(arguments, DerivedArguments):
        return schema
    told = cast("Schema", schema["properties"])
    lean: Schema = {}
    for offered in fields_at(arguments.operation, "mcp"):
        name = to_camel(offered.name)
        unsaid = {
            *(["description"] if offered.name_says_it else []),
            *(["default"] if offered.field in DEFAULTS["mcp"] else []),
        }
        part = cast("Schema", _lean(told.pop(name)))
        lean[name] = {key: value for key, value in part.items() if key not in unsaid}
    return {**schema, "properties": {**lean, **told}}


def _lean(part: JsonValue) -> JsonValue:
    if isinstance(part, list):
        return [_lean(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    if "properties" in part:
        return {"type": "object"}
    many = part.get("maxItems")
    unsaid = _UNSAID | {"maxItems"} if isinstance(many, int) and many >= SAID_ITEMS else _UNSAID
    return {name: _lean(inner) for name, inner in part.items() if name not in unsaid}

"""GraphQL inputs that are derived from the request of an operation."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, cast, dataclass_transform, get_args, get_origin

import strawberry
from pydantic import BaseModel, ValidationError
from strawberry.scalars import JSON

from minions_evals_mcp.domain.request_fields import Names, names_in
from minions_evals_mcp.domain.values import Id
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.fields import OfferedField, fields_at, problem, request_of
from minions_evals_mcp.operations.table import Operation, offered_as

R = TypeVar("R", bound=BaseModel)
I = TypeVar("I", bound="DerivedInput")  # noqa: E741  an input
REF = "_ref"
VERSION_REF = "A version by id, as PROMPT@NUMBER, or latest. Use it if the number in promptVersion is not enough."


class DerivedInput:
    """An input with the fields of an operation's request; null leaves a field to its default."""

    operation: ClassVar[Operation]

    def request(self, kind: type[R], **own: object) -> R:
        """The operation's request; raises `BadInputError` naming the field that does not fit."""
        given = {offered.field: self._given(offered) for offered in fields_at(self.operation, "graphql")}
        try:
            return request_of(
                self.operation,
                "graphql",
                {name: value for name, value in given.items() if value is not None},
                kind,
                **own,
            )
        except ValidationError as error:
            field, reason = problem(self.operation, "graphql", error)
            raise BadInputError(f"{field}: {reason}." if field else f"{reason}.") from None

    def _given(self, offered: OfferedField) -> object:
        value = cast("object", getattr(self, offered.name))
        if not _is_version(offered):
            return value
        named = cast("object", getattr(self, offered.name + REF))
        if value is not None and named is not None:
            raise BadInputError("promptVersion and promptVersionRef are both set.", remedy="Give one of them.")
        return value if named is None else named


@dataclass_transform(kw_only_default=True)
def derived_input(name: str) -> Callable[[type[I]], type[I]]:
    """Makes the class the input of the operation of that name."""
    operation = offered_as("graphql", name)

    def made(kind: type[I]) -> type[I]:
        kind.operation = operation
        annotations: dict[str, Any] = {}
        for offered in fields_at(operation, "graphql"):
            if _is_version(offered):
                annotations[offered.name] = int | None
                setattr(kind, offered.name, None)
                annotations[offered.name + REF] = str | None
                setattr(kind, offered.name + REF, strawberry.field(default=None, description=VERSION_REF))
                continue
            of = graphql_type(offered.annotation)
            annotations[offered.name] = _given(of) if offered.required else of | None
            text = _description(offered)
            field = (
                strawberry.field(description=text)
                if offered.required
                else strawberry.field(default=None, description=text)
            )
            setattr(kind, offered.name, field)
        kind.__annotations__ = annotations
        return strawberry.input(kind)

    return made


def _given(of: Any) -> Any:
    """The type without null: a field that must be given."""
    return (
        next(part for part in get_args(of) or (of,) if part is not type(None))
        if get_origin(of) in {Union, UnionType}
        else of
    )


def _description(offered: OfferedField) -> str:
    default = offered.default
    said = "" if default in (None, (), False) or offered.required else f" Default: {default}."
    return f"{offered.long.rstrip('.')}.{said}"


def _is_version(offered: OfferedField) -> bool:
    """Whether the field names a version of a prompt, which GraphQL takes as a number or by another name."""
    mark = names_in(offered.info.annotation, offered.info.metadata)
    return mark is not None and mark.of_cases


def graphql_type(annotation: Any) -> Any:
    """The type in GraphQL: an id as `ID`, a choice as text that the request checks, a nested value as JSON."""
    if annotation == Id or any(isinstance(part, Names) for part in getattr(annotation, "__metadata__", ())):
        return strawberry.ID
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return graphql_type(parts[0])
    if origin in {Union, UnionType}:
        (only,) = [part for part in parts if part is not type(None)]
        return graphql_type(only) | None
    if origin in {tuple, list}:
        return list[graphql_type(parts[0])]
    if origin is Literal:
        return str
    is_nested = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return JSON if is_nested else cast("Any", annotation)

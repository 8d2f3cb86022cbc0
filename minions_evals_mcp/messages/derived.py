"""Payloads of messages that are derived from the request of an operation."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, create_model, model_validator

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.operations.fields import fields_at, given_by, problem, request_of
from minions_evals_mcp.operations.table import Operation, offered_as

R = TypeVar("R", bound=BaseModel)


class DerivedPayload(Value):
    """A payload with the fields of an operation's request."""

    operation: ClassVar[Operation]

    def request(self, kind: type[R], *, by: str | None = None, **own: object) -> R:
        """The operation's request; `by` asks where the payload does not say who does."""
        given = given_by(self, self.operation, "message")
        if by is not None and given.get("triggered_by") is None:
            own = {**own, "triggered_by": by}
        return request_of(self.operation, "message", given, kind, **own)

    @model_validator(mode="after")
    def _is_a_request(self) -> Self:
        """The rules over several fields are the request's."""
        try:
            self.request(self.operation.request)
        except ValidationError as error:
            raise ValueError(": ".join(filter(None, problem(self.operation, "message", error)))) from None
        return self


@cache
def payload_of(name: str) -> type[DerivedPayload]:
    """The payload of the message of that name."""
    operation = offered_as("message", name)
    fields: dict[str, Any] = {}
    for offered in fields_at(operation, "message"):
        kind = offered.annotation if offered.default is not None or offered.required else offered.annotation | None
        default = ... if offered.required else offered.default
        fields[offered.name] = (Annotated[kind, Field(description=offered.short)], default)
    made = create_model(
        operation.request.__name__, __base__=DerivedPayload, __doc__=inspect.getdoc(operation.request), **fields
    )
    made.operation = operation
    return made

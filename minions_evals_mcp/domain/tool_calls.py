"""A list of tool calls as it comes in from outside."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.errors import InvalidRecordError

_CALLS: TypeAdapter[tuple[ToolCall, ...]] = TypeAdapter(Annotated[tuple[ToolCall, ...], Field(strict=False)])


def tool_calls_of(given: JsonValue) -> tuple[ToolCall, ...]:
    """The calls that stand in a list of {tool, arguments, result, error, durationMs}.

    Raises `InvalidRecordError` saying which of them does not fit.
    """
    try:
        return _CALLS.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidRecordError(
            f"tool calls are no list of {{tool, arguments, result, error}}: {place}: {first['msg']}"
        ) from None

"""A list of tool calls as it comes in from outside."""

from __future__ import annotations

from pydantic import ConfigDict, TypeAdapter, ValidationError

from minions_evals_mcp.domain.neighbours import ToolCall, ToolLog
from minions_evals_mcp.domain.step_shapes import REMEDY
from minions_evals_mcp.errors import InvalidRecordError

_LOG: TypeAdapter[tuple[ToolCall, ...]] = TypeAdapter(ToolLog, config=ConfigDict(defer_build=True))


def tool_calls_of(given: object) -> tuple[ToolCall, ...]:
    """The calls that a log holds, in any of the shapes that `steps_of` reads.

    Raises `InvalidRecordError` saying which of them does not fit, and what a step is.
    """
    if not isinstance(given, list | tuple):
        raise InvalidRecordError(f"tool calls are no list: {REMEDY}")
    try:
        return _LOG.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place, problem = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        reason = problem if REMEDY in problem else f"{place}: {problem}; {REMEDY}"
        raise InvalidRecordError(f"tool calls: {reason}") from None

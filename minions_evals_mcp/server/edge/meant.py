"""The arguments of the tools that are ids of records: their beginning will do, and `latest`; their types say which those are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from minions_evals_mcp.domain.request_fields import PROMPT, names_in
from minions_evals_mcp.server.edge.guard import ToolArguments

if TYPE_CHECKING:
    from minions_evals_mcp.operations.engine import Engine

A = TypeVar("A", bound=ToolArguments)


async def with_meant_ids(engine: Engine, request: A, *, only_units: bool = False) -> A:
    """The arguments with the ids that they mean, written out, or those of units alone; raises `BadInputError` where one begins several."""
    from minions_evals_mcp.operations.ids import with_whole_ids  # noqa: PLC0415  the engine's modules come with the engine

    return await with_whole_ids(engine, request, only_units=only_units)


def names_a_prompt(request: ToolArguments) -> bool:
    """Reports whether a prompt is named, which is no record: a tool finds no cases of an unknown one, and is not refused."""
    marks = {name: names_in(info.annotation, info.metadata) for name, info in type(request).model_fields.items()}
    return any(mark is not None and PROMPT in mark.kinds and getattr(request, name) for name, mark in marks.items())


def read_as(request: ToolArguments, meant: ToolArguments) -> dict[str, str]:
    """What was given for each id that was written out, with the whole id. Not those that answers write short."""
    from minions_evals_mcp.operations.ids import is_short  # noqa: PLC0415  as above

    return {
        given: whole
        for name in type(request).model_fields
        for given, whole in zip(_listed(getattr(request, name)), _listed(getattr(meant, name)), strict=True)
        if given != whole and not is_short(given)
    }


def _listed(value: object) -> list[str]:
    return [str(part) for part in cast("tuple[object, ...]", value)] if isinstance(value, tuple) else [str(value)]

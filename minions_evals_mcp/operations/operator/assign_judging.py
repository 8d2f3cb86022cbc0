"""Assign judging: the outputs of a run that wait for people are divided among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, More
from minions_evals_mcp.domain.values import Text, Value

if TYPE_CHECKING:
    from minions_evals_mcp.engine.people.assignments import Assigned as Answer
    from minions_evals_mcp.operations.engine import Engine


class Request(Value):
    """Divide the outputs of a run that wait for a person among people."""

    run_id: Annotated[Text, Field(description="A run, by id or key"), NAME_SAYS_IT]
    people: Annotated[
        tuple[Text, ...],
        Field(strict=False, max_length=100, description="Who judges"),
        More(
            "A person who judges (repeatable). Outputs are assigned in turn. Without a name, anybody may judge them again."
        ),
    ] = ()


async def run(engine: Engine, request: Request) -> Answer:
    """How many outputs each person has to judge; raises `NotFoundError` for a person or run that is not there."""
    from minions_evals_mcp.engine.people.assignments import assign  # noqa: PLC0415  the engine, at the first call

    return await assign(engine, request.run_id, request.people)

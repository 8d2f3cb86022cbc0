"""Promote a failure: make a test case of it, with a check that its output fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import Field

from minions_evals_mcp.domain.request_fields import BenchmarkId, More, Names
from minions_evals_mcp.domain.values import Text, Value

if TYPE_CHECKING:
    from minions_evals_mcp.engine.cases.promote import Promoted as Answer
    from minions_evals_mcp.operations.engine import Engine

Promoted: TypeAlias = "Answer"


class Request(Value):
    """Make a test case of a failure: its input, what was wrong, and a check that this output fails."""

    failure_id: Annotated[
        Annotated[Text, Names(("eval-failure", "test-run", "agent-run"))],
        Field(description="RUN:CASE, a failed test-run or an agent-run"),
        More(
            "RUN:CASE (with a run's id, key or `latest`), the id of a failure, a test-run or"
            " an imported agent-run, or `latest` for the newest failure."
        ),
    ]
    corrected: Annotated[
        Annotated[str, Field(min_length=1, max_length=40_000)] | None,
        Field(description="The correct output (without it: a draft)"),
        More("The correct output, as text or as the name of a file that contains it."),
    ] = None
    why: Annotated[
        Annotated[str, Field(min_length=1, max_length=2000)] | None,
        Field(description="What was wrong"),
        More("What was wrong, in your words (default: the failure's description)."),
    ] = None
    into: Annotated[BenchmarkId | None, Field(description="A benchmark"), More("The benchmark to add the case to.")] = (
        None
    )


async def run(engine: Engine, request: Request) -> Answer:
    """The test case; done twice, it is the same. Raises `BadInputError` for a run that passed."""
    from minions_evals_mcp.engine.cases.promote import promote_failure  # noqa: PLC0415  the engine, at the first call

    failure_id = request.failure_id
    return await promote_failure(engine, failure_id, corrected=request.corrected, why=request.why, into=request.into)

"""Cancel a run: what is under way is stopped, what was judged is kept, and its key resumes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT
from minions_evals_mcp.domain.values import Text, Value
from minions_evals_mcp.operations.get_run import job

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.store.jobs import Job as Answer


class Request(Value):
    """Stop a run. What was judged is kept, and its key resumes it."""

    run_id: Annotated[Text, Field(description="A run's id or key"), NAME_SAYS_IT]


async def run(engine: Engine, request: Request, *, stop: Callable[[str], Awaitable[None]]) -> tuple[Answer, bool]:
    """The job once it was stopped, and whether it had ended before; `stop` ends the work of this process."""
    import anyio  # noqa: PLC0415  as late as the engine

    before = await job(engine, request.run_id)
    with anyio.CancelScope(shield=True):
        await stop(request.run_id)
    after = await job(engine, before.id)
    return after, before.state == after.state == "completed"

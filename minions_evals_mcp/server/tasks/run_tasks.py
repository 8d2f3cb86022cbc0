"""Runs as tasks: the same jobs under the same ids, for clients that follow handles and not `get_run`."""

from __future__ import annotations

import anyio

from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations.table import offers
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.session.opened import Session
from minions_evals_mcp.server.tasks.extension import Json, Status, Task

STARTING = frozenset(name for name, operation in offers("mcp").items() if operation.long_running)
"""Calls that a handle may answer; `get_run` only looks."""


class RunBoard:
    """The runs of a session, as tasks. None of them asks its client for anything: who judges by hand submits judgments."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def find(self, task_id: str) -> Task | None:
        """The run under that id; its result is what the tool would have answered."""
        from minions_evals_mcp.server.tools.running import Shape, run_answer  # noqa: PLC0415  it needs the engine's modules

        job = await self._job(task_id)
        if job is None:
            return None
        call = Call(await self._session.engine(), await self._session.runs(), self._session.target, _untold)
        answer = await run_answer(call, job, Shape())
        result_wire: Json = answer.structured_content or {}
        status = _status(
            str(result_wire["state"]), str(result_wire.get("reason", ""))
        )  # both as of one look at the run
        detail: Json = {}
        if status == "completed":
            detail["result"] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        return Task(job.id, status, str(result_wire["summary"]), job.created_at, job.updated_at, detail)

    async def cancel(self, task_id: str) -> None:
        """Stops the run; what was judged is kept."""
        with anyio.CancelScope(shield=True):
            await (await self._session.runs()).cancel(task_id)

    async def answer(self, task_id: str, responses: Json) -> None:
        """Nothing: no run waits for its client."""

    async def _job(self, task_id: str) -> get_run.Job | None:

        try:
            job = await get_run.stored_job(await self._session.engine(), task_id)
        except NotFoundError:
            return None
        return job if job.id == task_id else None


def _status(state: str, reason: str) -> Status:
    """A run that stopped by itself has an answer that says so; one that a server's end stopped goes on with the next start."""
    from minions_evals_mcp.server.session.background_runs import CANCELLED, CLOSED  # noqa: PLC0415  as above

    if state == "running" or (state == "stopped" and reason == CLOSED):
        return "working"
    if state == "cancelled" or (state == "stopped" and reason == CANCELLED):
        return "cancelled"
    return "completed"


async def _untold(progress: float, total: float | None, message: str | None) -> None:
    """Nobody waits: the client polls."""

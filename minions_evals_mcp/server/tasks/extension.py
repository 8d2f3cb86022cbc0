"""The Tasks extension (SEP-2663): a tool call that leaves work going on is answered by a handle, for clients that know handles."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver.server import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER
from mcp_types import HEADER_MISMATCH, INVALID_PARAMS, CallToolRequestParams, CallToolResult, RequestParams
from pydantic import Field, JsonValue

from minions_evals_mcp.server.edge.refusals import as_protocol_error

Json = dict[str, JsonValue]
Asker = ServerRequestContext[Any, Any]
"""The request of the client that asks."""
Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
EXTENSION = "io.modelcontextprotocol/tasks"
POLL_MS = 1000
GOING: frozenset[Status] = frozenset({"working", "input_required"})
OPEN = frozenset({"running", "awaiting-judgments"})
"""The states of a run whose task may have no result yet."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of the work; `detail` is what goes with the status: a result, an error, or the requests that wait."""

    id: str
    status: Status
    message: str
    created_at: datetime
    updated_at: datetime
    detail: Json = field(default_factory=dict[str, JsonValue])

    def wire(self) -> Json:
        """The task on the wire. It is kept for good, so no time ends it."""
        return {
            "taskId": self.id, "status": self.status, "statusMessage": self.message, "createdAt": _iso(self.created_at),
            "lastUpdatedAt": _iso(self.updated_at), "ttlMs": None, "pollIntervalMs": POLL_MS,
        }  # fmt: skip


class TaskBoard(Protocol):
    """The board behind the handles."""

    async def find(self, task_id: str, ctx: Asker) -> TaskState | None:
        """The task under that id, as the client that asks can follow it."""
        ...

    async def cancel(self, task_id: str, ctx: Asker) -> None:
        """Asks the work to stop; a task that has ended stays as it is."""
        ...

    async def answer(self, task_id: str, responses: Json, ctx: Asker) -> None:
        """Hands over answers to the requests that wait; others are ignored."""
        ...


class _Named(RequestParams):
    task_id: str = Field(min_length=1, max_length=200)


class _Answered(_Named):
    input_responses: Json


class Tasks(Extension):
    """Handles for calls of those tools whose answer says that a run is still going on."""

    identifier = EXTENSION

    def __init__(self, board: TaskBoard, tools: Collection[str]) -> None:
        self._board = board
        self._tools = tools

    def methods(self) -> Sequence[MethodBinding]:
        """The three requests about a task."""
        modern = frozenset({"2026-07-28"})
        return (
            MethodBinding("tasks/get", _Named, self._get, modern),
            MethodBinding("tasks/update", _Answered, self._update, modern),
            MethodBinding("tasks/cancel", _Named, self._cancel, modern),
        )

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """The tool's answer, or the handle of what it left going on where the client declared that it knows handles."""
        result = await call_next(ctx)
        task_id = _left_open(result) if params.name in self._tools else None
        if task_id is None or not _knows_handles(ctx):
            return result
        task = await self._known(ctx, task_id)
        return {"resultType": "task", **task.wire()} if task.status in GOING else result

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: _Named) -> HandlerResult:
        task = await self._task(ctx, params)
        return {"resultType": "complete", **task.wire(), **task.detail}

    async def _update(self, ctx: ServerRequestContext[Any, Any], params: _Answered) -> HandlerResult:
        task = await self._task(ctx, params)
        with as_protocol_error():
            await self._board.answer(task.id, params.input_responses, ctx)
        return {"resultType": "complete"}

    async def _cancel(self, ctx: ServerRequestContext[Any, Any], params: _Named) -> HandlerResult:
        task = await self._task(ctx, params)
        with as_protocol_error():
            await self._board.cancel(task.id, ctx)
        return {"resultType": "complete"}

    async def _task(self, ctx: ServerRequestContext[Any, Any], params: _Named) -> TaskState:
        require_client_extension(ctx, EXTENSION)
        _vet_name(ctx, params.task_id)
        return await self._known(ctx, params.task_id)

    async def _known(self, ctx: Asker, task_id: str) -> TaskState:
        with as_protocol_error():
            task = await self._board.find(task_id, ctx)
        if task is None:
            raise MCPError(INVALID_PARAMS, f"no task with the id {task_id!r}; a task's id is the runId of its run")
        return task


def _left_open(result: HandlerResult) -> str | None:
    """The id of the run that the answer says is still going on, or waits to be judged."""
    if not isinstance(result, CallToolResult) or result.is_error:
        return None
    result_wire: Json = result.structured_content or {}
    return str(result_wire["runId"]) if result_wire.get("state") in OPEN and "runId" in result_wire else None


def _knows_handles(ctx: ServerRequestContext[Any, Any]) -> bool:
    declared = ctx.session.client_capabilities
    return bool(declared and declared.extensions and EXTENSION in declared.extensions)


def _vet_name(ctx: ServerRequestContext[Any, Any], task_id: str) -> None:
    """Raises where the header that intermediaries route by names another task: the SDK vets its own methods only."""
    headers = getattr(ctx.request, "headers", None)
    if headers is not None and headers.get(MCP_NAME_HEADER) != task_id:
        raise MCPError(HEADER_MISMATCH, f"the {MCP_NAME_HEADER} header does not name the task of the request's body")


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")

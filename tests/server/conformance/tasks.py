"""Fixtures of the official `tasks-*` scenarios: our Tasks extension over work that waits, asks, fails and breaks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequest, InputRequiredResult
from pydantic import JsonValue

from minions_evals_mcp.server.edge.guard import EvalsServer
from minions_evals_mcp.server.tasks.extension import Asker, Json, Status, Tasks, TaskState
from tests.server.conformance.asking import Asked, answers, elicitation, needs_handles
from tests.server.conformance.fixtures import text

AT = datetime(2026, 11, 21, tzinfo=UTC)
TOOLS = ("slow_compute", "failing_job", "protocol_error_job", "confirm_delete", "multi_input", "test_tool_with_task")
Work = Callable[["Going"], Awaitable[str]]


@dataclass(eq=False)
class Going:
    """One piece of work: where it stands, and what it waits for."""

    task: TaskState
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    waiting: dict[str, InputRequest] = field(default_factory=dict[str, InputRequest])
    given: anyio.Event = field(default_factory=anyio.Event)

    def settle(self, status: Status, **detail: JsonValue) -> None:
        """The work is there now; what has ended stays as it ended."""
        if self.task.status in {"working", "input_required"}:
            self.task = replace(self.task, status=status, detail=detail)

    async def ask(self, *names: str) -> None:
        """Returns when the client has answered all of it."""
        self.waiting = {name: elicitation(f"{name}?", "confirm", "boolean") for name in names}
        self._show()
        await self.given.wait()

    def take(self, responses: Json) -> None:
        """Answers to what waits."""
        self.waiting = {name: one for name, one in self.waiting.items() if name not in responses}
        self._show()

    def _show(self) -> None:
        if self.waiting:
            asked: Json = {
                name: one.model_dump(by_alias=True, mode="json", exclude_none=True)
                for name, one in self.waiting.items()
            }
            self.settle("input_required", inputRequests=asked)
        else:
            self.settle("working")
            self.given.set()


class FixtureBoard:
    """Work that goes on in a task group."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._going: dict[str, Going] = {}

    def begin(self, work: Work) -> CallToolResult:
        """The answer of a call that leaves this work going on."""
        going = Going(TaskState(uuid4().hex, "working", "", AT, AT))
        self._going[going.task.id] = going
        self._tasks.start_soon(self._carry_out, going, work)
        return CallToolResult(
            content=[text("It goes on.")], structured_content={"runId": going.task.id, "state": "running"}
        )

    async def _carry_out(self, going: Going, work: Work) -> None:
        with going.scope:
            try:
                said, failed = await work(going), False
            except ToolError as error:
                said, failed = str(error), True
            except RuntimeError as error:
                going.settle("failed", error={"code": -32603, "message": str(error)})
                return
            going.settle("completed", result={"content": [{"type": "text", "text": said}], "isError": failed})
        if going.scope.cancelled_caught:
            going.settle("cancelled")

    async def find(self, task_id: str, ctx: Asker) -> TaskState | None:
        """The task under that id."""
        del ctx
        going = self._going.get(task_id)
        return None if going is None else going.task

    async def cancel(self, task_id: str, ctx: Asker) -> None:
        """Stops the work."""
        del ctx
        self._going[task_id].scope.cancel()

    async def answer(self, task_id: str, responses: Json, ctx: Asker) -> None:
        """Hands the answers over."""
        del ctx
        self._going[task_id].take(responses)


async def _fails(going: Going) -> str:
    del going
    raise ToolError("It failed.")


async def _breaks(going: Going) -> str:
    del going
    raise RuntimeError("It broke.")


def tasks_server(tasks: TaskGroup) -> EvalsServer:
    """A server whose tools leave work going on."""
    board = FixtureBoard(tasks)
    server = EvalsServer("fixtures", extensions=[Tasks(board, TOOLS)], log_level="WARNING")

    @server.tool("greet", description="Greets.")
    async def greet(name: str) -> str:  # pyright: ignore[reportUnusedFunction]  the server holds it
        return f"Hello, {name}!"

    @server.tool("slow_compute", description="Takes its time.", structured_output=False)
    async def slow(seconds: float = 0, label: str = "") -> CallToolResult:  # pyright: ignore[reportUnusedFunction]  as above
        async def work(going: Going) -> str:
            del going
            await anyio.sleep(seconds)
            return f"{label} is computed."

        return board.begin(work)

    @server.tool("failing_job", description="Fails, for clients with handles only.", structured_output=False)
    async def failing(ctx: Context[None]) -> CallToolResult:  # pyright: ignore[reportUnusedFunction]  as above
        needs_handles(ctx)
        return board.begin(_fails)

    @server.tool("protocol_error_job", description="Breaks.", structured_output=False)
    async def breaking() -> CallToolResult:  # pyright: ignore[reportUnusedFunction]  as above
        return board.begin(_breaks)

    _register_asking(server, board)
    return server


def _register_asking(server: EvalsServer, board: FixtureBoard) -> None:
    @server.tool("confirm_delete", description="Asks once.", structured_output=False)
    async def confirms(filename: str) -> CallToolResult:  # pyright: ignore[reportUnusedFunction]  the server holds it
        async def work(going: Going) -> str:
            await going.ask("confirm")
            return f"{filename} is gone."

        return board.begin(work)

    @server.tool("multi_input", description="Asks twice at once.", structured_output=False)
    async def asks() -> CallToolResult:  # pyright: ignore[reportUnusedFunction]  as above
        async def work(going: Going) -> str:
            await going.ask("one", "two")
            return "Both are answered."

        return board.begin(work)

    @server.tool("test_tool_with_task", description="Asks in a round, then leaves work.", structured_output=False)
    async def rounds(ctx: Context[None]) -> Asked:  # pyright: ignore[reportUnusedFunction]  as above
        needs_handles(ctx)
        wanted: dict[str, InputRequest] = {"user_name": elicitation("What is your name?", "name")}
        found = answers(ctx, wanted)
        if found is None:
            return InputRequiredResult(input_requests=wanted)

        async def work(going: Going) -> str:
            del going
            return f"It was {found['user_name'].content}."

        return board.begin(work)

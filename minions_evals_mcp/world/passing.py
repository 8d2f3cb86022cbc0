"""The real server behind a world: started over stdio through the MCP SDK, its answers kept on a tape where that is asked."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, TextIO, cast

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from filelock import FileLock
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, Tool

from minions_evals_mcp.confined_paths import confined_path, open_appending
from minions_evals_mcp.domain.values import Json, utc
from minions_evals_mcp.domain.worlds import WorldServer
from minions_evals_mcp.errors import BadInputError, EvalsError, first_of
from minions_evals_mcp.known_secrets import masked, remember, remember_named
from minions_evals_mcp.sandbox.child_environment import child_environment
from minions_evals_mcp.world.calls import CallAnswer, WorldCall, tool_result
from minions_evals_mcp.world.holdings import Holdings
from minions_evals_mcp.world.sessions import Clock, WorldSession
from minions_evals_mcp.world.tapes import TapedCall, TapeHead, call_line, head_line, read_tape

_KEEPER = Path(__file__).parents[1] / "sandbox" / "keeper.py"
NO_PIPE = "-1"
MOST_SAID, SHOWN = 4_000, 300
"""So many bytes of what a server wrote last are looked at, and so many characters of its last line are shown."""
BEGINNING = b'{"name":'
"""The first bytes of a tape: a file of one unfinished line that begins otherwise is not ours to begin anew."""
_PLACE = re.compile(r"\{\{\s*world\.(folder|database)\s*\}\}")


@dataclass(frozen=True, slots=True)
class RealServer:
    """A real server that runs, its tools, and the tape that its answers are written to, if any."""

    client: Client
    tools: tuple[Tool, ...]
    tape: TapeWriter | None
    lost: Callable[[str], None]
    """Is told why it ended in the middle of a call, if it did."""

    async def __call__(self, call: WorldCall) -> CallAnswer:
        """The real server's answer, once it is on the tape."""
        started = time.perf_counter()
        taped: Json = {"tool": call.tool, "arguments": call.arguments}
        try:
            result = await self.client.call_tool(call.tool, call.arguments)
            taped["result"] = result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"result_type"})
        except (MCPError, RuntimeError) as error:
            if await self._is_lost(error):  # the SDK's words, which belong on no tape
                self.lost(f"ended during the call {call.tool}")
                return CallAnswer(source="real", protocol_error=protocol_error(error))
            taped["protocolError"] = protocol_error(error)
        taped["durationMs"] = (time.perf_counter() - started) * 1000
        kept = TapedCall.model_validate(taped)
        if self.tape is not None:
            await anyio.to_thread.run_sync(self.tape.write, kept)
        return CallAnswer(source="real", result=kept.result, protocol_error=kept.protocol_error)

    async def _is_lost(self, error: Exception) -> bool:
        return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and not await self._answers()

    async def _answers(self) -> bool:
        try:
            await self.client.list_tools()
        except MCPError as error:
            return error.code != CONNECTION_CLOSED
        return True


@dataclass(slots=True)
class LateServer:
    """A real server that is started at the first call, in `tasks`, and ends with them."""

    start: Callable[[], AbstractAsyncContextManager[RealServer]]
    tasks: TaskGroup
    _real: RealServer | None = field(default=None, init=False)
    _starting: anyio.Lock = field(default_factory=anyio.Lock, init=False)

    async def __call__(self, call: WorldCall) -> CallAnswer:
        """The real server's answer; one that cannot be started is an error to the agent."""
        async with self._starting:
            if self._real is None:
                try:
                    self._real = await self.tasks.start(self._hold)
                except (EvalsError, BaseExceptionGroup) as error:
                    cause = first_of(error) if isinstance(error, BaseExceptionGroup) else error
                    if not isinstance(cause, EvalsError):
                        raise
                    reason = f"The real server cannot be started: {cause.message_text}"
                    return CallAnswer(source="none", result=tool_result(reason, is_error=True), miss=reason)
        assert self._real is not None
        return await self._real(call)

    async def _hold(self, *, task_status: TaskStatus[RealServer]) -> None:
        """Keeps it running in the task that started it."""
        async with self.start() as real:
            task_status.started(real)
            await anyio.sleep_forever()


@dataclass(slots=True)
class TapeWriter:
    """A tape that grows by whole lines: whatever is killed, it is whole up to the last answered call.

    Several units may record it at once, each in a process of its own. They take turns by a lock beside the tape.
    """

    base: Path
    place: PurePosixPath
    """Where it lies below `base`."""
    head: TapeHead
    _descriptor: int = field(default=-1, init=False)
    _turn: FileLock = field(init=False)

    def __post_init__(self) -> None:
        lock = self.base / self.place.with_name(f".{self.place.name}.lock")
        self._turn = FileLock(lock, thread_local=False)

    def open(self) -> None:
        """Makes the tape, or goes on with one that was recorded from the same tools; a line cut short is taken off."""
        self._descriptor = open_appending(self.base, self.place)
        with self._turn:
            content = self._content()
            whole = content[: content.rfind(b"\n") + 1]
            is_new = not whole and content[: len(BEGINNING)] == BEGINNING[: len(content)]
            if not is_new and read_tape(whole, str(self.place)).head.tools_digest != self.head.tools_digest:
                raise BadInputError(
                    f"{self.place} was recorded with different tools than the server {self.head.server} has now.",
                    remedy="Move it away to record a new one.",
                )
            os.ftruncate(self._descriptor, len(whole))
            if not whole:
                _write_whole(self._descriptor, head_line(self.head))

    def write(self, call: TapedCall) -> None:
        """Adds a call; what another process was killed in the middle of is taken off before."""
        line = call_line(call)
        with self._turn:
            if self._ends_within_a_line():
                os.ftruncate(self._descriptor, self._content().rfind(b"\n") + 1)
            _write_whole(self._descriptor, line)

    def _content(self) -> bytes:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        with os.fdopen(os.dup(self._descriptor), "rb") as whole:
            return whole.read()

    def _ends_within_a_line(self) -> bool:
        os.lseek(self._descriptor, -1, os.SEEK_END)
        return os.read(self._descriptor, 1) != b"\n"

    def close(self) -> None:
        """Closes the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)


def _write_whole(descriptor: int, content: bytes) -> None:
    """Writes all of it: the system takes at most 2 GiB at a time."""
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _unheard(_reason: str) -> None:
    pass


@asynccontextmanager
async def real_server(
    name: str,
    server: WorldServer,
    base: Path,
    *,
    clock: Clock,
    holdings: Holdings | None = None,
    lost: Callable[[str], None] = _unheard,
) -> AsyncGenerator[RealServer]:
    """The real server, started for as long as this lasts; with the process that started it, it ends however that ends.

    In its command `{{world.folder}}` and `{{world.database}}` are the unit's own copies. `lost` is told why it did not start or
    ended in a call. Raises `BadInputError` where it does not start, with what it wrote last.
    """
    run = _filled(name, server.run, holdings)
    program = _program(server, run, base)
    is_closing = False
    with TemporaryFile("w+b") as log:

        def ended(reason: str) -> None:
            if not is_closing:  # a call that is cut off because the unit is over says nothing of the server
                lost(f"{reason}{_last_words(log)}")

        with anyio.CancelScope(deadline=anyio.current_time() + server.start_seconds) as starting:
            async with AsyncExitStack() as opened:
                try:
                    client, tools = await _connected(program, log, opened)
                    starting.deadline = inf
                except Exception as error:
                    ended("did not start")
                    raise BadInputError(
                        f"the real server {name} did not start{_last_words(log) or f': {_cause(error)}'}.",
                        remedy=f"Start it by hand: {shlex.join(run)}",
                    ) from error
                try:
                    head = _head(client, name, tools, clock)
                    writer = await _opened_tape(server, base, head, opened) if server.mode == "record" else None
                    yield RealServer(client, tools, writer, ended)
                finally:
                    is_closing = True
        if starting.cancelled_caught:
            late = f"did not start within {server.start_seconds:g} s"
            ended(late)
            raise BadInputError(
                f"the real server {name} {late}{_last_words(log)}.",
                remedy=f"Start it by hand: {shlex.join(run)}, or set its `startSeconds`.",
            )


async def _connected(
    program: StdioServerParameters, log: IO[bytes], opened: AsyncExitStack
) -> tuple[Client, tuple[Tool, ...]]:
    client = await opened.enter_async_context(Client(stdio_client(program, errlog=cast("TextIO", log))))
    return client, await all_tools(client)


async def _opened_tape(server: WorldServer, base: Path, head: TapeHead, opened: AsyncExitStack) -> TapeWriter:
    writer = TapeWriter(base, confined_path(server.tape or "", field="tape"), head)
    opened.callback(writer.close)
    await anyio.to_thread.run_sync(writer.open)
    return writer


def _program(server: WorldServer, run: Sequence[str], base: Path) -> StdioServerParameters:
    """How the command is started: with the variables that the server names, and nothing of ours."""
    environment = child_environment()
    remember_named(environment)
    remember(environment.get(variable) for variable in server.env)
    kept = ["-I", "-S", str(_KEEPER), str(os.getpid()), NO_PIPE, "", *run]
    windows = sys.platform == "win32"
    return StdioServerParameters(
        command=run[0] if windows else sys.executable,
        args=[*run[1:]] if windows else kept,
        env={variable: environment[variable] for variable in server.env if variable in environment},
        cwd=base,
    )


def _last_words(log: IO[bytes]) -> str:
    """The last line that the server wrote on stderr, after a colon; nothing where it wrote none."""
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - MOST_SAID))
    lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {masked(lines[-1])[:SHOWN]}" if lines else ""


def _cause(error: Exception) -> str:
    cause = first_of(error) if isinstance(error, BaseExceptionGroup) else error
    return str(cause).removesuffix(".") or type(cause).__name__


def _filled(name: str, run: Sequence[str], holdings: Holdings | None) -> list[str]:
    places = {
        "folder": None if holdings is None else holdings.files,
        "database": None if holdings is None else holdings.database,
    }

    def place(found: re.Match[str]) -> str:
        path = places[found[1]]
        if path is None:
            raise BadInputError(
                f"{name}: its command names {found[0]}, and the world has no {found[1]}.", remedy="Add one."
            )
        return str(path)

    return [_PLACE.sub(place, part) for part in run]


async def changed_tools(name: str, server: WorldServer, session: WorldSession, head: TapeHead) -> list[str]:
    """How the real server's tools differ from those on the tape: it is started for that, and ended."""
    live = server.model_copy(update={"mode": "live"})
    started = real_server(name, live, session.base, clock=session.clock, holdings=session.holdings)
    async with started as real:
        now = {tool.name: tool_wire(tool) for tool in real.tools}
    before = {str(tool.get("name")): tool for tool in head.tools}
    return [
        *(f"{tool} is new" for tool in now if tool not in before),
        *(f"{tool} is gone" for tool in before if tool not in now),
        *(
            f"{tool} has changed: {_parts(before[tool], now[tool])}"
            for tool in now
            if tool in before and now[tool] != before[tool]
        ),
    ]


def _parts(before: Json, now: Json) -> str:
    return ", ".join(sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key)))


def protocol_error(error: Exception) -> str:
    """Why a call has no result: the SDK raises `RuntimeError` for one that is not as the tool's `outputSchema` says."""
    return error.message if isinstance(error, MCPError) else str(error)


async def all_tools(client: Client) -> tuple[Tool, ...]:
    """The tools that the server lists, page by page."""
    tools: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await partial(client.list_tools, cursor=cursor)()
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tuple(tools)


def tool_wire(tool: Tool) -> Json:
    """The tool as `tools/list` writes it."""
    return tool.model_dump(mode="json", by_alias=True, exclude_none=True)


def _head(client: Client, name: str, tools: tuple[Tool, ...], clock: Clock) -> TapeHead:
    info = client.server_info
    return TapeHead(
        tape=1, server=name, name=info.name if info else "", version=info.version if info else "",
        protocol=client.protocol_version, recorded_at=utc(clock()), tools=tuple(map(tool_wire, tools)),
    )  # fmt: skip

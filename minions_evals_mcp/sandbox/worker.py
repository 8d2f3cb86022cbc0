"""Processes that answer one JSON line with one JSON line, and that nobody misses when they are killed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE
from types import TracebackType
from typing import Self, cast

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic import JsonValue

START_SECONDS = 120.0
DEATHS = (
    OSError,
    ValueError,
    RecursionError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.DelimiterNotFound,
    anyio.BrokenResourceError,
)


class WorkerDiedError(Exception):
    """The process is gone, or talks nonsense."""


def python_command(module: str, *packages: Path) -> tuple[str, ...]:
    """Returns how a module's `main` is started: isolated from the caller's folder, told where it and its packages are."""
    folders = [str(Path(__file__).parents[2]), *map(str, packages)]
    return (sys.executable, "-I", "-c", f"import sys; sys.path += {folders!r}; from {module} import main; main()")


@dataclass(slots=True)
class Worker:
    """One started process; its first line is what it said when it was ready."""

    process: Process
    requests: ByteSendStream
    answers: BufferedByteReceiveStream
    longest: int
    ready: bytes = b""

    @classmethod
    async def started(cls, command: Sequence[str], *, longest: int, seconds: float) -> Self:
        """A worker that is ready; raises `WorkerDiedError`."""
        process = await anyio.open_process(
            command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}, start_new_session=True
        )
        requests = cast("ByteSendStream", process.stdin)
        answers = BufferedByteReceiveStream(cast("ByteReceiveStream", process.stdout))
        worker = cls(process, requests, answers, longest)
        ready = False
        try:
            with anyio.fail_after(seconds):
                worker.ready = await answers.receive_until(b"\n", longest)
            ready = True
        except (TimeoutError, *DEATHS) as error:
            raise WorkerDiedError(f"it did not start within {seconds:g} s") from error
        finally:
            if not ready:
                await worker.stop()
        return worker

    async def ask(self, request: JsonValue) -> dict[str, JsonValue]:
        """The answer to one request; raises `WorkerDiedError`."""
        try:
            await self.requests.send(json.dumps(request).encode() + b"\n")
            answer: object = json.loads(await self.answers.receive_until(b"\n", self.longest))
        except DEATHS as error:
            raise WorkerDiedError("it died") from error
        if not isinstance(answer, dict):
            raise WorkerDiedError("it gave an answer that is none")
        return cast("dict[str, JsonValue]", answer)

    async def stop(self) -> None:
        """Kills the process and waits until it is gone."""
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.aclose()


@dataclass(slots=True)
class Workers:
    """Owns a few workers, started at need; one that does not answer in time is killed, and replaced at the next need.

    A request that was cancelled takes its worker with it: the answer that comes would be taken for the next one's.
    """

    command: Sequence[str]
    most: int
    longest: int
    start_seconds: float = START_SECONDS
    idle: list[Worker] = field(default_factory=list[Worker])
    room: anyio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.room = anyio.Semaphore(self.most)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self.idle:
            await self.idle.pop().stop()

    async def ask(self, request: JsonValue, *, seconds: float) -> dict[str, JsonValue]:
        """The answer of a worker that is free; raises `WorkerDiedError`, or `TimeoutError` when it took too long."""
        async with self.room:
            worker = self.idle.pop() if self.idle else await self._started()
            settled = False
            try:
                with anyio.fail_after(seconds):
                    answer = await worker.ask(request)
                settled = True
            finally:
                if settled:
                    self.idle.append(worker)
                else:
                    await worker.stop()
            return answer

    async def _started(self) -> Worker:
        try:
            return await Worker.started(self.command, longest=self.longest, seconds=self.start_seconds)
        except OSError as error:
            raise WorkerDiedError(str(error)) from error

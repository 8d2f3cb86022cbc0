"""Searching a pattern that may take for ever, in a process that is killed when it does."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from types import TracebackType
from typing import Self, cast

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from minions_evals_mcp.scoring.checks import RegexNeed, Unmet

SECONDS = 1.0
KILL_AFTER_SECONDS = 2.0
START_SECONDS = 15.0
_LONGEST_ANSWER = 10_000
_DEATHS = (
    OSError,
    ValueError,
    anyio.EndOfStream,
    anyio.IncompleteRead,
    anyio.DelimiterNotFound,
    anyio.BrokenResourceError,
)


def worker_command() -> tuple[str, ...]:
    """How the worker is started: by its path, isolated from the caller's folder, told where `regex` is installed."""
    import regex  # noqa: PLC0415  imported at first use: 24 ms that few runs need

    folder = Path(regex.__file__).parent.parent
    return (sys.executable, "-I", str(Path(__file__).with_name("regex_worker.py")), str(folder))


@dataclass(frozen=True, slots=True)
class _Worker:
    process: Process
    requests: ByteSendStream
    answers: BufferedByteReceiveStream

    async def line(self) -> bytes:
        return await self.answers.receive_until(b"\n", _LONGEST_ANSWER)

    async def ask(self, need: RegexNeed, seconds: float) -> bool | Unmet:
        request = json.dumps({"pattern": need.pattern, "text": need.text, "seconds": seconds})
        await self.requests.send(request.encode() + b"\n")
        match json.loads(await self.line()):
            case {"hit": bool(hit)}:
                return hit
            case {"unmet": str(reason)}:
                return Unmet(reason)
            case other:
                raise ValueError(f"an answer that is none: {other}")


class RegexSandbox:
    """Owns one worker process, started at the first need and again after it was killed.

    A search that exceeds `seconds` is stopped by the worker; one that the worker does not stop is killed with it
    after `kill_after_seconds`. Searches wait for one another. A worker that dies costs one need, never the caller.
    """

    def __init__(
        self,
        *,
        seconds: float = SECONDS,
        kill_after_seconds: float = KILL_AFTER_SECONDS,
        start_seconds: float = START_SECONDS,
        command: Sequence[str] | None = None,
    ) -> None:
        self._seconds = seconds
        self._kill_after_seconds = kill_after_seconds
        self._start_seconds = start_seconds
        self._command = command
        self._lock = anyio.Lock()
        self._worker: _Worker | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def search(self, needs: Sequence[RegexNeed]) -> dict[RegexNeed, bool | Unmet]:
        """For each need whether its pattern is found in its text, or why that cannot be told."""
        async with self._lock:
            return {need: await self._searched(need) for need in dict.fromkeys(needs)}

    async def _searched(self, need: RegexNeed) -> bool | Unmet:
        settled = False
        try:
            worker = self._worker or await self._started()
            with anyio.fail_after(self._kill_after_seconds):
                found = await worker.ask(need, self._seconds)
            settled = True
        except TimeoutError:
            found = Unmet(f"time limit of {min(self._seconds, self._kill_after_seconds):g} s")
        except _DEATHS:
            found = Unmet("the search process died")
        finally:
            if (
                not settled
            ):  # also when the caller is cancelled: the answer that comes would be taken for the next one's
                await self._stop()
        return found

    async def _started(self) -> _Worker:
        command = self._command or worker_command()
        process = await anyio.open_process(
            command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}, start_new_session=True
        )
        requests = cast("ByteSendStream", process.stdin)
        answers = BufferedByteReceiveStream(cast("ByteReceiveStream", process.stdout))
        self._worker = _Worker(process, requests, answers)
        with anyio.move_on_after(self._start_seconds) as starting:
            await self._worker.line()
        if starting.cancelled_caught:
            raise OSError(f"the search process did not start within {self._start_seconds:g} s")
        return self._worker

    async def _stop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                worker.process.kill()
            await worker.process.aclose()

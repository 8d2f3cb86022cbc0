"""Searching a pattern that may take for ever, in a process that is killed when it does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from minions_evals_mcp.sandbox.worker import START_SECONDS, WorkerDiedError, Workers
from minions_evals_mcp.scoring.checks import RegexNeed, Unmet

SECONDS = 1.0
KILL_AFTER_SECONDS = 60.0
_LONGEST_ANSWER = 10_000
_DIED = Unmet("the search process died")


def worker_command() -> tuple[str, ...]:
    """Returns how the worker is started: by its path, isolated from the caller's folder, told where `regex` is installed."""
    import regex  # noqa: PLC0415  imported at first use: 24 ms that few runs need

    folder = Path(regex.__file__).parent.parent
    return (sys.executable, "-I", str(Path(__file__).with_name("regex_worker.py")), str(folder))


class RegexSandbox:
    """Owns one worker process, started at the first need and again after it was killed.

    A search that computes for more than `seconds` is stopped by the worker; one that the worker does not stop is killed
    with it after `kill_after_seconds` by the clock. Searches wait for one another. A worker that dies costs one need,
    never the caller.
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
        self._workers: Workers | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._workers is not None:
            await self._workers.__aexit__(kind, error, trace)

    async def search(self, needs: Sequence[RegexNeed]) -> dict[RegexNeed, bool | Unmet]:
        """For each need whether its pattern is found in its text, or why that cannot be told."""
        return {need: await self._searched(need) for need in dict.fromkeys(needs)}

    async def _searched(self, need: RegexNeed) -> bool | Unmet:
        if self._workers is None:
            command = self._command or worker_command()
            self._workers = Workers(command, 1, _LONGEST_ANSWER, start_seconds=self._start_seconds)
        request: JsonValue = {"pattern": need.pattern, "text": need.text, "seconds": self._seconds}
        try:
            answer = await self._workers.ask(request, seconds=self._kill_after_seconds)
        except TimeoutError:
            return Unmet(f"time limit of {min(self._seconds, self._kill_after_seconds):g} s")
        except WorkerDiedError:
            return _DIED
        match answer:
            case {"hit": bool(hit)}:
                return hit
            case {"unmet": str(reason)}:
                return Unmet(reason)
            case _:
                return _DIED

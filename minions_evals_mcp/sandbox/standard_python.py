"""Python snippets with the whole standard library, in children of confined processes: on Linux, where the kernel confines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.sandbox.limits import Limits, returned, short_error
from minions_evals_mcp.sandbox.python import SnippetCall
from minions_evals_mcp.sandbox.standard_modules import LACKING
from minions_evals_mcp.sandbox.worker import WorkerDiedError, Workers, python_command
from minions_evals_mcp.scoring.checks import Ran, SnippetError

KILL_GRACE_SECONDS = 1.0
_LONGEST_ANSWER = 1 << 24
_MODULE = "minions_evals_mcp.sandbox.standard_python_worker"


class StandardPython:
    """Owns the processes that run standard Python, started at the first snippet."""

    def __init__(self, *, most: int, confined: bool) -> None:
        self._workers = Workers(python_command(_MODULE), most, _LONGEST_ANSWER)
        self._confined = confined and sys.platform == "linux"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._workers.__aexit__(kind, error, trace)

    async def run_each(self, calls: Sequence[SnippetCall], limits: Limits) -> list[Ran | SnippetError] | None:
        """Returns what each snippet gives, one after another; None where the system confines no process: then nothing was run."""
        outcomes: list[Ran | SnippetError] = []
        for call in calls:
            answer = await self._outcome(call, limits) if self._confined else None
            if answer is None:
                return None
            outcomes.append(answer)
        return outcomes

    async def _outcome(self, call: SnippetCall, limits: Limits) -> Ran | SnippetError | None:
        try:
            answer = await self._workers.ask(_request(call, limits), seconds=limits.wall_seconds + KILL_GRACE_SECONDS)
        except TimeoutError:
            return limits.exceeded("wall-limit")
        except WorkerDiedError as error:
            return SnippetError("died", f"the Python process: {error}")
        self._confined = answer != {"kind": "unconfined"}
        return _outcome(answer, limits) if self._confined else None


def _request(call: SnippetCall, limits: Limits) -> Json:
    return {
        "code": call.code,
        "variables": {**call.variables},
        "before": call.before,
        "guards": [[path, [*absent]] for path, absent in call.guards],
        "seconds": limits.seconds,
        "wall": limits.wall_seconds,
        "memory": limits.memory_bytes,
    }


def _outcome(answer: JsonValue, limits: Limits) -> Ran | SnippetError:
    match answer:
        case {"value": value}:
            return returned(value, limits)
        case {"kind": ("time-limit" | "wall-limit" | "memory-limit") as kind}:
            return limits.exceeded(kind)
        case {"kind": "unsupported", "error": str(error)} if error.startswith(LACKING):
            return SnippetError(
                "unsupported", f"{short_error(error)}; with {argument('trust_code')} it runs with your own Python"
            )
        case {"kind": ("raised" | "syntax" | "unsupported") as kind, "error": str(error), "name": str(name)}:
            return SnippetError(kind, short_error(error), name)
        case _:
            return SnippetError("died", "the Python process ended without an answer")

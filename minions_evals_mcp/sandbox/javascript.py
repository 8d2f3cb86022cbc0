"""JavaScript snippets, in confined processes that are killed when they do not end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.sandbox.limits import Limits, returned, short_error
from minions_evals_mcp.sandbox.worker import WorkerDiedError, Workers, python_command
from minions_evals_mcp.scoring.checks import Guards, Ran, SnippetError

KILL_GRACE_SECONDS = 1.0
_LONGEST_ANSWER = 1 << 26
_MODULE = "minions_evals_mcp.sandbox.javascript_worker"


MISSING = SnippetError(
    "missing",
    "JavaScript needs the package quickjs-ng, which is not installed: pip install 'minions-evals-mcp[javascript]'",
)
"""There is no wheel of it for Intel Macs and for Windows on ARM, so it is left out of the base install there."""


def worker_command() -> tuple[str, ...] | None:
    """The command that starts the worker, told where `quickjs` is installed; None where it is not."""
    module = find_spec("quickjs")
    if module is None or module.origin is None:
        return None
    return python_command(_MODULE, Path(module.origin).parent.parent)


class JavaScript:
    """Owns the processes that run JavaScript."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._workers: Workers | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._workers is not None:
            await self._workers.__aexit__(kind, error, trace)

    async def run(
        self, code: str, variables: Mapping[str, JsonValue], limits: Limits, *, guards: Guards = ()
    ) -> Ran | SnippetError:
        """Returns what the snippet gives, each variable being an argument."""
        if not self._is_there():
            return MISSING
        try:
            answer = await self._answer(_request(code, json.dumps(variables), guards, limits), limits)
        except TimeoutError:
            return limits.exceeded("wall-limit")
        except WorkerDiedError as error:
            return SnippetError("died", f"the JavaScript process: {error}")
        return _outcome(answer, limits)

    async def run_each(self, calls: Sequence[tuple[str, str, Guards]], limits: Limits) -> list[Ran | SnippetError]:
        """The same for several, code with its variables as JSON and its guards, one after another in one process.

        Where the process did not answer for all of them, each is asked again by itself.
        """
        if len(calls) > 1 and self._is_there():
            several: JsonValue = {"several": [_request(*call, limits) for call in calls]}
            with suppress(TimeoutError, WorkerDiedError):
                match await self._answer(several, limits):
                    case {"answers": list(answers)} if len(answers) == len(calls):
                        return [_outcome(answer, limits) for answer in answers]
                    case _:
                        pass
        return [await self.run(code, json.loads(variables), limits, guards=guards) for code, variables, guards in calls]

    def _is_there(self) -> bool:
        """Whether the engine is installed; its processes are made at the first call."""
        if self._workers is None and (command := worker_command()) is not None:
            self._workers = Workers(command, self._most, _LONGEST_ANSWER)
        return self._workers is not None

    async def _answer(self, request: JsonValue, limits: Limits) -> dict[str, JsonValue]:
        assert self._workers is not None, "asked before"
        return await self._workers.ask(request, seconds=limits.wall_seconds + KILL_GRACE_SECONDS)


def _request(code: str, variables: str, guards: Guards, limits: Limits) -> Json:
    return {
        "code": code,
        "variables": variables,
        "guards": [[path, [*absent]] for path, absent in guards],
        "seconds": limits.seconds,
        "memory": limits.memory_bytes,
        "output": limits.output_bytes,
    }


def _outcome(answer: JsonValue, limits: Limits) -> Ran | SnippetError:
    match answer:
        case {"value": str(text)}:
            return returned(json.loads(text), limits)
        case {"kind": ("time-limit" | "memory-limit" | "output-limit") as kind}:
            return limits.exceeded(kind)
        case {"kind": ("raised" | "syntax" | "unsupported") as kind, "error": str(error), "name": str(name)}:
            return SnippetError(kind, short_error(error), name)
        case _:
            return SnippetError("died", "the JavaScript process gave an answer that is none")

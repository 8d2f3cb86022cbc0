"""The user's function as the target of a run: called with a case's inputs, watched while it works."""

from __future__ import annotations

import inspect
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.evaluation.checks import function_name
from minions_evals_mcp.evaluation.output import observed
from minions_evals_mcp.evaluation.spans import watch_spans
from minions_evals_mcp.evaluation.tracing import Recorder, reaches_tools, recording

OURS = Path(__file__).parents[1]
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Calling:
    """How a task is given a case's inputs: as keyword arguments, or all as its one argument."""

    signature: inspect.Signature | None
    by_name: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """The names of inputs that are known to fit the task's parameters: most cases have the same."""

    def arguments(self, inputs: Json, *, plain: bool) -> tuple[tuple[object, ...], Json]:
        """What the task is called with; raises `TypeError` saying why the inputs do not fit.

        `plain`: the case was given one value, which is the task's argument by itself.
        """
        if plain and inputs.keys() == {"input"}:
            return (inputs["input"],), {}
        if self.signature is None:
            return (inputs,), {}
        names = tuple(inputs)
        if names not in self.by_name:
            try:
                self.signature.bind(**inputs)
            except TypeError:
                if self._takes_mapping():
                    return (inputs,), {}
                raise
            self.by_name.add(names)
        return (), inputs

    def _takes_mapping(self) -> bool:
        assert self.signature is not None
        parameters = list(self.signature.parameters.values())
        required = [one for one in parameters if one.default is one.empty and one.kind in POSITIONAL]
        return len(required) == 1 and parameters[0] is required[0] and not _wants_text(required[0])


def _wants_text(parameter: inspect.Parameter) -> bool:
    return parameter.annotation in {str, int, float, bool, "str", "int", "float", "bool"}


def calling(function: Callable[..., object]) -> Calling:
    """How the function is to be called."""
    try:
        return Calling(inspect.signature(function))
    except (TypeError, ValueError):
        return Calling(None)


@dataclass(slots=True, eq=False)
class Task:
    """The function under evaluation. It satisfies `Target`; sync functions run in threads."""

    function: Callable[..., object]
    evaluation: str
    """The name of the evaluation: what is run under it stays one target, however its function is called."""
    name: str
    deadline_s: float
    plain: bool = False
    """Whether cases were given as single values, not as mappings."""
    calling: Calling = field(init=False)
    is_async: bool = field(init=False)
    records_calls: bool = field(init=False)
    limiter: anyio.CapacityLimiter | None = None

    def __post_init__(self) -> None:
        self.calling = calling(self.function)
        self.is_async = inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(
            getattr(self.function, "__call__", None)  # noqa: B004  whether a call of it is to be awaited
        )
        self.records_calls = reaches_tools(self.function)

    @property
    def takes_version(self) -> bool:
        """The version is that of the task's own code."""
        return True

    def digest(self) -> str:
        """The digest of the evaluation's name: the task's code is what the version says."""
        return digest({"target": "evaluate", "name": self.evaluation})

    def vet(self, inputs: Json, where: str) -> None:
        """Raises `BadInputError` where the task does not take the inputs."""
        try:
            self.calling.arguments(inputs, plain=self.plain)
        except TypeError as error:
            raise BadInputError(
                f"{where}: {function_name(self.function)} does not take these inputs: {error}.",
                remedy="Name its parameters as the inputs are named, or give it one parameter for all of them.",
            ) from None

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """What the task returned, with the tool calls that were seen; what it raises is the target's error."""
        limit = self.deadline_s if timeout_ms is None else timeout_ms / 1000
        recorder = Recorder(complete=self.records_calls)
        returned: object = None
        started = time.perf_counter()
        try:
            with recording(recorder), anyio.move_on_after(limit) as scope:
                returned = await self._called(inputs)
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's function may raise anything; it is the target's error
            return TargetErrored(f"{function_name(self.function)} raised {_told(error)}")
        latency_ms = (time.perf_counter() - started) * 1000
        ref = None if version is None else version.id
        if scope.cancelled_caught:
            if timeout_ms is None:
                return TargetErrored(f"{function_name(self.function)} did not answer within {limit:g} s")
            seen = Observed(output={})
        else:
            try:
                seen = observed(returned)
            except (ValueError, InvalidRecordError) as error:
                return TargetErrored(f"{function_name(self.function)}: {error}")
        late = scope.cancelled_caught or (timeout_ms is not None and latency_ms > timeout_ms)
        calls = recorder.recorded() if seen.tool_calls is None else seen.tool_calls
        return seen.with_trusted(
            prompt_version_ref=ref, produced_by=self.name, latency_ms=latency_ms, timed_out=late, tool_calls=calls
        )

    async def _called(self, inputs: Json) -> object:
        args, named = self.calling.arguments(inputs, plain=self.plain)
        if self.is_async:
            return await self.function(*args, **named)  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]  a coroutine function's
        call = partial(self.function, *args, **named)
        found = await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self.limiter)
        return await found if inspect.isawaitable(found) else found


def task_of(function: Callable[..., object], evaluation: str, *, deadline_s: float, width: int) -> Task:
    """The function as a target, named by where it stands."""
    if not callable(function):
        raise BadInputError(
            f"the task is a {type(function).__name__}, no function.",
            remedy="Give the function itself: evaluate(answer, …).",
        )
    watch_spans()
    module = getattr(function, "__module__", None) or "__main__"
    task = Task(function, evaluation, f"python:{module}:{function_name(function)}", deadline_s)
    task.limiter = anyio.CapacityLimiter(width)
    return task


def _told(error: BaseException) -> str:
    """What was raised, and the user's line that raised it."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not Path(one.filename).is_relative_to(OURS)]
    own = [one for one in frames if "site-packages" not in one.filename and "lib/python" not in one.filename]
    at = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{at}"

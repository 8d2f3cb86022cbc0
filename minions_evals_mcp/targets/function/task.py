"""A function of the user's as the target of a run: called with a case's inputs, watched while it works."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread

from minions_evals_mcp.domain.conversations import Spoken
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.targets.code_files import is_own, project_code
from minions_evals_mcp.targets.fresh_code import forget_edited
from minions_evals_mcp.targets.function.output import observed
from minions_evals_mcp.targets.function.spans import watch_spans
from minions_evals_mcp.targets.function.streams import collected
from minions_evals_mcp.targets.function.tracing import Recorder, answered_by, reaches_tools, recording

if TYPE_CHECKING:
    from minions_evals_mcp.world.units import UnitInWorld

OURS = Path(__file__).parents[2]
WORLD_PARAMETER, SESSION_PARAMETER = "world", "session"
LAMBDA = "function"
"""What a function without a name is called."""
OF_ALL = frozenset(
    (
        "inputs",
        "input",
        "row",
        "case",
        "item",
        "example",
        "record",
        "sample",
        "data",
        "fields",
        "variables",
        "vars",
        "kwargs",
    )
)
"""Names of a parameter that stands for all inputs. One of another name is for the input of that name."""
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Calling:
    """The way a task is given a case's inputs: as keyword arguments, or all as its one argument."""

    signature: inspect.Signature | None
    by_name: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """The names of inputs that are known to fit the task's parameters: most cases have the same."""

    def arguments(self, inputs: Json, *, plain: bool) -> tuple[tuple[object, ...], Json]:
        """Returns what the task is called with; raises `TypeError` saying why the inputs do not fit.

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
                if self._wants_text() and inputs.keys() == {"input"}:
                    return (inputs["input"],), {}
                if self._takes_mapping(inputs):
                    return (inputs,), {}
                raise
            self.by_name.add(names)
        return ((inputs,), {}) if self._means_all(inputs) else ((), inputs)

    def turn_inputs(self, inputs: Json, spoken: Spoken) -> Json:
        """What of the inputs and of a conversation the task is given in a turn.

        It takes `message` and `messages` by these names; one other parameter is for the message, unless it stands for all.
        """
        own = {name: value for name, value in inputs.items() if name not in {WORLD_PARAMETER, SESSION_PARAMETER}}
        told: Json = {**own, "message": spoken.message, "messages": [*spoken.messages]}
        if self.signature is None:
            return {"input": spoken.message}
        parameters = self.signature.parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return told
        if "message" in parameters or "messages" in parameters:
            return {name: value for name, value in told.items() if name in parameters}
        required = [parameter for parameter in parameters.values() if parameter.default is parameter.empty]
        if len(required) != 1 or _is_mapping(required[0]) or required[0].name in OF_ALL - {"input"}:
            return told
        return {required[0].name: spoken.message}

    def _means_all(self, inputs: Json) -> bool:
        """Returns whether the one input only happens to be called as the parameter that is a mapping of all."""
        assert self.signature is not None
        if len(inputs) != 1:
            return False
        ((name, value),) = inputs.items()
        parameter = self.signature.parameters.get(name)
        return parameter is not None and not isinstance(value, dict) and _is_mapping(parameter)

    def _takes_mapping(self, inputs: Json) -> bool:
        """Returns whether it has one parameter for all inputs; one that may be left out is one only where it is called `inputs`.

        One that is called as an input is for that input, unless it says that it is a mapping.
        """
        assert self.signature is not None
        parameters = list(self.signature.parameters.values())
        first = parameters[0] if parameters else None
        if first is None or first.kind not in POSITIONAL:
            return first is not None and first.kind is first.VAR_POSITIONAL
        if first.name in inputs and first.name != "inputs" and not _is_mapping(first):
            return False
        others = any(
            parameter.default is parameter.empty and parameter.kind in POSITIONAL for parameter in parameters[1:]
        )
        stands_for_all = first.name in OF_ALL or _is_mapping(first) or self._is_typed(first)
        return not others and stands_for_all and (first.default is first.empty or first.name == "inputs")

    @staticmethod
    def _is_typed(parameter: inspect.Parameter) -> bool:
        """Tells whether it has a type of its own, such as a model of the inputs, which is no text."""
        return parameter.annotation is not parameter.empty and not _is_text(parameter)

    def unknown(self, inputs: Json) -> str:
        """Parameters that no input is named as, each with the nearest input; empty where another thing is wrong."""
        parameters: Mapping[str, inspect.Parameter] = {} if self.signature is None else self.signature.parameters
        missing = [
            name
            for name, parameter in parameters.items()
            if name not in inputs and parameter.default is parameter.empty and parameter.kind not in VARIADIC
        ]
        free = [name for name in inputs if name not in parameters]
        return "; ".join(f"there is no input {name!r}{_nearest(name, free)}" for name in missing)

    def _wants_text(self) -> bool:
        """Returns whether it has one parameter, for a text or a number."""
        assert self.signature is not None
        required = [
            parameter for parameter in self.signature.parameters.values() if parameter.default is parameter.empty
        ]
        return len(required) == 1 and required[0].kind in POSITIONAL and _is_text(required[0])


def _nearest(name: str, inputs: Sequence[str]) -> str:
    """The input that was meant: the only one that is left, else the most similar."""
    near = inputs if len(inputs) == 1 else difflib.get_close_matches(name, inputs, 1, 0.4)
    near = [*near] or [text for text in inputs if text.startswith(name) or name.startswith(text)][:1]
    return f" (nearest: {near[0]!r})" if near else ""


def _is_text(parameter: inspect.Parameter) -> bool:
    return parameter.annotation in {str, int, float, bool, "str", "int", "float", "bool"}


def _is_mapping(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return name.rpartition("typing.")[2].startswith(("dict", "Dict", "Mapping", "Json"))


def calling(function: Callable[..., object]) -> Calling:
    """Returns how the function is to be called."""
    try:
        return Calling(inspect.signature(function))
    except (TypeError, ValueError):
        return Calling(None)


@dataclass(slots=True, eq=False)
class FunctionTask:
    """The function that makes the outputs, whoever named it. It satisfies `Target`; sync functions run in threads."""

    function: Callable[..., object]
    identity: Json
    """What tells the target from others."""
    name: str
    """What its outputs are said to be produced by."""
    said: str
    """What it is called where it fails."""
    deadline_s: float
    width: int
    """So many calls of it are under way at once at the most."""
    takes_version: bool = False
    """Whether the version of a run is that of the function's own code."""
    plain: bool = False
    """Whether cases were given as single values, not as mappings."""
    world: UnitInWorld | None = None
    """What the task acts on: given to its parameter `world`, if it has one."""
    session: Json | None = None
    """Its memory of a conversation: given to its parameter `session`, if it has one."""
    calling: Calling = field(init=False)
    is_async: bool = field(init=False)
    records_calls: bool = field(init=False)
    limiter: anyio.CapacityLimiter = field(init=False)

    def __post_init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(self.width)
        self.calling = calling(self._told(self.function))
        self.is_async = inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(
            getattr(self.function, "__call__", None)  # noqa: B004  whether a call of it is to be awaited
        )
        self.records_calls = reaches_tools(self.function)

    def _told(self, function: Callable[..., object]) -> Callable[..., object]:
        """The function with its world and its session, where it has parameters of those names."""
        taken = getattr(calling(function).signature, "parameters", ())
        given = {WORLD_PARAMETER: self.world} if WORLD_PARAMETER in taken else {}
        remembered = (
            {SESSION_PARAMETER: self.session} if self.session is not None and SESSION_PARAMETER in taken else {}
        )
        return partial(function, **given, **remembered) if given or remembered else function

    def digest(self) -> str:
        """The digest of its identity: its code is what the version says."""
        return digest(self.identity)

    @asynccontextmanager
    async def in_world(self, world: UnitInWorld) -> AsyncGenerator[FunctionTask]:
        """The same task, pointed at that world: by its parameter `world`, and where it calls a tool of its name marked with `@tool`."""
        if self.records_calls:  # its marked tools are answered without a connection
            world.session.reach()
        try:
            yield replace(self, world=world)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(world.servers.close)

    async def answer_in(
        self, spoken: Spoken, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """What the task returned to what the user said last."""
        task = replace(self, session=spoken.session, plain=False)
        return await task.produce(task.calling.turn_inputs(inputs, spoken), version, timeout_ms=timeout_ms)

    def vet(self, inputs: Json, where: str) -> None:
        """Raises `BadInputError` where the task does not take the inputs."""
        try:
            self.calling.arguments(inputs, plain=self.plain)
        except TypeError as error:
            raise BadInputError(
                f"{where}: {self.said} does not take these inputs: {self.calling.unknown(inputs) or error}.",
                remedy="Name its parameters like the inputs, or use one parameter for all of them.",
            ) from None

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """Returns what the task returned, with the tool calls that were seen; what it raises is the target's error."""
        limit = self.deadline_s if timeout_ms is None else timeout_ms / 1000
        recorder = Recorder(complete=self.records_calls)
        returned: object = None
        try:
            args, named = self.calling.arguments(inputs, plain=self.plain)
        except TypeError as error:
            return TargetErrored(f"{self.said} does not take the case's inputs: {error}")
        started = time.perf_counter()
        try:
            with recording(recorder), answered_by(self.world), anyio.move_on_after(limit) as scope:
                returned = await collected(await self._called(args, named), self.limiter)
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's function may raise anything; it is the target's error
            return TargetErrored(f"{self.said} raised {_raised_text(error)}")
        latency_ms = (time.perf_counter() - started) * 1000
        ref = None if version is None else version.id
        if scope.cancelled_caught:
            if timeout_ms is None:
                return TargetErrored(f"{self.said} did not answer within {limit:g} s")
            seen = Observed(output={})
        else:
            seen = self._observed(returned, recorder)
        if isinstance(seen, TargetErrored):
            return seen
        late = scope.cancelled_caught or (timeout_ms is not None and latency_ms > timeout_ms)
        calls = seen.tool_calls
        if calls is None and self.world is None:
            calls = recorder.recorded()
        elif calls is None and self.world is not None:  # the world saw its own calls
            self.world.beside.extend(recorder.recorded() or ())
        return seen.with_trusted(
            prompt_version_ref=ref, produced_by=self.name, latency_ms=latency_ms, timed_out=late, tool_calls=calls
        )

    def _observed(self, returned: object, recorder: Recorder) -> Observed | TargetErrored:
        try:
            with recording(recorder):  # a generator within the value runs only now
                return observed(returned)
        except (ValueError, InvalidRecordError) as error:
            return TargetErrored(f"{self.said}: {error}")
        except Exception as error:  # noqa: BLE001  such a generator may raise anything
            return TargetErrored(f"{self.said} raised {_raised_text(error)}")

    async def _called(self, args: tuple[object, ...], named: Json) -> object:
        function = self._told(self.function)
        if self.is_async:
            return await function(*args, **named)  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]  a coroutine function's
        call = partial(function, *args, **named)
        returned = await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self.limiter)
        return await returned if inspect.isawaitable(returned) else returned


def task_of(function: Callable[..., object], evaluation: str, *, deadline_s: float, width: int) -> FunctionTask:
    """The function that is evaluated under that name: what is run under it stays one target, however its function is called."""
    watch_spans()
    module = getattr(function, "__module__", None) or "__main__"
    name = function_name(function)
    identity: Json = {"target": "evaluate", "name": evaluation}
    return FunctionTask(function, identity, f"python:{module}:{name}", name, deadline_s, width, takes_version=True)


def python_target(ref: str, *, deadline_s: float, width: int) -> FunctionTask:
    """The target that `module:function` names, called as `evaluate` calls it, `width` at once.

    Raises `BadInputError` where there is none. It is told of no prompt version. Its identity is its name with the digest of
    its module, of what that imports from the project, and of the data that these name.
    """
    module_name, _, attribute = ref.partition(":")
    beside = str(Path.cwd())
    if beside not in sys.path:  # a program started by its name does not look in the current folder
        sys.path.insert(0, beside)
    try:
        module, code = _current(importlib.import_module(module_name))
        function = getattr(module, attribute)
    except Exception as error:  # noqa: BLE001  a user's module may raise anything while it is loaded
        raise BadInputError(
            f"{argument('target')} python:{ref} cannot be loaded: {error}.",
            remedy=_how_to_name(module_name, attribute),
        ) from None
    if not callable(function):
        raise BadInputError(f"{argument('target')} python:{ref} is not a function.")
    watch_spans()
    name = f"python:{ref}"
    identity: Json = {"target": "python", "name": name, **({"code": code} if code else {})}
    return FunctionTask(function, identity, name, name, deadline_s, width)


def _how_to_name(module: str, attribute: str) -> str:
    """How a function is named as a target; a file is named by its module."""
    file = PurePath(module)
    if file.suffix != ".py" or file.is_absolute():
        return "Name it as python:module:function, importable from the current folder."
    named = f"python:{'.'.join(file.with_suffix('').parts)}:{attribute or 'FUNCTION'}"
    return f"Name the module instead of the file: {argument('target', named)}."


def _current(module: ModuleType) -> tuple[ModuleType, str]:
    """The module as its files are now, for this process may have loaded it before an edit, and their digest."""
    place = _place(module)
    if place is None:
        return module, ""
    code = project_code([place[0]], place[1])
    return importlib.import_module(module.__name__) if forget_edited(code.files) else module, code.digest


def _place(module: ModuleType) -> tuple[Path, Path] | None:
    """The module's file, and the folder that its name is looked up in; None where it is not the user's own."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not is_own(file):
        return None
    path = Path(file).resolve()
    depth = module.__name__.count(".") + (path.name == "__init__.py")
    return path, path.parents[min(depth, len(path.parents) - 1)]


def function_name(function: object) -> str:
    """Returns what a function is called; an object that is called by its type's name."""
    inner: Any = function
    while isinstance(inner, partial):
        inner = cast("Any", inner.func)
    named = getattr(inner, "__name__", None)
    name = str(named) if named else str(type(inner).__name__)
    return LAMBDA if name == "<lambda>" else name


def _raised_text(error: BaseException) -> str:
    """Returns what was raised, and the user's line that raised it."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not Path(frame.filename).is_relative_to(OURS)
    ]
    own = [frame for frame in frames if "site-packages" not in frame.filename and "lib/python" not in frame.filename]
    at = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{at}"

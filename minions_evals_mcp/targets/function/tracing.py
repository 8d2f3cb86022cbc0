"""Tool calls caught while a task runs: of functions marked with `@tool`, and of `with step(…)`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from threading import Lock
from types import CodeType, FunctionType, MethodType, ModuleType, TracebackType
from typing import ParamSpec, Protocol, Self, TypeVar, cast, overload

import anyio.to_thread
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.targets.function.messages import plain_json
from minions_evals_mcp.targets.function.streams import followed, is_stream

P = ParamSpec("P")
R = TypeVar("R")
MARK = "__minions_evals_tool__"
PACKAGE = "minions_evals_mcp"
DEEPEST = 8
"""How far a task's own functions are followed to see whether they can reach a tool that is recorded."""


@dataclass(slots=True, eq=False)
class BegunCall:
    """A call that has begun; `call` once it has ended, or has returned a generator."""

    call: ToolCall | None = None
    items: list[JsonValue] | None = None
    """What the generator that it returned has yielded so far."""

    def ended(self) -> ToolCall | None:
        """The call; its result is the list of the items where it returned a generator."""
        if self.call is None or self.items is None:
            return self.call
        return self.call.model_copy(update={"result": [*self.items]})


@dataclass(slots=True, eq=False, weakref_slot=True)
class Recorder:
    """The calls of one output, in the order in which they began."""

    calls: list[BegunCall] = field(default_factory=list[BegunCall])
    complete: bool = False
    """Whether a call would have been seen, so that none means that none was made."""
    without_tools: bool = False
    """Whether every model was traced that answered, and none asked for a tool."""
    missed: bool = False
    """Whether a tool was called that no output could be told to have called, while this one was made."""

    def begun(self) -> BegunCall:
        """A call that has begun, perhaps in one of several threads."""
        self.calls.append(begun := BegunCall())
        return begun

    def recorded(self) -> tuple[ToolCall, ...] | None:
        """All calls that ended; None where nothing would have recorded one, or one may be lost."""
        if self.missed:
            return None
        ended = tuple(call for begun in self.calls if (call := begun.ended()) is not None)
        return ended if ended or self.complete or self.without_tools else None


_RECORDER: ContextVar[Recorder | None] = ContextVar("minions_evals_recorder", default=None)
_OPEN: set[Recorder] = set()
"""The recorders of the outputs that are being made in this process."""
_OPENING = Lock()


def current_recorder() -> Recorder | None:
    """The recorder of the output that is being made here, if one is."""
    return _RECORDER.get()


@contextmanager
def recording(recorder: Recorder) -> Generator[Recorder]:
    """Records what is called inside, in threads and tasks that inherit the context, too."""
    token = _RECORDER.set(recorder)
    with _OPENING:
        _OPEN.add(recorder)
    try:
        yield recorder
    finally:
        with _OPENING:
            _OPEN.discard(recorder)
        _RECORDER.reset(token)


class ToolAnswerer(Protocol):
    """Something that answers for tools in place of the functions that are marked as them."""

    @property
    def tools(self) -> frozenset[str]:
        """The tools that it answers for."""
        ...

    def call(self, tool: str, /, **arguments: JsonValue) -> JsonValue:
        """The tool's answer; raises what the tool raises."""
        ...


_ANSWERING: ContextVar[ToolAnswerer | None] = ContextVar("minions_evals_world", default=None)


@contextmanager
def answered_by(world: ToolAnswerer | None) -> Generator[None]:
    """Marked functions that are called as tools of that world are answered by it inside."""
    token = _ANSWERING.set(world)
    try:
        yield
    finally:
        _ANSWERING.reset(token)


def _world_of(tool: str) -> ToolAnswerer | None:
    """The world that answers for the tool here, if one does."""
    world = _ANSWERING.get()
    return world if world is not None and tool in world.tools else None


def missed_call() -> None:
    """Notes a tool's call in a thread without the context of its output: it may be of any that is being made."""
    if not _OPEN:
        return
    with _OPENING:
        for recorder in _OPEN:
            recorder.missed = True


class step:  # noqa: N801  read as a word: with step("search", query=q) as s
    """One step of an agent, recorded as a tool call where an evaluation runs; elsewhere it does nothing.

    Example: `with step("search", query=q) as s: s.result = search(q)`. What is raised inside is the step's error.
    """

    def __init__(self, tool: str, /, **arguments: object) -> None:
        self.result: object = None
        self._tool, self._arguments = tool, arguments
        self._begun: BegunCall | None = None
        self._started = 0.0

    def __enter__(self) -> Self:
        recorder = _RECORDER.get()
        if recorder is None:
            missed_call()
        self._begun = None if recorder is None else recorder.begun()
        self._started = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._begun is None:
            return
        self._begun.call = ToolCall(
            tool=self._tool,
            arguments={name: as_json(value) for name, value in self._arguments.items()},
            result=as_json(self.result),
            error=None if error is None or kind is GeneratorExit else f"{type(error).__name__}: {error}",
            duration_ms=(time.perf_counter() - self._started) * 1000,
        )


setattr(step, MARK, True)


class _Marked(step):
    """The step of a marked function; where it returns a generator, its result is what the generator yields."""

    def returned(self, result: object) -> object:
        """Returns what the caller gets; a generator that is recorded ends the step anew when it ends."""
        begun = self._begun
        if begun is None or not is_stream(result):
            self.result = result
            return result
        begun.items = items = list[JsonValue]()
        return followed(result, lambda item: items.append(as_json(item)), self)


def as_json(value: object) -> JsonValue:
    """The value as JSON; what is none as it describes itself, and so is a generator: its items are the caller's."""
    if is_stream(value):
        return repr(value)[:2000]
    try:
        return plain_json(value)
    except ValueError:
        return repr(value)[:2000]


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool(*, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None, /, *, name: str | None = None
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Marks a function, sync or async, as a tool of an agent: its calls are recorded while an evaluation runs.

    Example: `@tool` above `def search(query): …`, or `@tool(name="web.search")`
    """
    if function is None:
        return lambda named: _marked(named, name)
    return _marked(function, name)


def _marked(function: Callable[P, R], name: str | None) -> Callable[P, R]:
    called = name or getattr(function, "__name__", type(function).__name__)
    signature = inspect.signature(function)
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: P.args, **kwargs: P.kwargs) -> object:
            bound = _bound(signature, args, kwargs)
            with _Marked(called, **bound) as made:
                world = _world_of(called)
                if world is not None:
                    return made.returned(await anyio.to_thread.run_sync(partial(_answer, world, called, bound)))
                return made.returned(await cast("Callable[P, Awaitable[object]]", function)(*args, **kwargs))

        wrapped = cast("Callable[P, R]", awaited)
    else:

        @wraps(function)
        def ran(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = _bound(signature, args, kwargs)
            with _Marked(called, **bound) as made:
                world = _world_of(called)
                given = function(*args, **kwargs) if world is None else _answer(world, called, bound)
                return cast("R", made.returned(given))

        wrapped = ran
    setattr(wrapped, MARK, True)
    return wrapped


def _answer(world: ToolAnswerer, tool: str, bound: Mapping[str, object]) -> JsonValue:
    return world.call(tool, **{name: as_json(value) for name, value in bound.items()})


def _bound(signature: inspect.Signature, args: tuple[object, ...], kwargs: dict[str, object]) -> dict[str, object]:
    """The arguments by name, as the function gets them; its own object is left out."""
    if _RECORDER.get() is None:
        return {}
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError:  # the call itself says what is wrong with it
        return {"arguments": [*args], **kwargs}
    return {name: value for name, value in arguments.items() if name not in {"self", "cls"}}


def reaches_tools(function: object) -> bool:
    """Returns whether a call of the function can come to a tool that is recorded: through what it names, holds or closes over."""
    seen: set[int] = set()
    waiting: list[tuple[object, int]] = [(function, 0)]
    while waiting:
        held, depth = waiting.pop()
        if id(held) in seen or depth > DEEPEST:
            continue
        seen.add(id(held))
        if getattr(held, MARK, False) is True:
            return True
        waiting.extend((inner, depth + 1) for inner in _held(held))
    return False


def _held(value: object) -> list[object]:
    match value:
        case FunctionType():
            return [*_named(value), *(value.__defaults__ or ()), *_closed_over(value)]
        case MethodType():
            return [value.__func__, value.__self__]
        case dict():
            return list(cast("Json", value).values())
        case list() | tuple() | set() | frozenset():
            return list(cast("list[object]", value))
        case type() | ModuleType() | str() | bytes() | int() | float() | None:
            return []
        case _:
            return _of_object(value)


def _of_object(value: object) -> list[object]:
    """Returns what an object holds, and what it does when it is called; a partial's function and arguments."""
    partial = [getattr(value, name) for name in ("func", "args", "keywords", "__wrapped__") if hasattr(value, name)]
    own = getattr(value, "__dict__", {})
    methods = [attribute for attribute in vars(type(value)).values() if isinstance(attribute, FunctionType)]
    return [*partial, *(own.values() if isinstance(own, dict) else ()), *methods]


def _named(function: FunctionType) -> list[object]:
    names = _names(function.__code__)
    modules = [module for name in names if isinstance(module := function.__globals__.get(name), ModuleType)]
    direct = [function.__globals__[name] for name in names if name in function.__globals__]
    if any(module.__name__ == PACKAGE for module in modules) and step.__name__ in names:
        return [step]  # the package imports its names when they are asked for
    return [*direct, *(vars(module)[name] for module in modules for name in names if name in vars(module))]


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return {*code.co_names}.union(*map(_names, inner))


def _closed_over(function: FunctionType) -> list[object]:
    values: list[object] = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    return values

"""Python snippets where the system confines no process: in an interpreter that has no files, network or environment.

It knows a part of Python. What it lacks, or would answer otherwise than Python, is refused by name.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import anyio
from anyio.from_thread import check_cancelled
from anyio.to_thread import run_sync
from pydantic import JsonValue

from minions_evals_mcp.sandbox.lacking import answered_otherwise, lacking
from minions_evals_mcp.sandbox.limits import Limits, returned, short_error
from minions_evals_mcp.sandbox.python_reads import unread_in_python
from minions_evals_mcp.scoring.checks import Guards, Ran, SnippetError

if TYPE_CHECKING:
    from pydantic_monty import Monty, MontyRuntimeError, MontySession, MontySyntaxError, ResourceLimits

MOST_DEPTH = 500
MOST_CALLS_OUT = 100
KILL_GRACE_SECONDS = 1.0
_PRELUDE = "import json, math, re\n"
_STATISTICS = """
class Statistics:
    def mean(self, data):
        data = list(data)
        if not data:
            raise ValueError("mean requires at least one data point")
        return sum(data) / len(data)
    fmean = mean
    def median(self, data):
        data = sorted(data)
        if not data:
            raise ValueError("no median for empty data")
        half = len(data) // 2
        return data[half] if len(data) % 2 else (data[half - 1] + data[half]) / 2
    def pvariance(self, data):
        data = list(data)
        middle = self.mean(data)
        return sum([(one - middle) ** 2 for one in data]) / len(data)
    def variance(self, data):
        data = list(data)
        if len(data) < 2:
            raise ValueError("variance requires at least two data points")
        return self.pvariance(data) * len(data) / (len(data) - 1)
    def pstdev(self, data):
        return self.pvariance(data) ** 0.5
    def stdev(self, data):
        return self.variance(data) ** 0.5
statistics = Statistics()
mean, fmean, median, stdev = statistics.mean, statistics.mean, statistics.median, statistics.stdev
pstdev, variance, pvariance = statistics.pstdev, statistics.variance, statistics.pvariance
"""
"""The part of the module `statistics` that people use; it runs inside, so that no value of a snippet is handled here."""
_WANTS_MODULES = re.compile(r"json|math|\bre\b|globals|eval|exec|__")
_WANTS_STATISTICS = re.compile(r"statistics|mean|median|stdev|variance")
_IMPORT = re.compile(r"^([ \t]*)import statistics(?: as (\w+))?[ \t]*(?=#|;|$)", re.MULTILINE)
_NAME = "(?:f?mean|median|p?stdev|p?variance)"
_IMPORT_FROM = re.compile(
    rf"^([ \t]*)from statistics import {_NAME}(?:[ \t]*,[ \t]*{_NAME})*[ \t]*(?=#|;|$)", re.MULTILINE
)
_PARSER = "The monty syntax parser does not yet support "
_LAUNCHER = "minions_evals_mcp.sandbox.monty_launcher"


class SnippetCall(NamedTuple):
    """Code, its variables, the code that runs before it, and the objects of which it may read only what is there."""

    code: str
    variables: Mapping[str, JsonValue]
    before: str = ""
    guards: Guards = ()


@contextmanager
def _launcher() -> Generator[Path | None]:
    """A program that starts the interpreter confined and without an environment; None where that cannot be done."""
    if sys.platform == "win32":
        yield None
        return
    from minions_evals_mcp.sandbox.worker import python_command  # noqa: PLC0415  only where it is used
    from minions_evals_mcp.temporary_folders import temporary_folder  # noqa: PLC0415  as above

    monty = Path(sysconfig.get_path("scripts")) / "monty"
    command = " ".join(map(quote, (*python_command(_LAUNCHER), str(monty))))
    with temporary_folder("sandbox") as folder:
        script = folder / "monty"
        script.write_text(f'#!/bin/sh\nexec /usr/bin/env -i {command} "$@" 2>/dev/null\n')
        script.chmod(0o700)
        yield script if monty.is_file() and os.access(script, os.X_OK) else None


class Python:
    """Owns the processes that run Python, started at the first snippet.

    A snippet runs in a thread that waits for its process; one that is cancelled is waited for, at most its time limit.
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._room = anyio.CapacityLimiter(most)
        self._starting = anyio.Lock()
        self._owned: ExitStack | None = None
        self._pool: Monty | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool = None
        if self._owned is not None:
            with anyio.CancelScope(shield=True):
                await run_sync(self._owned.close)

    async def run_each(self, calls: Sequence[SnippetCall], limits: Limits) -> list[Ran | SnippetError]:
        """Returns what each snippet gives, one after another in one thread; each has a place and limits of its own."""
        async with self._starting:
            try:
                pool = self._pool or await run_sync(self._started)
            except (OSError, RuntimeError) as error:
                return [SnippetError("died", f"the Python process does not start: {error}")] * len(calls)
        return await run_sync(partial(_run_each, pool, calls, limits), limiter=self._room)

    def _started(self) -> Monty:
        from pydantic_monty import Monty  # noqa: PLC0415  imported at first use: few runs need it

        self._owned = owned = self._owned or ExitStack()
        binary = owned.enter_context(_launcher())
        grace = KILL_GRACE_SECONDS
        self._pool = owned.enter_context(
            Monty(binary_path=binary, max_processes=self._most, feed_duration_limit_grace=grace)
        )
        return self._pool


class _Sink:
    """Takes what a snippet prints, and lets it go; too much of it stops the snippet."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self, _stream: Literal["stdout", "stderr"], text: str) -> None:
        self.left -= len(text)
        if self.left < 0:
            raise OverflowError


def _run_each(pool: Monty, calls: Sequence[SnippetCall], limits: Limits) -> list[Ran | SnippetError]:
    outcomes: list[Ran | SnippetError] = []
    for call in calls:
        outcomes.append(_refused(call) or _run(pool, call, limits))
        check_cancelled()
    return outcomes


def _refused(call: SnippetCall) -> SnippetError | None:
    """Returns why the code is not run at all: the interpreter would answer otherwise than Python."""
    unread = unread_in_python(call.code, call.variables, call.guards) if call.guards else ""
    if unread:
        return SnippetError("unsupported", f"the code reads {unread}")
    lacks = answered_otherwise(call.code) or answered_otherwise(call.before)
    return SnippetError("unsupported", f"the sandbox's Python has no {lacks}") if lacks else None


def _run(pool: Monty, call: SnippetCall, limits: Limits) -> Ran | SnippetError:
    from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError  # noqa: PLC0415  as above

    code, variables, before, _ = call
    sink = _Sink(limits.output_bytes)
    place = ""
    try:
        with pool.checkout(limits=_limits(limits, feeds=2 if before else 1)) as session:
            _prepare(session, code, before)
            if before:
                place = "the code before: "
                session.feed_run(_own_statistics(before), print_callback=sink)
                place = ""
            value = session.feed_run(_own_statistics(code), inputs={**variables}, print_callback=sink)
    except MontyCrashedError as error:
        return (
            limits.exceeded("time-limit") if error.timed_out else SnippetError("died", f"the Python process: {error}")
        )
    except (MontySyntaxError, MontyRuntimeError) as error:
        return limits.exceeded("output-limit") if sink.left < 0 else _broke(error, limits, place)
    except (MontyError, ValueError) as error:  # a value that cannot leave the interpreter
        return SnippetError("raised", short_error(f"{place}{error}"))
    except RuntimeError as error:
        return SnippetError("died", f"the Python process does not start: {error}")
    return returned(value, limits)


def _limits(limits: Limits, *, feeds: int) -> ResourceLimits:
    return {
        "max_feed_duration_secs": limits.seconds / feeds,
        "max_memory": limits.memory_bytes,
        "max_recursion_depth": MOST_DEPTH,
        "max_suspensions": MOST_CALLS_OUT,
        "max_total_sleep_secs": 0.0,
    }


def _prepare(session: MontySession, code: str, before: str) -> None:
    texts = (code, before)
    if any(map(_WANTS_STATISTICS.search, texts)):
        session.feed_run(_PRELUDE + _STATISTICS)
    elif any(map(_WANTS_MODULES.search, texts)):
        session.feed_run(_PRELUDE)


def _own_statistics(code: str) -> str:
    """The code with imports of `statistics`, which the interpreter has not, pointing at ours; lines stay where they are."""
    code = _IMPORT.sub(lambda match: f"{match[1]}{match[2]} = statistics" if match[2] else f"{match[1]}pass", code)
    return _IMPORT_FROM.sub(r"\1pass", code)


def _broke(error: MontySyntaxError | MontyRuntimeError, limits: Limits, place: str) -> SnippetError:
    raised = error.exception()
    message = str(raised)
    if isinstance(raised, Exception) and (lacks := lacking(raised)) is not None:
        return SnippetError("unsupported", short_error(f"{place}{_where(error)}the sandbox's Python: {lacks}"))
    match raised:
        case TimeoutError() if "limit exceeded" in message:
            return limits.exceeded("time-limit")
        case MemoryError():
            return limits.exceeded("memory-limit")
        case NotImplementedError() if message.startswith(_PARSER):
            return SnippetError("unsupported", f"{place}the sandbox's Python has no {message.removeprefix(_PARSER)}")
        case ModuleNotFoundError() | PermissionError():
            return SnippetError("unsupported", short_error(f"{place}{message}"))
        case RuntimeError() if "not supported in this environment" in message or message.startswith("suspension limit"):
            return SnippetError("unsupported", short_error(f"{place}{message}"))
        case _:
            kind = "syntax" if isinstance(raised, SyntaxError) and not place else "raised"
            name = type(raised).__name__
            return SnippetError(kind, short_error(f"{place}{_where(error)}{name}: {message}"), name)


def _where(error: MontySyntaxError | MontyRuntimeError) -> str:
    frames = error.traceback()
    return f"line {frames[-1].line}: " if frames else ""

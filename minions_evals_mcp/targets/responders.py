"""What answers a config's prompts: a model, a Python file, a program."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, cast

import anyio
import anyio.to_thread
from pydantic import JsonValue, TypeAdapter

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.targets.command import Finished, finished
from minions_evals_mcp.targets.exchange import Asking
from minions_evals_mcp.targets.live import seen_in
from minions_evals_mcp.targets.prompted import Prompt

T = TypeVar("T")
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


@dataclass(frozen=True, slots=True)
class Turns:
    """A prompt as a model is sent it."""

    system: str | None
    user: str


def turns(prompt: str) -> Turns | None:
    """The turns that a prompt stands for: JSON with one user's message, after one of the system's; else the text.

    None for a conversation of several turns, or one whose messages are no texts.
    """
    try:
        found: JsonValue = json.loads(prompt)
    except (ValueError, RecursionError):
        return Turns(None, prompt)
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) and "role" in one for one in found):
        return Turns(None, prompt)
    match found:
        case [{"role": "user", "content": str(user)}]:
            return Turns(None, user)
        case [{"role": "system" | "developer", "content": str(system)}, {"role": "user", "content": str(user)}]:
            return Turns(system, user)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class ModelResponder:
    """A model at its provider; `params` join the request as they are."""

    client: ModelClient
    model: str
    name: str
    max_tokens: int
    params: Json
    deadline_s: float

    async def answer(self, prompt: Prompt, asked: Asking) -> Observed | TargetErrored:
        """The model's reply."""
        said = turns(prompt.text)
        if said is None:
            return TargetErrored(f"{self.name}: a prompt of several turns is not carried out")
        request = ModelRequest(
            model=self.model, system=said.system, user=said.user, max_tokens=self.max_tokens, params=self.params
        )
        # Longer than the test's own limit, so that a slow answer is seen to be slow instead of given up.
        deadline_s = max(self.deadline_s, 2 * (asked.timeout_ms or 0) / 1000)
        reply = await self.client.complete(request, deadline_s=deadline_s)
        return seen_in(reply, self.name, asked.version_ref, timeout_ms=asked.timeout_ms)


async def in_time(asked: Asking, work: Callable[[], Awaitable[T]]) -> tuple[T | None, float]:
    """What the work gave within the limit, and the milliseconds it took."""
    found: T | None = None
    started = time.perf_counter()
    with anyio.move_on_after(asked.limit_s):
        found = await work()
    return found, (time.perf_counter() - started) * 1000


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A function in a Python file of the user's: `call_api(prompt, options, context)` gives {output, error, tokenUsage, cost}."""

    name: str
    function: Callable[..., object]
    options: Json

    async def answer(self, prompt: Prompt, asked: Asking) -> Observed | TargetErrored:
        """What the function returned."""
        context: Json = {"vars": prompt.variables, "prompt": {"raw": prompt.template}}

        async def call() -> object:
            found = await anyio.to_thread.run_sync(
                self.function, prompt.text, self.options, context, abandon_on_cancel=True
            )
            return await cast("Awaitable[object]", found) if inspect.isawaitable(found) else found

        try:
            found, latency_ms = await in_time(asked, call)
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's function may raise anything; it is the target's error
            return TargetErrored(f"{self.name} raised {type(error).__name__}: {error}")
        return asked.too_late(latency_ms) if found is None else returned(found, asked, latency_ms)


def returned(found: object, asked: Asking, latency_ms: float) -> Observed | TargetErrored:
    """What a function or a transform gave: a text, or {output, error, tokenUsage, cost}."""
    try:
        value = _JSON.validate_python({"output": found} if isinstance(found, str) else found)
        canonical(value).encode()  # NaN and lone surrogates stand in no record
    except ValueError:
        return TargetErrored(f"{asked.name} returned {type(found).__name__}, which is no JSON")
    if not isinstance(value, dict):
        return TargetErrored(f"{asked.name} returned {type(found).__name__}; return {{'output': …}}")
    if value.get("error"):
        return TargetErrored(f"{asked.name}: {value['error']}")
    if value.get("output") is None:
        return TargetErrored(f"{asked.name} returned no output")
    usage = value.get("tokenUsage")
    tokens = usage if isinstance(usage, dict) else {}
    return Observed(
        output={"output": value["output"]},
        latency_ms=latency_ms,
        input_tokens=_count(tokens.get("prompt")),
        output_tokens=_count(tokens.get("completion")),
        cost_usd=_amount(value.get("cost")),
    )


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _amount(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def python_file(path: Path, function: str, *, name: str, options: Json) -> PythonFile:
    """The function in that file, with its folder among the places to import from; raises `BadInputError` where there is none."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(f"_provider_{path.stem}", path)
    try:
        if spec is None or spec.loader is None:
            raise ImportError("it is no Python file")  # noqa: TRY301  told like whatever the file raises
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found = getattr(module, function)
    except Exception as error:  # noqa: BLE001  a user's module may raise anything while it is loaded
        raise BadInputError(
            f"{path} cannot be loaded: {type(error).__name__}: {error}.",
            remedy=f"It must define {function}(prompt, options, context).",
        ) from None
    if not callable(found):
        raise BadInputError(f"{function} in {path} is no function.")
    return PythonFile(name, found, options)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is given the prompt, its options and the context as arguments, and writes the answer."""

    name: str
    command: tuple[str, ...]
    options: Json

    async def answer(self, prompt: Prompt, asked: Asking) -> Observed | TargetErrored:
        """What the program wrote; at the limit it is killed with its children."""
        said = bytearray()
        context: Json = {"vars": prompt.variables, "prompt": {"raw": prompt.template}}
        arguments = (prompt.text, canonical(self.options), canonical(context))
        if any("\0" in one for one in arguments):
            return TargetErrored(f"{self.name}: the prompt holds a NUL, which no argument can")
        found, latency_ms = await in_time(asked, lambda: finished([*self.command, *arguments], b"", said=said))
        told = said.decode("utf-8", "replace").strip()
        match found:
            case None:
                return asked.too_late(latency_ms)
            case TargetErrored():
                return replace(found, reason=f"{self.name}: {found.reason}")
            case Finished(code=0):
                text = found.out.decode("utf-8", "replace").strip()
                return Observed(output={"output": text}, latency_ms=latency_ms, stderr=told)
            case Finished():
                return TargetErrored(f"{self.name} ended with code {found.code}: {told[-600:]}")

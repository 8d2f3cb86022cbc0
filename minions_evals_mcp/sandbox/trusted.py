"""Snippets run by the real interpreters, by an operator who trusts them (`--trust-code`): limited, not confined."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import cast

import anyio
from anyio.abc import Process
from pydantic import JsonValue

from minions_evals_mcp.sandbox.limits import Limits, returned, short_error
from minions_evals_mcp.sandbox.node import node_flags, node_here
from minions_evals_mcp.sandbox.programs import NotStartedError, running
from minions_evals_mcp.sandbox.worker import python_command
from minions_evals_mcp.scoring.checks import Guards, Language, Ran, SnippetError

_ANSWER_ROOM = 4096
_ENVIRONMENT = {"PATH": os.defpath}
_NODE = Path(__file__).with_name("trusted_node.js")


class Trusted:
    """Runs each snippet in a process of its own, killed with all that it started."""

    def __init__(self, *, most: int) -> None:
        self._room = anyio.CapacityLimiter(most)

    async def run(
        self,
        language: Language,
        code: str,
        variables: Mapping[str, JsonValue],
        limits: Limits,
        *,
        before: str = "",
        guards: Guards = (),
    ) -> Ran | SnippetError:
        """Returns what the snippet gives."""
        command = _command(language, limits)
        if command is None:
            return SnippetError("unsupported", "node is not installed")
        request = json.dumps({"code": code, "variables": variables, "before": before, "guards": guards}).encode()
        bounds = _bounds(language, limits)
        try:
            async with self._room, running(command, stderr=DEVNULL, env=_ENVIRONMENT, limits=bounds) as process:
                with anyio.fail_after(limits.wall_seconds):
                    reply = await _answer(process, request, limits)
                    computed_too_long = not reply and _out_of_time(await process.wait())
        except TimeoutError:
            return limits.exceeded("wall-limit")
        except NotStartedError as error:
            return SnippetError("died", f"the interpreter does not start: {error}")
        return limits.exceeded("time-limit") if computed_too_long else _outcome(reply, limits)


def _command(language: Language, limits: Limits) -> tuple[str, ...] | None:
    if language == "python":
        return python_command("minions_evals_mcp.sandbox.trusted_python")
    node = node_here()
    heap = f"--max-old-space-size={limits.memory_bytes >> 20}"
    return None if node is None else (node, heap, *node_flags(node), str(_NODE))


def _bounds(language: Language, limits: Limits) -> dict[int, int]:
    """Returns what the process may take; node reserves address space, and bounds its heap itself."""
    if sys.platform == "win32":
        return {}
    import resource  # noqa: PLC0415  not there on Windows

    bounds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: math.ceil(limits.seconds)}
    if language == "python":
        bounds[resource.RLIMIT_AS] = limits.memory_bytes + (256 << 20)
    return bounds


def _out_of_time(code: int) -> bool:
    """Returns whether a process ended because it had computed for as long as it may."""
    return sys.platform != "win32" and code == -signal.SIGXCPU


async def _answer(process: Process, request: bytes, limits: Limits) -> bytes:
    """All that the process says, as far as the limit allows, and one byte more."""
    assert process.stdin is not None
    assert process.stdout is not None
    reply = b""
    with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
        await process.stdin.send(request)
        await process.stdin.aclose()
        while len(reply) <= limits.output_bytes + _ANSWER_ROOM:
            reply += await process.stdout.receive()
    return reply


def _outcome(reply: bytes, limits: Limits) -> Ran | SnippetError:
    if len(reply) > limits.output_bytes + _ANSWER_ROOM:
        return limits.exceeded("output-limit")
    try:
        answer = cast("JsonValue", json.loads(reply))
    except ValueError:
        return SnippetError("died", "the interpreter ended without an answer")
    match answer:
        case {"value": value}:
            return returned(value, limits)
        case {"kind": "memory-limit"}:
            return limits.exceeded("memory-limit")
        case {"kind": ("raised" | "syntax" | "unsupported") as kind, "error": str(error), "name": str(name)}:
            return SnippetError(kind, short_error(error), name)
        case _:
            return SnippetError("died", "the interpreter gave an answer that is none")

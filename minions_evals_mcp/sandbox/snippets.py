"""Running what users wrote (score card code, assertions) without trusting it, whatever its language."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from math import ceil
from types import TracebackType
from typing import Self, assert_never

import anyio
from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp.sandbox.javascript import JavaScript
from minions_evals_mcp.sandbox.limits import LONGEST_CODE, Limits
from minions_evals_mcp.sandbox.python import Python, SnippetCall
from minions_evals_mcp.sandbox.standard_python import StandardPython
from minions_evals_mcp.sandbox.trusted import Trusted
from minions_evals_mcp.scoring.checks import Guards, Language, Ran, SnippetError, SnippetNeed

MOST_PROCESSES = 4
MOST_AT_ONCE = 16
"""So many snippets go to a process in one go."""
DEFAULT_LIMITS = Limits()
TOO_LONG = SnippetError("unsupported", f"code of more than {LONGEST_CODE:,} characters")


class Snippets:
    """Owns the processes that run snippets, started at the first need of each language and ended with it.

    Python runs with its standard library where the system confines a process (`confined`), else in an interpreter that
    knows a part of it. With `trusted` a snippet runs with the real interpreter, which can do whatever the caller can.
    """

    def __init__(self, *, trusted: bool = False, confined: bool = True, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._most = most = min(MOST_PROCESSES, os.cpu_count() or 1)
        self._standard = StandardPython(most=most, confined=confined)
        self._python = Python(most=most)
        self._javascript = JavaScript(most=most)
        self._trusted = Trusted(most=most) if trusted else None
        self._owned = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._owned.enter_async_context(self._standard)
        await self._owned.enter_async_context(self._python)
        await self._owned.enter_async_context(self._javascript)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._owned.aclose()

    async def run(
        self,
        language: Language,
        code: str,
        variables: Mapping[str, JsonValue],
        *,
        limits: Limits | None = None,
        before: str = "",
        guards: Guards = (),
    ) -> Ran | SnippetError:
        """Returns what the code returns, else the value of its last expression; each variable is a name in it.

        `before` is Python that runs first, in the same place: an output under test. Code that reads what is not there of
        the objects in `guards` gives nothing.
        """
        limits = limits or self._limits
        if len(code) > LONGEST_CODE or len(before) > LONGEST_CODE:
            return TOO_LONG
        if self._trusted is not None:
            return await self._trusted.run(language, code, variables, limits, before=before, guards=guards)
        match language:
            case "python":
                (outcome,) = await self._python_each([SnippetCall(code, variables, before, guards)], limits)
                return outcome
            case "javascript":
                return await self._javascript.run(code, variables, limits, guards=guards)
            case _:
                assert_never(language)

    async def fetch(self, needs: Sequence[SnippetNeed]) -> dict[SnippetNeed, Ran | SnippetError]:
        """Returns what each snippet gives; equal ones run once, several at the same time."""
        outcomes: dict[SnippetNeed, Ran | SnippetError] = {}

        async def several(part: Sequence[SnippetNeed]) -> None:
            outcomes.update(zip(part, await self._each(part), strict=True))

        async with anyio.create_task_group() as running:
            for language in ("python", "javascript"):
                wanted = [need for need in dict.fromkeys(needs) if need.language == language]
                for part in self._parts(wanted):
                    running.start_soon(several, part)
        return outcomes

    def _parts(self, needs: Sequence[SnippetNeed]) -> Iterator[Sequence[SnippetNeed]]:
        """The needs as they go to processes: few to each, so that all of these have some."""
        size = 1 if self._trusted else min(MOST_AT_ONCE, ceil(len(needs) / self._most))
        return (needs[at : at + size] for at in range(0, len(needs), size or 1))

    async def _each(self, needs: Sequence[SnippetNeed]) -> list[Ran | SnippetError]:
        """Returns what each of several snippets of one language gives, one after another."""
        variable_sets: list[dict[str, JsonValue]] = [from_json(need.variables) for need in needs]
        if self._trusted is not None:
            return [
                await self.run(need.language, need.code, variables, before=need.before, guards=need.guards)
                for need, variables in zip(needs, variable_sets, strict=True)
            ]
        too_long = [max(len(need.code), len(need.before)) > LONGEST_CODE for need in needs]
        left = [
            (need, variables) for need, variables, long in zip(needs, variable_sets, too_long, strict=True) if not long
        ]
        ran = iter(await self._ran(left) if left else ())
        return [TOO_LONG if long else next(ran) for long in too_long]

    async def _ran(self, calls: Sequence[tuple[SnippetNeed, Mapping[str, JsonValue]]]) -> list[Ran | SnippetError]:
        if calls[0][0].language == "python":
            runs_wanted = [SnippetCall(need.code, variables, need.before, need.guards) for need, variables in calls]
            return await self._python_each(runs_wanted, self._limits)
        return await self._javascript.run_each(
            [(need.code, need.variables, need.guards) for need, _ in calls], self._limits
        )

    async def _python_each(self, calls: Sequence[SnippetCall], limits: Limits) -> list[Ran | SnippetError]:
        """Returns what each gives in Python, as much of it as runs confined here."""
        outcomes = await self._standard.run_each(calls, limits)
        return await self._python.run_each(calls, limits) if outcomes is None else outcomes

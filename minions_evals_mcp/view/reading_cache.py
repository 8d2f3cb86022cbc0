"""The pages' readings: sorting, filtering and polling read no run anew.

Whoever signed in has answers of their own: many are whole pages, with the person's name and what their role may do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from starlette.requests import Request

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.events import last_event
from minions_evals_mcp.view.entrance.visitors import visitor
from minions_evals_mcp.view.parameters import engine_of

T = TypeVar("T")
MOST = 48
"""So many answers are held at once; the one that was asked for longest ago goes first."""


@dataclass(slots=True, eq=False)
class ReadingCache:
    """The answers that were made while the store stood at `version`; a commit by anybody makes all of them void."""

    version: int = -1
    until_event: bool = False
    """Only a new fact (an event) makes answers void; a commit without one does not."""
    answers: OrderedDict[Hashable, object] = field(default_factory=OrderedDict[Hashable, object])

    async def answer(self, engine: Engine, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """The answer that is held under that key, else what `make` returns."""
        version = await (engine.store.read(last_event) if self.until_event else engine.store.version())
        if version != self.version:
            self.version = version
            self.answers.clear()
        if key in self.answers:
            self.answers.move_to_end(key)
            return cast("T", self.answers[key])
        made = await make()
        if self.version == version:  # else it may tell of the store as it stood before another commit
            self.answers[key] = made
            while len(self.answers) > MOST:
                self.answers.popitem(last=False)
        return made


async def cached_while_true(request: Request, what: str, make: Callable[[Engine], Awaitable[T]], *about: Hashable) -> T:
    """As `cached`, for what only a new fact can change: a commit that says nothing new leaves it as it is."""
    engine, answers = engine_of(request), request.app.state.kept_facts
    assert isinstance(answers, ReadingCache)
    return await answers.answer(engine, (what, visitor(), *about), lambda: make(engine))


async def cached(request: Request, what: str, make: Callable[[Engine], Awaitable[T]], *about: Hashable) -> T:
    """Returns what `make` reads or writes for a page, under its name and what it is about, made once while nothing is written."""
    engine, answers = engine_of(request), request.app.state.kept
    assert isinstance(answers, ReadingCache)
    return await answers.answer(engine, (what, visitor(), *about), lambda: make(engine))

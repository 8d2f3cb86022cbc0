"""The cases of a run in the order that a reader asks for: sorted and filtered in memory, over an index that is read once."""

from __future__ import annotations

import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from starlette.requests import Request

from minions_evals_mcp.engine.answers.run_outline import RunOutline
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages import run_cases
from minions_evals_mcp.store.queries.pages.run_cases import CaseFilter, IndexedCase, Place
from minions_evals_mcp.view.reading_cache import cached, cached_while_true

T = TypeVar("T")
CHANGES = frozenset({"newly-failing", "newly-passing"})
RANKS: Mapping[tuple[str, str], int] = {
    ("failed", "newly-failing"): 0, ("failed", ""): 1, ("unscored", ""): 2, ("passed", "newly-passing"): 3, ("passed", ""): 4,
}  # fmt: skip
"""What comes first unless somebody sorts: what fails now and passed before."""
_FOLDED = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
Costs = Mapping[Place, tuple[float | None, float | None]]


async def listed(request: Request, outline: RunOutline, filters: CaseFilter, *, live: bool) -> list[Place]:
    """The places of the cases that fit, in order. Of a run that is over the index lasts until something new is known."""
    run_id, keep = outline.run_id, cached if live else cached_while_true

    async def read(what: str, query: Callable[[Db], T], *about: str) -> T:
        return await keep(request, what, lambda engine: engine.store.read(query), run_id, *about)

    index = await read(
        "case-index", partial(run_cases.run_index, run_id=run_id, before=outline.before), outline.before or ""
    )
    among: list[Collection[Place]] = []
    if filters.tag:
        among.append(await read("case-tag", partial(run_cases.bearing, run_id=run_id, tag=filters.tag), filters.tag))
    if filters.text:
        query = partial(run_cases.holding, run_id=run_id, text=filters.text)
        among.append(await read("case-text", query, filters.text) | named(index, filters.text))
    costs: Costs = {}
    if filters.sort in {"cost", "time"}:
        costs = await read("case-costs", partial(run_cases.run_costs, run_id=run_id))
    return ordered(index, filters, among, costs)


def named(index: Sequence[IndexedCase], text: str) -> set[Place]:
    """The cases whose id or title holds the text, in any case of its ASCII letters."""
    sought = text.translate(_FOLDED)
    return {case.place for case in index if sought in case.names}


def ordered(
    index: Sequence[IndexedCase],
    filters: CaseFilter,
    among: Sequence[Collection[Place]] = (),
    costs: Costs | None = None,
) -> list[Place]:
    """The places of the cases that fit the filters and are in each of `among`; cases without what they are sorted by come last.

    The index stands as `by_score` puts it, so that ties need no second look.
    """
    fitting: Iterable[IndexedCase] = index
    if filters.status in CHANGES:
        fitting = [case for case in fitting if case.change == filters.status]
    elif filters.status:
        fitting = [case for case in fitting if case.status == filters.status]
    if filters.cause:
        fitting = [case for case in fitting if case.cause == filters.cause]
    for places in among:
        fitting = [case for case in fitting if case.place in places]
    worth = _worth(filters, costs or {})
    known: list[tuple[Any, Place]] = []
    unknown: list[Place] = []
    for case in fitting:
        value = worth(case)
        if value is None:
            unknown.append(case.place)
        else:
            known.append((value, case.place))
    known.sort(key=itemgetter(0), reverse=filters.falling)  # stable, in reverse too
    return [place for _, place in known] + unknown


def _worth(filters: CaseFilter, costs: Costs) -> Callable[[IndexedCase], str | float | None]:
    """What the cases are sorted by."""
    match filters.sort:
        case "score":
            return attrgetter("score")
        case "case":
            return attrgetter("folded")
        case "cost" | "time":
            which = 1 if filters.sort == "time" else 0
            return lambda case: found[which] if (found := costs.get(case.place)) else None
        case "place":
            return attrgetter("position")
        case _:
            return lambda case: RANKS[case.status, case.change]


@dataclass(frozen=True, slots=True)
class AmongCases:
    """The position of a case among those that fit a filter, from 1, of how many; and its neighbours there."""

    number: int
    of: int
    previous: Place | None
    following: Place | None


def among_cases(places: Sequence[Place], place: Place) -> AmongCases | None:
    """The case's number and neighbours in the list; None if it is not listed."""
    try:
        at = places.index(place)
    except ValueError:
        return None
    following = places[at + 1] if at + 1 < len(places) else None
    return AmongCases(at + 1, len(places), places[at - 1] if at else None, following)

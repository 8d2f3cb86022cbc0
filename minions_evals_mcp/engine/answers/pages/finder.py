"""What somebody looks for by a part of its name: benchmarks, prompts, cases and runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.engine.answers.run_list import read_runs
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages.finder import Named, named_so, newest_place
from minions_evals_mcp.store.queries.pages.page_lists import PageRunLine, RunFilter
from minions_evals_mcp.store.queries.report_units import Place

EACH = 6


@dataclass(frozen=True, slots=True)
class FoundCase:
    """A case, and where it was last judged."""

    case: Named
    run_id: str
    place: Place


@dataclass(frozen=True, slots=True)
class FoundByName:
    """A few of each, the most fitting first; a case that was never judged in a run has no page."""

    benchmarks: tuple[Named, ...]
    prompts: tuple[Named, ...]
    cases: tuple[FoundCase, ...]
    runs: tuple[PageRunLine, ...]


async def find_by_name(engine: Engine, text: str) -> FoundByName:
    """What is called so; without a text the newest of each."""
    benchmarks, prompts, cases = await engine.store.read(partial(_definitions, text=text.strip()))
    runs = await read_runs(engine, skip=0, limit=EACH, only=RunFilter(text=text.strip()))
    return FoundByName(benchmarks, prompts, cases, tuple(runs))


def _definitions(db: Db, *, text: str) -> tuple[tuple[Named, ...], tuple[Named, ...], tuple[FoundCase, ...]]:
    benchmarks, prompts, cases = (
        tuple(named_so(db, kind, text, limit=EACH)) for kind in ("benchmark", "prompt-version", "test-case")
    )
    placed = ((case, newest_place(db, case.id)) for case in cases)
    return benchmarks, prompts, tuple(FoundCase(case, *place) for case, place in placed if place is not None)

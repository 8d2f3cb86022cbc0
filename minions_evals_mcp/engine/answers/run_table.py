"""A benchmark-run as a table: a row for each test-run, a column for each criterion, then the run's own figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from functools import partial

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db

CASE = "testCase"
FIGURES = ("latency", "cost", "passed", "score")
"""Latency in ms, cost in US dollars, the score as a fraction of what was possible. The score is last: it is the default."""
FALLING = frozenset({"latency", "cost"})
"""Columns of which a fall is good."""
PAGE = 200


async def run_rows(engine: Engine, run_id: str) -> AsyncIterator[Json]:
    """The rows of a benchmark-run in the order in which its test-runs were recorded, a page in memory at a time."""
    titles = await engine.store.read(partial(_titles, run_id=run_id))
    after = 0
    while page := await engine.store.read(partial(_page, run_id=run_id, titles=titles, after=after)):
        for _, row in page:
            yield row
        after = page[-1][0]


def _titles(db: Db, *, run_id: str) -> dict[str, str]:
    """Column names by criterion: its name, or its id where the name is another column's too."""
    named = {mean.dimension: mean.title for mean in runs.means(db, run_id)}
    taken = Counter([CASE, *FIGURES, *named.values()])
    return {ident: title if taken[title] == 1 else ident for ident, title in named.items()}


def _page(db: Db, *, run_id: str, titles: Mapping[str, str], after: int) -> list[tuple[int, Json]]:
    page = runs.runs_of(db, run_id, after=after, limit=PAGE)
    return [(seq, _row(run, _criterion_scores(db, run.id, titles))) for seq, run in page]


def _criterion_scores(db: Db, test_run_id: str, titles: Mapping[str, str]) -> Json:
    judgments = [judgment.fields for judgment in runs.judgments_of(db, test_run_id)]
    return {titles[judgment.criterion_id]: judgment.score for judgment in judgments if judgment.criterion_id in titles}


def _row(run: Record[TestRun], criteria: Json) -> Json:
    fields = run.fields
    figures: tuple[JsonValue, ...] = (
        fields.latency_ms,
        fields.cost_usd,
        fields.passed,
        fields.total_score / fields.max_possible_score,
    )
    return {CASE: fields.test_case_id, **criteria, **dict(zip(FIGURES, figures, strict=True))}

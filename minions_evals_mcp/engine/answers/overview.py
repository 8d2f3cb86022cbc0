"""The state of everything, a row for each benchmark: its score, what changed and whether that is real, what waits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.answers.readings.benchmark_levels import LevelStart, read_levels
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading, read_beside, read_pair
from minions_evals_mcp.engine.answers.what_changed import what_changed
from minions_evals_mcp.engine.conclude.decided_figures import decided_figures
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.stats.attempts import BUDGET
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units, run_pairs
from minions_evals_mcp.store.queries.drafts import case_of_newest_draft, count_drafts
from minions_evals_mcp.store.queries.judging.waiting_outputs import count_waiting, count_waiting_users
from minions_evals_mcp.store.queries.pages import listings, overview
from minions_evals_mcp.store.queries.pages.benchmark_uses import BenchmarkUses, benchmark_uses
from minions_evals_mcp.store.queries.pages.overview import ConfigColumn, ListedBenchmark, RunPoint

POINTS = 24
COMPARISONS = 4
READ = 20_000
"""So many outputs of a benchmark are read at most to count its flaky cases; of a larger one its own page tells them."""
KEPT = 500
_known: OrderedDict[tuple[str, str, str], int] = OrderedDict()


class Fell(Value):
    """A regression that has not been made good since: from the run before to the run that fell."""

    run_id: str
    before_id: str
    at: Timestamp
    score_before: float
    score: float
    reading: PairReading
    version_before: str
    version: str
    version_id: str | None
    later: int


class BenchmarkStanding(Value):
    """The newest run of a benchmark, the verdict on it beside the run before, and the newest change of level."""

    run_id: str
    at: Timestamp
    score: float
    score_interval: tuple[float, float] | None
    passed: int
    total: int
    pass_interval: tuple[float, float] | None
    met: bool
    before_id: str | None
    change: PairReading | None
    level_change: LevelStart | None
    version: str
    cost_usd: float | None
    scores: tuple[float, ...]
    falls: tuple[int, ...]
    breaks: tuple[int, ...]
    fell: Fell | None
    judged_by: tuple[str, ...] = ()


class HighestColumn(Value):
    """The best result of a config: its columns, the one that scores highest and how many score as high, and what they cost together."""

    at: Timestamp
    columns: int
    open: int
    name: str
    alike: int
    score: float
    passed: int
    total: int
    pass_interval: tuple[float, float] | None
    cost_usd: float | None


class OverviewRow(Value):
    """A benchmark in a row: `standing` where it ran, `config` where it is the tests of one."""

    benchmark_id: str
    title: str
    threshold: float
    waiting: int
    flaky: int | None
    standing: BenchmarkStanding | None
    config: HighestColumn | None
    uses: BenchmarkUses | None = None
    sealed: bool = False


class Decided(Value):
    """A comparison in brief."""

    comparison_id: str
    benchmark: str
    name_a: str
    name_b: str
    verdict: str
    delta: float
    interval: tuple[float, float] | None
    of: Annotated[str, Field(exclude_if=lambda of: of == "score")] = "score"
    level: float
    """The error at which it was decided: the interval is as sure as 1 less that."""
    cases: int
    at: Timestamp


class Overview(Value):
    """A page of benchmarks of so many, what waits (outputs, of them conversations for the next message of their user, and drafts of
    cases), and the newest comparisons.
    """

    rows: tuple[OverviewRow, ...]
    total: int
    waiting: int
    users: int
    drafts: int
    draft_of: str | None
    """The case of which the newest draft was made."""
    decided: tuple[Decided, ...]


async def read_overview(engine: Engine, *, skip: int, limit: int) -> Overview:
    """Returns how everything stands: benchmarks that fell first, then those that ran last."""
    page = await engine.store.read(partial(_overview, skip=skip, limit=limit))
    rows = [row.model_copy(update={"flaky": await _flaky(engine, row)}) for row in page.rows]
    return page.model_copy(update={"rows": tuple(rows)})


async def _flaky(engine: Engine, row: OverviewRow) -> int | None:
    """Returns how many cases flip while nothing changes; kept by the newest run, as it cannot change until the next."""
    standing = row.standing
    if standing is None or standing.total * len(standing.scores) > READ:
        return None
    key = (str(engine.config.db), row.benchmark_id, standing.run_id)
    if key not in _known:
        _known[key] = len((await what_changed(engine, row.benchmark_id)).flaky)
        if len(_known) > KEPT:
            _known.popitem(last=False)
    return _known[key]


def _overview(db: Db, *, skip: int, limit: int) -> Overview:
    listed = overview.listed_benchmarks(db, skip=skip, limit=limit)
    waiting = overview.waiting_by_benchmark(db, [benchmark.id for benchmark in listed])
    return Overview(
        rows=tuple(_row(db, benchmark, waiting.get(benchmark.id, 0)) for benchmark in listed),
        total=listings.count_of(db, kind="benchmark"),
        waiting=count_waiting(db),
        users=count_waiting_users(db),
        drafts=count_drafts(db),
        draft_of=case_of_newest_draft(db),
        decided=newest_decisions(db, limit=COMPARISONS),
    )


def _row(db: Db, listed: ListedBenchmark, waiting: int) -> OverviewRow:
    points = overview.newest_points(db, listed.id, limit=POINTS)
    columns = [] if points or not listed.configured else overview.config_columns(db, listed.id)
    return OverviewRow(
        benchmark_id=listed.id,
        title=listed.title,
        threshold=listed.threshold,
        waiting=waiting,
        flaky=None,
        standing=_standing(db, listed.id, points) if points else None,
        config=_highest(db, columns),
        uses=None if points or columns else benchmark_uses(db, listed.id),
        sealed=listed.sealed,
    )


def _standing(db: Db, benchmark_id: str, points: Sequence[RunPoint]) -> BenchmarkStanding:
    last = points[-1]
    change = read_beside(db, last.run_id)
    names = version_names(db, (point.version for point in points))
    return BenchmarkStanding(
        run_id=last.run_id,
        at=last.at,
        score=last.score,
        score_interval=last.score_interval,
        passed=last.passed,
        total=last.total,
        pass_interval=last.pass_interval,
        met=last.met,
        before_id=None if change is None else change.before,
        change=change,
        level_change=read_levels(db, benchmark_id).last_change,
        version=named(names, last.version),
        cost_usd=overview.run_cost(db, last.run_id),
        scores=tuple(point.score for point in points),
        falls=tuple(at for at, point in enumerate(points) if point.is_regression and point.evidence == "supported"),
        breaks=tuple(at for at, point in enumerate(points) if at and points[at - 1].series != point.series),
        fell=_fell(db, points, names),
        judged_by=last.judged_by,
    )


def _fell(db: Db, points: Sequence[RunPoint], names: dict[str, str]) -> Fell | None:
    """The first regression of the newest series after which no run came back to the middle between before and after."""
    at = next((number for number in range(1, len(points)) if _still_down(points, number)), None)
    if at is None:
        return None
    before, fallen = _base(points, at), points[at]
    if before is None:
        return None
    return Fell(
        run_id=fallen.run_id,
        before_id=before.run_id,
        at=fallen.at,
        score_before=before.score,
        score=fallen.score,
        reading=read_pair(db, before.run_id, fallen.run_id),
        version_before=named(names, before.version),
        version=named(names, fallen.version),
        version_id=fallen.version,
        later=len(points) - 1 - at,
    )


def _still_down(points: Sequence[RunPoint], at: int) -> bool:
    before, fallen = _base(points, at), points[at]
    if before is None or not fallen.is_regression or fallen.series != points[-1].series:
        return False
    middle = (before.score + fallen.score) / 2
    return all(point.score < middle for point in points[at + 1 :])


def _base(points: Sequence[RunPoint], at: int) -> RunPoint | None:
    """The run that the run at that place is compared with; None where it is none of these."""
    named = points[at].compared_with
    return points[at - 1] if named is None else next((point for point in points if point.run_id == named), None)


def _highest(db: Db, columns: Sequence[ConfigColumn]) -> HighestColumn | None:
    ended = [column for column in columns if column.score is not None]
    if not ended:
        return None
    highest = max(ended, key=_figures)
    costs = [cost for column in columns if (cost := overview.run_cost(db, column.run_id)) is not None]
    names = version_names(db, [highest.version])
    return HighestColumn(
        at=max(column.at for column in columns),
        columns=len(columns),
        open=len(columns) - len(ended),
        name=column_name(names, highest),
        alike=sum(_figures(column) == _figures(highest) for column in ended) - 1,
        score=highest.score or 0.0,
        passed=highest.passed or 0,
        total=highest.total or 0,
        pass_interval=highest.pass_interval,
        cost_usd=sum(costs) if costs else None,
    )


def _figures(column: ConfigColumn) -> tuple[float, float]:
    """Pass rate and score, as they are shown."""
    return round((column.passed or 0) / (column.total or 1), 6), round(column.score or 0.0, 6)


def column_name(names: dict[str, str], column: ConfigColumn) -> str:
    """A column of a config by its prompt and provider."""
    return " at ".join(part for part in (named(names, column.version), column.provider) if part)


def newest_decisions(db: Db, *, limit: int, benchmark_id: str | None = None) -> tuple[Decided, ...]:
    """The newest comparisons in brief."""
    comparisons = [
        run_pairs.comparison(db, comparison_id)
        for comparison_id in overview.newest_comparisons(db, limit=limit, benchmark_id=benchmark_id)
    ]
    records = [comparison for comparison in comparisons if comparison is not None]
    names = version_names(
        db, (side for record in records for side in (record.fields.prompt_version_a, record.fields.prompt_version_b))
    )
    titles = report_units.titles(db, [record.fields.benchmark_id for record in records])
    return tuple(_decided(record.id, decided_figures(db, record), names, titles) for record in records)


def _decided(ident: str, fields: PromptComparison, names: dict[str, str], titles: dict[str, str]) -> Decided:
    decided = fields.decided_on
    return Decided(
        comparison_id=ident,
        benchmark=titles.get(fields.benchmark_id, fields.benchmark_id),
        name_a=named(names, fields.prompt_version_a),
        name_b=named(names, fields.prompt_version_b),
        verdict=fields.verdict,
        delta=round(decided.delta, 6),
        interval=decided.interval,
        of=decided.of,
        level=fields.level or BUDGET,
        cases=fields.sample_size,
        at=fields.compared_at,
    )

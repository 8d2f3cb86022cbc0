"""A benchmark over time: its runs, the levels between which it moved, how each version and target did, what was decided."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.answers.names import named, renamed, version_names
from minions_evals_mcp.engine.answers.overview import Decided, newest_decisions
from minions_evals_mcp.engine.answers.readings.benchmark_levels import read_levels
from minions_evals_mcp.engine.answers.report_data import history, read_side
from minions_evals_mcp.engine.answers.report_values import ReportTrendPoint, Side
from minions_evals_mcp.engine.answers.what_changed import WhatChanged
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store import jobs, records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.config_labels import target_label
from minions_evals_mcp.store.queries.pages.benchmark_uses import BenchmarkUses, benchmark_uses

DECISIONS = 6
RECORDED = "recorded outputs"


class ByWhat(Value):
    """The runs of one version, or of one target: the newest of them, and the mean score of those that were measured alike with it."""

    name: str
    runs: int
    mean: float
    newest: float
    interval: tuple[float, float] | None
    passed: int
    total: int
    run_id: str
    since: Timestamp


@dataclass(frozen=True, slots=True)
class BenchmarkPage:
    """A benchmark; `side` is its newest run, None where none has ended. `levels` has the level of each run, `moved` by how much
    it moved where a level began.
    """

    record: Record[Benchmark]
    side: Side | None
    points: tuple[ReportTrendPoint, ...]
    names: dict[str, str]
    levels: dict[str, float]
    moved: dict[str, float]
    versions: tuple[ByWhat, ...]
    targets: tuple[ByWhat, ...]
    decided: tuple[Decided, ...]
    uses: BenchmarkUses


async def read_benchmark_page(engine: Engine, ident: str) -> BenchmarkPage:
    """The benchmark under that id; raises `NotFoundError`."""
    record, newest, uses = await engine.store.read(partial(_benchmark, ident=ident))
    if newest is None:
        decided = await engine.store.read(partial(newest_decisions, limit=DECISIONS, benchmark_id=ident))
        return BenchmarkPage(record, None, (), {}, {}, {}, (), (), decided, uses)
    side = await read_side(engine, newest, causes=False)
    points = await engine.store.read(partial(history, summary=side.summary))
    return await engine.store.read(partial(_page, record=record, side=side, points=points))


def _benchmark(db: Db, *, ident: str) -> tuple[Record[Benchmark], str | None, BenchmarkUses]:
    record = records.require(db, ident, Benchmark, remedy="The overview lists them.")
    return record, report_units.newest_run(db, ident), benchmark_uses(db, ident)


def _page(db: Db, *, record: Record[Benchmark], side: Side, points: tuple[ReportTrendPoint, ...]) -> BenchmarkPage:
    names = version_names(db, (point.version for point in points))
    levels = read_levels(db, record.id)
    return BenchmarkPage(
        record=record,
        side=side,
        points=points,
        names=names,
        levels={run_id: levels.starts[place].score for run_id, place in levels.place.items()},
        moved={start.run_id: start.delta for start in levels.starts if start.delta is not None},
        versions=_grouped(points, [named(names, point.version) for point in points]),
        targets=_grouped(points, [_target(db, point.run_id) for point in points]),
        decided=newest_decisions(db, limit=DECISIONS, benchmark_id=record.id),
        uses=benchmark_uses(db, record.id),
    )


def _target(db: Db, run_id: str) -> str:
    job = jobs.job(db, run_id)
    return (None if job is None else target_label(db, job)) or RECORDED


def _grouped(points: Sequence[ReportTrendPoint], names: Sequence[str]) -> tuple[ByWhat, ...]:
    """The runs by name, the newest group first."""
    groups: dict[str, list[ReportTrendPoint]] = {}
    for point, name in zip(points, names, strict=True):
        groups.setdefault(name, []).append(point)
    starts = [at for at, point in enumerate(points) if point.new_series]
    last_series = {point.run_id for point in (points[starts[-1] :] if starts else points)}
    groups_shown = [_group(name, group, last_series) for name, group in groups.items() if name]
    return tuple(sorted(groups_shown, key=lambda change: change.since, reverse=True))


def _group(name: str, group: Sequence[ReportTrendPoint], last_series: Collection[str]) -> ByWhat:
    newest = group[-1]
    alike = [point for point in group if point.run_id in last_series] or [newest]
    return ByWhat(
        name=name,
        runs=len(group),
        mean=fmean(point.score for point in alike),
        newest=newest.score,
        interval=newest.interval,
        passed=newest.passed,
        total=newest.total,
        run_id=newest.run_id,
        since=group[0].at,
    )


def level_names(db: Db, *, changes: WhatChanged) -> WhatChanged:
    """The same levels with the versions that changed by name."""
    versions = {level.version for level in changes.levels if level.version is not None}
    mentioned = {word for level in changes.levels for words in level.changed for word in words.split(" ")}
    names = version_names(db, versions | mentioned)
    levels = [
        level.model_copy(update={"changed": [renamed(words, names) for words in level.changed]})
        for level in changes.levels
    ]
    return changes.model_copy(update={"levels": levels})

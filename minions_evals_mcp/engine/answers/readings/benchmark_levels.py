"""The levels of a benchmark: the one place that decides where a level begins, for every page, command and answer."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.store.connection import Db, file_of
from minions_evals_mcp.store.queries import run_origins, trend_points
from minions_evals_mcp.store.queries.pages import level_cases
from minions_evals_mcp.store.queries.pages.level_cases import CaseShare
from minions_evals_mcp.store.queries.trend_points import SeriesRun

if TYPE_CHECKING:
    from minions_evals_mcp.engine.conclude.setup import RunSetup

MOVED = 0.5
"""A case is behind a level where its share of passes moved by more than this."""
CERTAIN = 0.001
"""A change of set-up begins a level of its own where the two runs' passes differ at this level (exact McNemar), and a drift
where the cases that moved did.
"""
SHORT = 4
"""A level of so few runs between two others can be the edge of one step."""
EDGE = 0.5
"""It is the edge where the smaller of its two steps, in the same direction, is less than this share of the larger."""
CACHED = 500
_cache: OrderedDict[tuple[str, str, int, int], Levels] = OrderedDict()


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """One run of the history with its set-up."""

    point: SeriesRun
    setup: RunSetup
    passed: int
    total: int


class LevelStart(Value):
    """The first run of a level; `delta` is None where the level before was measured in another way, and of the first."""

    run_id: str
    at: Timestamp
    score: float
    score_before: float | None
    delta: float | None
    runs: int


class Levels(Value):
    """The levels of a benchmark, oldest first; `place` is the level of each run."""

    starts: tuple[LevelStart, ...]
    place: dict[str, int]

    @property
    def last_change(self) -> LevelStart | None:
        """The newest change of level within the newest series."""
        newest = self.starts[-1] if self.starts else None
        return newest if newest is not None and newest.delta is not None else None

    @property
    def moved(self) -> frozenset[str]:
        """The runs at which the benchmark moved to another level."""
        return frozenset(start.run_id for start in self.starts if start.delta is not None)


def read_levels(db: Db, benchmark_id: str) -> Levels:
    """The levels of the benchmark; of one without whole runs, none."""
    key = (file_of(db), benchmark_id, *trend_points.marks(db, benchmark_id))
    if key not in _cache:
        points = trend_points.history(db, benchmark_id)
        _cache[key] = _levels(segments(db, with_setup(db, points))) if points else Levels(starts=(), place={})
        if len(_cache) > CACHED:
            _cache.popitem(last=False)
    return _cache[key]


def _levels(parts: Sequence[Sequence[HistoryRun]]) -> Levels:
    starts: list[LevelStart] = []
    for at, segment in enumerate(parts):
        score = fmean(run.point.score for run in segment)
        before = parts[at - 1] if at else None
        same = before is not None and before[-1].point.series == segment[0].point.series
        starts.append(
            LevelStart(
                run_id=segment[0].point.run_id,
                at=segment[0].point.at,
                score=score,
                score_before=starts[-1].score if same else None,
                delta=score - starts[-1].score if same else None,
                runs=len(segment),
            )
        )
    return Levels(
        starts=tuple(starts), place={run.point.run_id: at for at, segment in enumerate(parts) for run in segment}
    )


def with_setup(db: Db, points: Sequence[SeriesRun]) -> list[HistoryRun]:
    """The runs, each with what it was made and judged with."""
    from minions_evals_mcp.engine.conclude.setup import setup_with  # noqa: PLC0415  as above

    made = run_origins.made(db, [point.run_id for point in points])
    return [
        HistoryRun(
            point,
            setup_with(made[point.run_id].version, made[point.run_id].digests, made[point.run_id].target_name),
            made[point.run_id].passed,
            made[point.run_id].total,
        )
        for point in points
    ]


def segments(db: Db, history: Sequence[HistoryRun]) -> list[list[HistoryRun]]:
    """The runs cut wherever a level began, the series changed, or a change of set-up moved the passes for certain."""
    cut = [[history[0]]]
    for before, run in pairwise(history):
        if _begins(db, before, run):
            cut.append([run])
        else:
            cut[-1].append(run)
    return _without_edges([part for segment in cut for part in _parted(db, segment)])


def _without_edges(parts: list[list[HistoryRun]]) -> list[list[HistoryRun]]:
    """The same with the edge of a step, which two detectors placed a few runs apart, joined to the level that it belongs to."""
    at = 1
    while at < len(parts) - 1:
        before, edge, after = parts[at - 1 : at + 2]
        joined = _belongs(before, edge, after)
        if joined == 0:
            at += 1
            continue
        if joined < 0:
            parts[at - 1 : at + 1] = [before + edge]
        else:
            parts[at : at + 2] = [edge + after]
    return parts


def _belongs(before: Sequence[HistoryRun], edge: Sequence[HistoryRun], after: Sequence[HistoryRun]) -> int:
    """-1 where the few runs of `edge` belong to the level before, 1 where to the one after, 0 where they are one of their own."""
    if len(edge) > SHORT or len({part[-1].point.series for part in (before, edge, after)}) > 1:
        return 0
    mean, then, now = (fmean(run.point.score for run in part) for part in (edge, before, after))
    into, out = mean - then, now - mean
    if into * out < 0:
        return 0
    if abs(into) < EDGE * abs(out):
        return -1
    return 1 if abs(out) < EDGE * abs(into) else 0


def _parted(db: Db, segment: list[HistoryRun]) -> list[list[HistoryRun]]:
    """The segment cut where the target drifted: more cases moved one way, and stayed, than chance moves."""
    from minions_evals_mcp.stats.drift import FEWEST, begun, likeliest_place  # noqa: PLC0415  as above
    from minions_evals_mcp.stats.paired import mcnemar_exact  # noqa: PLC0415  as above

    rates = [run.passed / run.total for run in segment]
    place = likeliest_place(rates, max(run.total for run in segment))
    if place is None:
        return [segment]
    fell, rose = moved_cases(db, segment[:place], segment[place:])
    if mcnemar_exact(len(fell), len(rose)) > CERTAIN:
        return [segment]
    cut = begun(rates, place)
    if cut < FEWEST:
        first, *rest = _parted(db, segment[cut:])
        return [segment[:cut] + first, *rest]
    if len(segment) - cut < FEWEST:
        *rest, last = _parted(db, segment[:cut])
        return [*rest, last + segment[cut:]]
    return [*_parted(db, segment[:cut]), *_parted(db, segment[cut:])]


def _begins(db: Db, before: HistoryRun, run: HistoryRun) -> bool:
    from minions_evals_mcp.engine.conclude.setup import changes  # noqa: PLC0415  as above
    from minions_evals_mcp.stats.paired import mcnemar_exact  # noqa: PLC0415  as above
    from minions_evals_mcp.store.queries import shared_cases  # noqa: PLC0415  as above

    if run.point.new_level or run.point.series != before.point.series:
        return True
    if not changes(before.setup, run.setup):
        return False
    shared = shared_cases.shared(db, before.point.run_id, run.point.run_id)
    return mcnemar_exact(shared.worse, shared.better) <= CERTAIN


def moved_cases(
    db: Db, before: Sequence[HistoryRun], segment: Sequence[HistoryRun]
) -> tuple[dict[str, CaseShare], dict[str, CaseShare]]:
    """The cases that pass less in the runs after than in those before, and those that pass more; each where it failed."""
    from minions_evals_mcp.stats.drift import BESIDE  # noqa: PLC0415  as above

    then = level_cases.shares(db, [run.point.run_id for run in before[-BESIDE:]])
    now = level_cases.shares(db, [run.point.run_id for run in segment[:BESIDE]])
    moved = {case: _rate(share) - _rate(then[case]) for case, share in now.items() if case in then}
    fell = {case: now[case] for case, delta in moved.items() if delta < -MOVED}
    rose = {case: then[case] for case, delta in moved.items() if delta > MOVED}
    return fell, rose


def _rate(share: CaseShare) -> float:
    return share.passed / share.runs

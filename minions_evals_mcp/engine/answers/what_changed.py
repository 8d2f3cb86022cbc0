"""The changes in a benchmark's history: its levels, when each began and what changed then, the cases behind it, flaky ones
set apart, and what it cost. Read from stored runs; nothing is run or paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby, pairwise
from statistics import fmean

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.values import Count, Value, iso, short_id
from minions_evals_mcp.engine.answers.readings.benchmark_levels import HistoryRun, moved_cases, segments, with_setup
from minions_evals_mcp.engine.answers.trend_summary import no_points
from minions_evals_mcp.engine.conclude.newly_failing import FailureGroups, groups_of_runs
from minions_evals_mcp.engine.conclude.setup import UNSEEN, changes, outputs_exchanged
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import shared_cases, trend_points
from minions_evals_mcp.store.queries.pages import level_cases
from minions_evals_mcp.store.queries.pages.level_cases import CaseRun, CaseShare

FLIPS = 3
FLAKY_RUNS = 20
NAMED = 5
DROP, SLACK = 0.1, 1e-9
"""A run that falls by more than this, of pass rate or score, is named, whether or not a level begins with it."""


class CaseGroups(Value):
    """The cases behind a new level, grouped by tag and by cause, the commonest first."""

    cases: Count
    test_case_ids: list[str]
    by_tag: dict[str, int]
    by_cause: dict[str, int]


class Level(Value):
    """Runs between two changes. `from` names the run at which it began; `changed` what changed then.

    `began`: "first" of what is shown, "moved" to another level, "re-measured" where cases, rubric or judge were changed.
    """

    began: str
    run_id: str
    at: str
    runs: Count
    score: float
    pass_rate: float
    delta: float | None
    changed: list[str]
    worse: CaseGroups | None = None
    better: CaseGroups | None = None
    cost_usd: float | None
    tokens: int | None
    latency_ms: float | None
    version: str | None


class Drop(Value):
    """A run that scored lower than the one before it, measured alike, though no new level began: with what differs between them.

    `worse` and `better` count the cases that changed.
    """

    run_id: str
    at: str
    score: float
    delta: float
    worse: Count
    better: Count
    changed: list[str]


class FlakyCase(Value):
    """A case that passed and failed in turns while nothing that we can see changed; `flip_rate` is flips per run after the first."""

    test_case_id: str
    flips: Count
    runs: Count
    flip_rate: float


class WhatChanged(Value):
    """A benchmark's history from `since` on, in levels, oldest first. `spent_usd` is what judging and targets cost the runs.

    `drops`: the newest runs that fell by more than ten points and began no level, newest first.
    """

    benchmark_id: str
    since: str | None
    runs: Count
    levels: list[Level]
    drops: list[Drop] = []
    flaky: list[FlakyCase]
    spent_usd: float
    sentences: list[str]


async def what_changed(engine: Engine, benchmark_id: str, *, since: datetime | None = None) -> WhatChanged:
    """The levels of the benchmark since that moment; raises `NotFoundError` where it never ran, `BadInputError` where
    none of its runs is a point of a trend, or none is that new.
    """
    return await engine.store.read(partial(_answer, benchmark_id=benchmark_id, since=since))


def _answer(db: Db, *, benchmark_id: str, since: datetime | None) -> WhatChanged:
    benchmark = records.require(db, benchmark_id, Benchmark)
    points = trend_points.history(db, benchmark_id)
    if not points:
        raise no_points(db, benchmark_id)
    history = with_setup(db, points)
    shown = [run for run in history if since is None or run.point.at >= since]
    if not shown:
        raise BadInputError(
            f"{benchmark_id} has no run since then.", remedy=f"The newest was at {iso(history[-1].point.at)}."
        )
    whole = segments(db, history)
    flaky = _flaky(db, benchmark_id, benchmark.fields.test_case_ids, whole)
    unsteady = {case.test_case_id for case in flaky}
    cut = [[run for run in segment if since is None or run.point.at >= since] for segment in whole]
    parts = [segment for segment in cut if segment]
    levels = [_level(db, segment, parts[place - 1] if place else None, unsteady) for place, segment in enumerate(parts)]
    drops = _drops(db, parts)
    return WhatChanged(
        benchmark_id=benchmark_id,
        since=None if since is None else iso(since),
        runs=len(shown),
        levels=levels,
        drops=drops,
        flaky=flaky,
        spent_usd=level_cases.judged_usd(db, [run.point.run_id for run in shown]),
        sentences=[*map(_sentence, levels), *map(_drop_sentence, drops), *map(_flaky_sentence, flaky)],
    )


def _level(db: Db, segment: Sequence[HistoryRun], before: Sequence[HistoryRun] | None, unsteady: set[str]) -> Level:
    first, scores = segment[0], [run.point.score for run in segment]
    idents = [run.point.run_id for run in segment]
    spent = level_cases.spent(db, idents)
    versions = {run.setup.version for run in segment}
    same = before is not None and before[-1].point.series == first.point.series
    worse, better = _behind(db, before, segment, unsteady) if before is not None and same else (None, None)
    return Level(
        began="first" if before is None else "moved" if same else "re-measured",
        run_id=first.point.run_id,
        at=iso(first.point.at),
        runs=len(segment),
        score=fmean(scores),
        pass_rate=100 * sum(run.passed for run in segment) / sum(run.total for run in segment),
        delta=None if before is None or not same else fmean(scores) - fmean(run.point.score for run in before),
        changed=[] if before is None else list(changes(before[-1].setup, first.setup)),
        worse=worse,
        better=better,
        cost_usd=spent.cost_usd,
        tokens=spent.tokens,
        latency_ms=spent.latency_ms,
        version=next(iter(versions)) if len(versions) == 1 else None,
    )


def _drops(db: Db, levels: Sequence[Sequence[HistoryRun]]) -> list[Drop]:
    """The newest falls within a level: one run is seldom enough to begin a new one."""
    pairs = [pair for level in levels for pair in pairwise(level) if _dropped(*pair)]
    return [_drop(db, *pair) for pair in reversed(pairs[-NAMED:])]


def _dropped(before: HistoryRun, run: HistoryRun) -> bool:
    fell = before.passed / before.total - run.passed / run.total
    return max(fell, before.point.score - run.point.score) > DROP + SLACK


def _drop(db: Db, before: HistoryRun, run: HistoryRun) -> Drop:
    then, now = before.point.run_id, run.point.run_id
    shared = shared_cases.shared(db, then, now)
    return Drop(
        run_id=now,
        at=iso(run.point.at),
        score=run.point.score,
        delta=run.point.score - before.point.score,
        worse=shared.worse,
        better=shared.better,
        changed=list(changes(before.setup, run.setup) or outputs_exchanged(db, then, now)),
    )


def _behind(
    db: Db, before: Sequence[HistoryRun], segment: Sequence[HistoryRun], unsteady: set[str]
) -> tuple[CaseGroups | None, CaseGroups | None]:
    """The cases that pass less, and those that pass more, since the level began; flaky ones are set apart."""
    fell, rose = (
        {case: share for case, share in moved.items() if case not in unsteady}
        for moved in moved_cases(db, before, segment)
    )
    return _groups(db, fell), _groups(db, rose)


def _groups(db: Db, cases: Mapping[str, CaseShare]) -> CaseGroups | None:
    if not cases:
        return None
    idents = [share.failed_run for share in cases.values() if share.failed_run is not None]
    groups: FailureGroups = groups_of_runs(db, idents)
    return CaseGroups(
        cases=len(cases), test_case_ids=sorted(cases), by_tag=dict(groups.tags), by_cause=dict(groups.types)
    )


def _flaky(
    db: Db, benchmark_id: str, case_ids: Iterable[str], segments: Sequence[Sequence[HistoryRun]]
) -> list[FlakyCase]:
    """The cases that flipped at least three times within one level while they were measured alike, in their last 20 runs."""
    levels = {run.point.run_id: place for place, segment in enumerate(segments) for run in segment}
    if max(map(len, segments)) <= FLIPS:  # so few runs hold too few flips, whatever the case
        return []
    flaky: list[FlakyCase] = []
    for case_id in case_ids:
        made = level_cases.newest_runs(db, benchmark_id, case_id, limit=FLAKY_RUNS)
        groups = groupby(made, key=lambda run: (levels.get(run.benchmark_run_id), run.measured))
        worst = max((_flips(list(group)) for _, group in groups), default=(0, 0))
        if worst[0] >= FLIPS:
            flaky.append(
                FlakyCase(test_case_id=case_id, flips=worst[0], runs=worst[1], flip_rate=worst[0] / (worst[1] - 1))
            )
    return sorted(flaky, key=lambda case: (-case.flip_rate, case.test_case_id))


def _flips(made: Sequence[CaseRun]) -> tuple[int, int]:
    return sum(first.passed != other.passed for first, other in pairwise(made)), len(made)


def _sentence(level: Level) -> str:
    """A level in one sentence: when it began, how far it moved, what changed, and which cases are behind it."""
    day = level.at[:10]
    if level.began == "first":
        return f"{day}: score {level.score:.2f} over {level.runs} {'run' if level.runs == 1 else 'runs'}."
    changed = (
        "; ".join(level.changed)
        or "no visible change (the model, the world or code outside the version may have changed)"
    )
    if level.began == "re-measured":
        return f"{day}: measured differently ({changed}); score {level.score:.2f} over {level.runs} {'run' if level.runs == 1 else 'runs'}."
    assert level.delta is not None, "the levels are comparable"
    word = "fell" if level.delta < 0 else "rose"
    behind = level.worse if level.delta < 0 else level.better
    return f"{day}: {word} by {abs(level.delta):.2f} to {level.score:.2f}: {changed}{_behind_said(behind)}."


def _drop_sentence(drop: Drop) -> str:
    """A fall of one run in one sentence: how far, in how many cases, and what changed at it."""
    cases = "case" if drop.worse == 1 else "cases"
    return (
        f"{drop.at[:10]}: the run {short_id(drop.run_id)} fell by {-drop.delta:.2f} to {drop.score:.2f} ({drop.worse} {cases} worse,"
        f" {drop.better} better; not yet a new level): {'; '.join(drop.changed) or UNSEEN}."
    )


def _behind_said(behind: CaseGroups | None) -> str:
    if behind is None:
        return ""
    tags = ", ".join(f"{tag} {count}" for tag, count in list(behind.by_tag.items())[:NAMED])
    causes = ", ".join(f"{cause} {count}" for cause, count in list(behind.by_cause.items())[:NAMED])
    return f"; {behind.cases} cases" + (f" (tags: {tags})" if tags else "") + (f" (causes: {causes})" if causes else "")


def _flaky_sentence(case: FlakyCase) -> str:
    return f"flaky: {case.test_case_id} flipped {case.flips} times in {case.runs} runs without any visible change."

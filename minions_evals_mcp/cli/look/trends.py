"""The direction of a benchmark."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.operations import detect_trend as operation
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.operations.table import offered_as
from minions_evals_mcp.presentation.verdict_words import (
    compared_words,
    counted,
    drop_words,
    judged_instead,
    trend_heading,
)
from minions_evals_mcp.report.next_command import PAGE, next_line, run_command
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.stats.series.trend import SMALLEST_WINDOW

if TYPE_CHECKING:
    from pathlib import Path

    from minions_evals_mcp.engine.answers.trend_summary import TrendPoint, TrendSummary
    from minions_evals_mcp.engine.answers.what_changed import WhatChanged

BARS = "▁▂▃▄▅▆▇█"


@takes("trend")
async def trend(id: str, /, *, given: GivenOptions, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Show where a benchmark is heading, why, and when its level changed.

    Example: minions-evals trend support/quality

    Parameters
    ----------
    id
        The benchmark.
    """
    async with session(common) as engine:
        request = given.request(operation.Request, benchmark_id=await whole_id(engine, id, "benchmark"))
        summary = (await operation.run(engine, request)).trend
        target = await operation.newest_target(engine, summary.benchmark_id)
    return reply(common, summary, _lines(summary, common.db, target))


async def what_changed(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    since: datetime | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Show what changed in a benchmark's history: its levels, what changed when each began, the cases behind it,
    flaky cases, and the cost of the runs. Nothing is run.

    Example: minions-evals what-changed support/quality --since 2026-11-01

    Parameters
    ----------
    id
        The benchmark.
    since
        Only runs since this day or time (UTC unless it has an offset).
    """
    async with session(common) as engine:
        given = GivenOptions(offered_as("cli", "trend"), {"since": since})
        request = given.request(operation.Request, benchmark_id=await whole_id(engine, id, "benchmark"))
        changes = await operation.changes(engine, request)
        target = await operation.newest_target(engine, changes.benchmark_id)
    return reply(common, changes, _change_lines(changes, next_line(_next_look(changes, target), common.db)))


def _next_look(seen: WhatChanged, target: str | None) -> str:
    """The command that follows: why the newest run that fell failed, a run where there are too few to see a change, else the page."""
    moved = next((level for level in reversed(seen.levels) if level.began == "moved"), None)
    if seen.drops or (moved is not None and (moved.delta or 0) < 0):
        fell = seen.drops[0].run_id if seen.drops else moved.run_id if moved is not None else ""
        return f"classify {short_id(fell)}"
    return PAGE if seen.runs >= SMALLEST_WINDOW else run_command(seen.benchmark_id, target=target)


def _change_lines(seen: WhatChanged, following: str) -> list[str]:
    moved = sum(level.began == "moved" for level in seen.levels)
    runs, changes, flaky = (
        counted(seen.runs, "run"),
        counted(moved, "change"),
        counted(len(seen.flaky), "flaky case"),
    )
    head = f"{seen.benchmark_id}: {runs}, {changes} of level, {flaky}"
    costs = [level.cost_usd for level in seen.levels if level.cost_usd is not None]
    outputs = f"outputs cost {sum(costs):.4f} USD" if costs else "unknown output cost"
    return [
        head,
        following,
        *(f"  {printable(sentence, 400)}" for sentence in seen.sentences),
        f"  {outputs}; the runs spent {seen.spent_usd:.4f} USD",
    ]


def _lines(shown: TrendSummary, store: Path | None, target: str | None) -> list[str]:
    lines = [
        f"{shown.benchmark_id}: {trend_heading(shown)}  {_line(shown.points)}",
        next_line(_next(shown, target), store),
        *([f"  compared with the run before, {compared_words(shown.change)}"] if shown.change else []),
        f"  {printable(shown.reason, 200)}",
    ]
    if shown.slope is not None:
        low, high = shown.slope_interval or (None, None)
        between = "" if low is None or high is None else f" (95 %: {low:+.3f} to {high:+.3f})"
        lines.append(
            f"  slope {shown.slope:+.3f} a run{between} over the last {min(shown.window, shown.series_length)}"
        )
    if shown.judged_by:
        lines.append(f"  {printable(judged_instead(shown.judged_by), 200)}")
    if shown.consecutive_degrading:
        lines.append(f"  degrading {shown.consecutive_degrading} runs in a row")
    if shown.earlier_series:
        lines.append(f"  {shown.earlier_series} earlier series: the rubric, judge, scorer or cases have changed since")
    return [*lines, *(_row(point) for point in shown.points)]


def _next(shown: TrendSummary, target: str | None) -> str:
    """The command that follows: what changed in the newest run where it fell, a run where there are too few, else the page."""
    newest = [short_id(point.run_id) for point in shown.points[-2:]]
    if len(newest) > 1 and (shown.points[-1].is_regression or shown.direction == "degrading"):
        return f"diff {' '.join(newest)}"
    return "view" if shown.series_length >= SMALLEST_WINDOW else run_command(shown.benchmark_id, target=target)


def _line(points: list[TrendPoint]) -> str:
    """The scores as a line of bars from 0 to 1."""
    return "".join(BARS[min(len(BARS) - 1, int(point.score * len(BARS)))] for point in points)


def _row(point: TrendPoint) -> str:
    marks = [
        name
        for name, holds in (
            ("new series", point.new_series),
            ("new level", point.change_point),
            (drop_words(point.evidence).replace("regression", "REGRESSION"), point.is_regression),
        )
        if holds
    ]
    marks += [printable(judged_instead(point.judged_by), 200)] if point.judged_by else []
    when = point.at[:16].replace("T", " ")
    direction = "" if point.is_regression and point.direction == "stable" else point.direction or ""
    line = (
        f"  {when}  {point.score:.3f}  {direction:<9}  {_made_with(point)}{short_id(point.run_id)}  {', '.join(marks)}"
    )
    return line.rstrip()


def _made_with(point: TrendPoint) -> str:
    """The version of the run, and what it spent."""
    version = "" if point.version is None else f"{point.version}  "
    return version + ("" if not point.cost_usd else f"${point.cost_usd:.4f}  ")

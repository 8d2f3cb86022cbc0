"""Charts as SVG text that stands by itself: no script, no style of its own, so that it fits a page with a strict policy."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any

import pygal  # pyright: ignore[reportMissingTypeStubs]  it has none

from minions_evals_mcp.engine.answers.report_data import Side, TrendPoint
from minions_evals_mcp.report.plain import printable

# pygal's finder for plugins, of which we have none, is of a kind that Python 3.11 warns about at every import after it.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]
WIDTH, HEIGHT = 860, 260
DATES = 6
"""So many dates are written under a chart at most."""
_DROPPED = frozenset({"script", "style", "title", "desc", "defs"})


@cache
def chart_css() -> str:
    """How the charts are drawn, in light and dark; a page puts it into its own stylesheet."""
    return files("minions_evals_mcp.report").joinpath("templates/chart.css").read_text("utf-8")


def history_chart(run: Side, points: Sequence[TrendPoint]) -> str:
    """The history of that run's benchmark, once there is one; else nothing."""
    if len(points) < 2:
        return ""
    label = f"Score of {run.title} over its last {len(points)} runs; the table below has the figures"
    return trend_chart(points, threshold=run.threshold or None, label=label)


def trend_chart(points: Sequence[TrendPoint], *, threshold: float | None, label: str) -> str:
    """The scores over time with their intervals: a gap where the series breaks, a mark at each regression."""
    chart: Any = pygal.Line(
        width=WIDTH, height=HEIGHT, range=(0, 1), css=(), js=(), no_prefix=True, disable_xml_declaration=True, show_legend=False,
        print_labels=True, margin=10, margin_right=80, show_minor_x_labels=False, show_x_guides=False, dots_size=4,
    )  # fmt: skip
    chart.y_labels = (0, 0.25, 0.5, 0.75, 1)
    chart.x_labels = list(_dates(points))
    chart.x_labels_major_count = min(DATES, len(points))
    chart.add("threshold", [threshold] * len(points), show_dots=False)
    chart.add(
        "regression", [point.score if point.is_regression else None for point in points], stroke=False, dots_size=9
    )
    for series in _series(points):
        chart.add("score", series)
    chart.add_xml_filter(partial(_bare, label=label))
    return chart.render(is_unicode=True)


def _dates(points: Sequence[TrendPoint]) -> Iterator[str]:
    """The day of each run, with the time where the series has several of that day."""
    runs = Counter(point.at.date() for point in points)
    for point in points:
        yield f"{point.at:%Y-%m-%d %H:%M}" if runs[point.at.date()] > 1 else f"{point.at:%Y-%m-%d}"


def _series(points: Sequence[TrendPoint]) -> Iterator[list[dict[str, object] | None]]:
    """A line for each stretch that was measured alike; pygal leaves out what is None."""
    starts = [at for at, point in enumerate(points) if at == 0 or point.new_series]
    for start, end in zip(starts, [*starts[1:], len(points)], strict=True):
        yield [_dot(point) if start <= at < end else None for at, point in enumerate(points)]


def _dot(point: TrendPoint) -> dict[str, object]:
    dot: dict[str, object] = {"value": point.score}
    if point.interval is not None:
        dot["ci"] = {"low": point.interval[0], "high": point.interval[1]}
    if point.is_regression or point.new_series:
        dot["label"] = "▼ regression" if point.is_regression else "new series"
    return dot


def _bare(root: Any, *, label: str) -> Any:
    """The drawing without what a page's policy would refuse or a reader would hear twice."""
    for parent in list(root.iter()):
        for child in list(parent):
            name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else "script"
            if name in _DROPPED or "tooltip-overlay" in child.get("class", ""):
                parent.remove(child)
    root.attrib.pop("id", None)
    root.set("role", "img")
    root.set("aria-label", printable(label, 300))
    return root

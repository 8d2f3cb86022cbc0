"""The scores of a benchmark over time: intervals, versions, breaks of the series, regressions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from minions_evals_mcp.engine.answers.report_values import ReportTrendPoint, Side
from minions_evals_mcp.presentation.verdict_words import drop_words, judged_instead
from minions_evals_mcp.report.charts.svg import drawing, element, line, path, text
from minions_evals_mcp.report.charts.time_axis import TimeAxis
from minions_evals_mcp.report.plain import printable

WIDTH, HEIGHT = 960, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 44, 34, 262
APART = 0.07
"""Figures beside an axis that stand closer would touch."""
NAME = 22
"""A version's name is cut at so many characters."""
LETTER = 8.5
"""The widest that a letter of it is on average, in the bold of a system's own font."""
Link = Callable[[ReportTrendPoint], str]


@cache
def chart_css() -> str:
    """Returns how drawings look, in light and dark; a page puts it into its own stylesheet."""
    return files("minions_evals_mcp.report").joinpath("templates/chart.css").read_text("utf-8")


def history_chart(run: Side, points: Sequence[ReportTrendPoint], *, names: Mapping[str, str] | None = None) -> str:
    """The history of that run's benchmark, once there is one; else nothing."""
    if len(points) < 2:
        return ""
    label = f"Score of {run.title} over its last {len(points)} runs; the table below has the figures"
    return trend_chart(points, threshold=run.threshold or None, label=label, names=names)


def trend_chart(
    points: Sequence[ReportTrendPoint], *, threshold: float | None, label: str, names: Mapping[str, str] | None = None,
    link: Link | None = None,
) -> str:  # fmt: skip
    """The scores over time with their intervals: a gap where the series breaks, a mark at each fall that is more than chance.

    With `link` each dot leads to its run; a table beside it must then say the same, for who cannot see it.
    """
    axis = TimeAxis([point.at for point in points], LEFT + 14, WIDTH - RIGHT - 14)
    parts = [*_grid(threshold), *_dates(axis), *_versions(points, axis, names or {})]
    for series in _series(points):
        places = [(axis.places[at], _y(points[at].score)) for at in series]
        parts.append(path(places, "line"))
    parts += [_dot(point, axis.places[at], link) for at, point in enumerate(points)]
    parts += list(_labels(points, axis))
    return drawing(
        *parts, width=WIDTH, height=HEIGHT, kind="trend", label=None if link is not None else printable(label, 300)
    )


def trend_figures(
    points: Sequence[ReportTrendPoint], *, threshold: float | None, names: Mapping[str, str], levels: Mapping[str, float],
    moved: Mapping[str, float], link: Link,
) -> str:  # fmt: skip
    """The same history as JSON for the page's script: places on the axis from 0 to 1, levels and by how much they moved."""
    places = TimeAxis([point.at for point in points], 0, WIDTH).places
    rows = [
        {
            "place": round(place / WIDTH, 6), "at": round(point.at.timestamp() * 1000), "score": point.score,
            "interval": point.interval, "passed": point.passed, "total": point.total,
            "version": None if point.version is None else printable(names.get(point.version, point.version), 80),
            "newSeries": point.new_series, "isRegression": point.is_supported,
            "dropped": f"▼ {drop_words(point.evidence)}" if point.is_regression else "",
            "level": levels.get(point.run_id),
            "moved": moved.get(point.run_id), "instead": judged_instead(point.judged_by), "href": link(point),
        }
        for point, place in zip(points, places, strict=True)
    ]  # fmt: skip
    return json.dumps({"points": rows, "threshold": threshold})


def _y(score: float) -> float:
    return BOTTOM - score * (BOTTOM - TOP)


def _grid(threshold: float | None) -> Iterator[Markup]:
    for share in (0, 0.25, 0.5, 0.75, 1):
        yield line(LEFT, _y(share), WIDTH - RIGHT, _y(share), "grid")
        yield text(LEFT - 8, _y(share) + 4, f"{share:g}", class_="tick", anchor="end")
        if threshold is None or abs(share - threshold) >= APART:  # a narrow screen shows the newest runs and this end
            yield text(WIDTH - RIGHT + 4, _y(share) + 4, f"{share:g}", class_="tick")
    if threshold:
        yield line(LEFT, _y(threshold), WIDTH - RIGHT, _y(threshold), "line threshold")
        yield text(WIDTH - RIGHT + 4, _y(threshold) + 4, f"{threshold:g}", class_="tick")


def _dates(axis: TimeAxis) -> Iterator[Markup]:
    for x, _, words in axis.ticks():
        yield line(x, BOTTOM, x, BOTTOM + 5, "grid")
        yield text(x, BOTTOM + 20, words, class_="tick", anchor="middle")


def _versions(points: Sequence[ReportTrendPoint], axis: TimeAxis, names: Mapping[str, str]) -> Iterator[Markup]:
    """A line where another version came into use, with its name above it; names that find no room are left out."""
    free = 0.0
    for at, point in enumerate(points):
        if point.version is None or (at and points[at - 1].version == point.version):
            continue
        x = axis.places[at] - (6 if at else 0)
        name = printable(names.get(point.version, point.version), NAME)
        yield line(x, TOP - 16, x, BOTTOM, "version")
        room = LETTER * len(name)
        if x >= free and x + 4 + room < WIDTH:
            yield text(x + 4, TOP - 20, name, class_="versioned")
            free = x + room + 12
        elif x - 4 - room >= free:  # at the right end it stands before its line
            yield text(x - 4, TOP - 20, name, class_="versioned", anchor="end")
            free = x + 12


def _series(points: Sequence[ReportTrendPoint]) -> Iterator[range]:
    """A line for each stretch that was measured alike."""
    starts = [at for at, point in enumerate(points) if at == 0 or point.new_series]
    for start, end in zip(starts, [*starts[1:], len(points)], strict=True):
        yield range(start, end)


def _dot(point: ReportTrendPoint, x: float, link: Link | None) -> Markup:
    parts: list[Markup] = []
    if point.interval is not None:
        parts.append(line(x, _y(point.interval[0]), x, _y(point.interval[1]), "ci"))
    class_ = "dot fell" if point.is_supported else "dot"
    parts.append(element("circle", cx=x, cy=_y(point.score), r=6 if point.is_supported else 4, class_=class_))
    if link is None:
        return element("g", *parts)
    near = element("rect", x=x - 7, y=TOP, width=14, height=BOTTOM - TOP, class_="near")
    title = element(
        "title",
        ", ".join(
            filter(
                None, (f"{point.score:.3f}", f"{point.passed} of {point.total} passed", judged_instead(point.judged_by))
            )
        ),
    )
    return element("a", title, near, *parts, href=link(point), tabindex="-1")


def _labels(points: Sequence[ReportTrendPoint], axis: TimeAxis) -> Iterator[Markup]:
    for at, point in enumerate(points):
        if not (point.is_supported or point.new_series):
            continue
        words = "▼ regression" if point.is_supported else "new series"
        low = point.score if point.interval is None else point.interval[0]
        x = min(WIDTH - RIGHT - 44, max(LEFT + 44, axis.places[at]))
        yield text(
            x,
            min(BOTTOM - 4, _y(low) + 16),
            words,
            class_="label" + (" fell" if point.is_supported else ""),
            anchor="middle",
        )

"""A bar for each step of time: the traces judged in it, passed below and failed above."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from markupsafe import Markup

from minions_evals_mcp.report.charts.svg import drawing, element, line, text
from minions_evals_mcp.report.charts.time_axis import TimeAxis

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BASE = 960, 180, 48, 48, 12, 146


def volume(points: Sequence[tuple[datetime, int, int]], *, label: str) -> Markup:
    """The passed and failed traces of each moment, from 0 up to a round number above the highest bar."""
    if not points:
        return Markup("")
    top = _round_above(max(passed + failed for _, passed, failed in points))
    size = (WIDTH - LEFT - RIGHT) / len(points)
    parts: list[Markup] = []
    for share in (0.0, 0.5, 1.0):
        y, words = _y(top * share, top), f"{top * share:g}"
        parts.append(line(LEFT, y, WIDTH - RIGHT, y, "grid"))
        parts.append(text(LEFT - 8, y + 4, words, class_="tick", anchor="end"))
        parts.append(text(WIDTH - RIGHT + 8, y + 4, words, class_="tick"))
    for number, (_, passed, failed) in enumerate(points):
        x, width = LEFT + size * (number + 0.1), size * 0.8
        for low, high, class_ in ((0, passed, "good"), (passed, passed + failed, "bad")):
            if high > low:
                y = _y(high, top)
                parts.append(element("rect", x=x, y=y, width=width, height=_y(low, top) - y, class_=class_))
    axis = TimeAxis([moment for moment, _, _ in points], LEFT + size / 2, WIDTH - RIGHT - size / 2)
    parts += [text(x, BASE + 18, words, class_="tick", anchor="middle") for x, _, words in axis.ticks()]
    return drawing(*parts, width=WIDTH, height=HEIGHT, kind="trend", label=label)


def _y(count: float, top: float) -> float:
    return BASE - count / top * (BASE - TOP)


def _round_above(most: int) -> float:
    """2, 4 or 10 times a power of ten, at least as much, so that its half is whole."""
    power = 10 ** math.floor(math.log10(max(1, most)))
    return next(power * step for step in (1, 2, 4, 10) if most <= power * step and power * step > 1)

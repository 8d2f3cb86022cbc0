"""A bar for each day: what that day's runs cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

from markupsafe import Markup

from minions_evals_mcp.report.charts.svg import drawing, element, line, text

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BASE = 960, 200, 64, 64, 20, 164
MOST_NAMED = 8
"""So many days are written under the axis at most."""


def daily(days: Sequence[tuple[date, float]], *, label: str) -> Markup:
    """US dollars by day, from 0 up to a round number above the dearest."""
    top = _round_above(max((usd for _, usd in days), default=0.0))
    size = (WIDTH - LEFT - RIGHT) / max(1, len(days))
    parts: list[Markup] = []
    for share in (0.0, 0.5, 1.0):
        y = BASE - share * (BASE - TOP)
        parts += [
            line(LEFT, y, WIDTH - RIGHT, y, "grid"),
            text(LEFT - 8, y + 4, f"${top * share:.3g}", class_="tick", anchor="end"),
            text(WIDTH - RIGHT + 8, y + 4, f"${top * share:.3g}", class_="tick"),
        ]
    every = math.ceil(len(days) / MOST_NAMED)
    for number, (day, usd) in enumerate(days):
        x = LEFT + size * number
        tall = usd / top * (BASE - TOP) if top else 0.0
        if usd:
            parts.append(
                element(
                    "rect",
                    x=x + size * 0.12,
                    y=BASE - max(1.5, tall),
                    width=size * 0.76,
                    height=max(1.5, tall),
                    class_="value",
                )
            )
        if number % every == 0:
            parts.append(text(x + size / 2, BASE + 18, f"{day.day} {day:%b}", class_="tick", anchor="middle"))
    return drawing(*parts, width=WIDTH, height=HEIGHT, kind="trend", label=label)


def _round_above(most: float) -> float:
    """1, 2 or 5 times a power of ten, at least as much; 1 for nothing."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(power * step for step in (1, 2, 5, 10) if most <= power * step * (1 + 1e-9))

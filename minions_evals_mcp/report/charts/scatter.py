"""Score against a price, which is money or time: a dot for each column, and the line of those that nothing beats in both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from markupsafe import Markup

from minions_evals_mcp.report.charts.svg import drawing, element, line, path, text
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.stats.pareto import undominated

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 44, 20, 16, 216
NAME = 26
"""A column's name is cut at so many characters."""
APART = 13
"""The height of a line of text."""
TICKS = 3
LETTER = 7.2
"""About as wide is a letter of a name."""
NUDGES = (0, 1, -1, 2, -2, 3, -3, 4, -4)
STEP = 0.25
LINES = 5


class Priced(NamedTuple):
    """A column: its name, its price, its score and the interval of the score."""

    name: str
    price: float
    score: float
    interval: tuple[float, float] | None = None


def scatter(columns: Sequence[Priced], *, what: str, shown: Callable[[float], str]) -> str:
    """The drawing; `what` names the price, `shown` writes it. Nothing where fewer than two columns have a price."""
    if len(columns) < 2:
        return ""
    top = max(column.price for column in columns) or 1.0
    lowest = min((column.interval or (column.score,))[0] for column in columns)
    low = max(0.0, min(1 - STEP, lowest // STEP * STEP))
    height = partial(_y, low=low)
    places = [(_x(column.price, top), height(column.score)) for column in columns]
    best = undominated([(column.price, column.score) for column in columns])
    parts = [*_heights(low), *_prices(top, what, shown), path([*_stairs([places[at] for at in best])], "pareto")]
    for at, (column, (x, y)) in enumerate(zip(columns, places, strict=True)):
        if column.interval is not None:
            parts.append(line(x, height(column.interval[0]), x, height(column.interval[1]), "ci"))
        parts.append(element("circle", cx=x, cy=y, r=5 if at in best else 4, class_="dot" if at in best else "before"))
    parts += _names(columns, places)
    label = f"Score by {what}: {'; '.join(f'{c.name} {c.score:.3f} at {shown(c.price)}' for c in columns)}"
    return drawing(*parts, width=WIDTH, height=HEIGHT, kind="scattered", label=printable(label, 900))


def _x(price: float, top: float) -> float:
    return LEFT + 8 + price / top * (WIDTH - RIGHT - LEFT - 16)


def _y(score: float, *, low: float) -> float:
    """The height of a score where the axis begins at `low`."""
    return BOTTOM - (min(1.0, score) - low) / (1 - low) * (BOTTOM - TOP)


def _heights(low: float) -> Iterator[Markup]:
    """The scale of scores, finer where it begins high."""
    for at in range(LINES + 1):
        score = low + (1 - low) * at / LINES
        yield line(LEFT, _y(score, low=low), WIDTH - RIGHT, _y(score, low=low), "grid")
        yield text(LEFT - 8, _y(score, low=low) + 4, f"{score:.3g}", class_="tick", anchor="end")


def _prices(top: float, what: str, shown: Callable[[float], str]) -> Iterator[Markup]:
    for step in range(TICKS):
        price = top * step / (TICKS - 1)
        anchor = ("start", "middle", "end")[step]
        yield text(_x(price, top), BOTTOM + 17, shown(price), class_="tick", anchor=anchor)
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, what, class_="tick", anchor="middle")


def _stairs(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The line through the best, in steps: the score of the left one holds until the next price is paid."""
    height = None
    for x, y in points:
        if height is not None:
            yield x, height
        yield x, y
        height = y
    if height is not None:
        yield WIDTH - RIGHT, height


def _names(columns: Sequence[Priced], places: Sequence[tuple[float, float]]) -> Iterator[Markup]:
    """The names beside their dots, each at the nearest place where it touches no other name and no dot."""
    taken = [_Box(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    for column, (x, y) in sorted(zip(columns, places, strict=True), key=lambda one: one[1][1]):
        name = printable(column.name, NAME)
        sides = ("start", "end") if x < (LEFT + WIDTH) / 2 else ("end", "start")
        tried = [(anchor, _beside(name, anchor, x, y + APART * step)) for step in NUDGES for anchor in sides]
        anchor, box = next((one for one in tried if not any(one[1].touches(other) for other in taken)), tried[0])
        taken.append(box)
        at = box.left if anchor == "start" else box.right
        yield text(at, box.bottom - 3, name, class_="label", anchor=anchor)


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def touches(self, other: _Box) -> bool:
        """Whether both have a point in common."""
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.bottom <= other.top or other.bottom <= self.top)


def _beside(name: str, anchor: str, x: float, y: float) -> _Box:
    """Where the name would stand; outside of the drawing is as good as on another."""
    wide = LETTER * len(name)
    left = x + 9 if anchor == "start" else x - 9 - wide
    return _Box(left, y - APART / 2, left + wide, y + APART / 2)

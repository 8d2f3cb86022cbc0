"""Small drawings that stand in a line of text or a cell: a sparkline, an interval, shares of a whole, a strip of runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markupsafe import Markup

from minions_evals_mcp.report.charts.svg import drawing, element, line, path, text

SPARK = (120, 28)
INTERVAL = (120, 14)
EDGE = 4


def sparkline(scores: Sequence[float], marked: Sequence[int] = (), breaks: Sequence[int] = ()) -> Markup:
    """Scores from 0 to 1, oldest first: the last is a dot, the marked ones are regressions, the line stops at breaks."""
    if not scores:
        return Markup("")
    width, height = SPARK
    low, high = _room(scores)
    step = (width - 2 * EDGE) / max(1, len(scores) - 1)

    def at(number: int) -> tuple[float, float]:
        return EDGE + number * step, EDGE + (height - 2 * EDGE) * (1 - (scores[number] - low) / (high - low))

    ends = [0, *sorted(breaks), len(scores)]
    lines = [path([at(number) for number in range(a, b)], "spark") for a, b in pairwise(ends) if b > a]
    falls = [element("circle", cx=at(index)[0], cy=at(index)[1], r=3.2, class_="fell") for index in marked]
    x, y = at(len(scores) - 1)
    return drawing(
        *lines, *falls, element("circle", cx=x, cy=y, r=2.6, class_="last"), width=width, height=height, kind="sparkline", label=None
    )  # fmt: skip


def _room(scores: Sequence[float]) -> tuple[float, float]:
    """The part of the scale that is drawn: at least a fifth of it, so that noise does not look like a fall."""
    low, high = min(scores), max(scores)
    missing = max(0.0, 0.2 - (high - low)) / 2
    return max(0.0, low - missing), min(1.0, high + missing) if min(1.0, high + missing) > max(
        0.0, low - missing
    ) else 1.0


def interval_mark(value: float, interval: Sequence[float] | None, threshold: float | None = None) -> Markup:
    """A share of 1 on its scale, with its interval and the threshold that it must reach."""
    width, height = INTERVAL
    middle = height / 2

    def at(share: float) -> float:
        return EDGE + min(1.0, max(0.0, share)) * (width - 2 * EDGE)

    parts = [line(at(0), middle, at(1), middle, "rail")]
    if interval is not None:
        low, high = at(interval[0]), at(interval[1])
        parts.append(element("rect", x=low, y=middle - 3, width=max(1.0, high - low), height=6, rx=3, class_="range"))
    if threshold:
        parts.append(line(at(threshold), 1, at(threshold), height - 1, "threshold"))
    parts.append(element("circle", cx=at(value), cy=middle, r=3.4, class_="value"))
    return drawing(*parts, width=width, height=height, kind="interval", label=None)


def shares(passed: int, failed: int, unscored: int = 0, *, width: int = 160) -> Markup:
    """So many of each as parts of one bar."""
    whole = max(1, passed + failed + unscored)
    parts: list[Markup] = []
    x = 0.0
    for count, class_ in ((passed, "good"), (failed, "bad"), (unscored, "none")):
        if count:
            size = width * count / whole
            parts.append(element("rect", x=x, y=0, width=max(0.5, size - 1), height=8, class_=class_))
            x += size
    return drawing(*parts, width=width, height=8, kind="shares", label=None)


def difference_mark(
    delta: float, interval: Sequence[float] | None, *, margin: float = 0.0, width: int = 420, reach: float | None = None
) -> Markup:
    """A difference with its interval around nothing, which is the line in the middle; the margin counts as no difference."""
    far = reach or max(0.1, abs(delta), *(abs(end) for end in interval or ())) * 1.15
    height, middle = 56, 22

    def at(value: float) -> float:
        return width / 2 + value / far * (width / 2 - 16)

    parts: list[Markup] = []
    if margin:
        parts.append(
            element("rect", x=at(-margin), y=6, width=at(margin) - at(-margin), height=2 * (middle - 6), class_="same")
        )
    parts += [line(16, middle, width - 16, middle, "rail"), line(at(0), 4, at(0), 2 * middle - 4, "zero")]
    if interval is not None:
        low, high = interval
        class_ = "range good" if low > 0 else "range bad" if high < 0 else "range"
        size = max(1.0, at(high) - at(low))
        parts.append(element("rect", x=at(low), y=middle - 5, width=size, height=10, rx=5, class_=class_))
    parts.append(element("circle", cx=at(delta), cy=middle, r=5.5, class_="value"))
    ends = (
        (-far, "start", f"\u2212{far:.2f} worse"),
        (0.0, "middle", "no difference"),
        (far, "end", f"better {far:+.2f}"),
    )
    for value, anchor, words in ends:
        x = min(width - 16, max(16, at(value)))
        parts.append(text(x, height - 2, words, anchor=anchor, class_="tick"))
    return drawing(*parts, width=width, height=height, kind="difference", label=None)

"""The steps of an agent's run as bars, one after the other: how long each took, and which failed."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from minions_evals_mcp.report.charts.svg import drawing, element

WIDTH, ROW = 220, 10


def step_bar(durations: Sequence[float | None], number: int, *, bad: bool = False) -> Markup:
    """Returns where that step lies in the whole run; steps that took no known time count as nothing."""
    known = [duration or 0.0 for duration in durations]
    whole = sum(known)
    if not whole:
        return Markup("")
    begun = sum(known[:number]) / whole * WIDTH
    size = max(2.0, known[number] / whole * WIDTH)
    rail = element("rect", x=0, y=4, width=WIDTH, height=2, class_="same")
    bar = element(
        "rect", x=min(begun, WIDTH - size), y=0, width=size, height=ROW, rx=2, class_="step bad" if bad else "step"
    )
    return drawing(rail, bar, width=WIDTH, height=ROW, kind="timeline", label=None)

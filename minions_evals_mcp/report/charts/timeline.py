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


AXIS, TALL = 1000, 14


def axis(durations: Sequence[float | None], failed: Sequence[int], fault: int) -> Markup:
    """All steps on one axis of time, by number from 1; those without a known time have equal shares."""
    known = [duration or 0.0 for duration in durations]
    shares = known if sum(known) else [1.0] * len(known)
    whole = sum(shares) or 1.0
    begun = 0.0
    good: list[str] = []
    bad: list[str] = []
    for number, share in enumerate(shares, 1):
        size = share / whole * AXIS
        line = bad if number in failed or number == fault else good
        line.append(f"M{begun:.1f} 0h{max(1.0, size - 0.6):.1f}v{TALL}H{begun:.1f}z")
        begun += size
    drawn = [  # a line of each kind: an element of each step is slow to paint where there are hundreds
        element("path", d="".join(line), class_=name) for line, name in ((good, "step"), (bad, "step bad")) if line
    ]
    return element(
        "svg", *drawn, class_="drawn timeline axis", viewBox=f"0 0 {AXIS} {TALL}", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip

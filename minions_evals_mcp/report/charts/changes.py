"""The changes case by case, drawn: a dumbbell for each of a few cases, a histogram of them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from minions_evals_mcp.report.charts.svg import drawing, element, line, text
from minions_evals_mcp.report.plain import printable

BINS = 20
TITLE = 34


def dumbbells(cases: Sequence[tuple[str, float, float]], *, label: str) -> Markup:
    """Titles with their scores before and after (0 to 1), each as two dots and the way between them."""
    width, left, row = 620, 236, 24
    height = row * len(cases) + 30

    def at(score: float) -> float:
        return left + score * (width - left - 24)

    parts = [line(at(share), 6, at(share), height - 22, "grid") for share in (0, 0.25, 0.5, 0.75, 1)]
    parts += [text(at(share), height - 6, f"{share:g}", class_="tick", anchor="middle") for share in (0, 0.5, 1)]
    for number, (title, before, after) in enumerate(cases):
        y = 18 + row * number
        parts.append(text(left - 14, y + 4, printable(title, TITLE), class_="name", anchor="end"))
        parts.append(line(at(before), y, at(after), y, "way good" if after > before else "way bad"))
        parts.append(element("circle", cx=at(before), cy=y, r=4.5, class_="before"))
        parts.append(element("circle", cx=at(after), cy=y, r=5, class_="after good" if after > before else "after bad"))
    return drawing(*parts, width=width, height=height, kind="dumbbells", label=label)


def histogram(deltas: Sequence[float], *, label: str) -> Markup:
    """Returns how many cases changed by how much (-1 to 1): fallen ones to the left, unchanged ones in the middle."""
    width, height, base = 620, 170, 132
    counts = Counter(min(BINS, max(0, round((delta + 1) / 2 * BINS))) for delta in deltas)
    most = max(counts.values(), default=1)
    size = (width - 32) / (BINS + 1)
    parts = [line(16, base, width - 16, base, "rail")]
    for number in range(BINS + 1):
        tall = counts[number] / most * (base - 24)
        if tall:
            class_ = "bar bad" if number < BINS // 2 else "bar good" if number > BINS // 2 else "bar none"
            parts.append(
                element("rect", x=16 + size * number + 1, y=base - tall, width=size - 2, height=tall, class_=class_)
            )
            parts.append(
                text(16 + size * (number + 0.5), base - tall - 4, str(counts[number]), class_="count", anchor="middle")
            )
    for share, words, anchor in ((0.0, "\u22121 worse", "start"), (0.5, "same", "middle"), (1.0, "better +1", "end")):
        parts.append(text(16 + share * (width - 32), height - 18, words, class_="tick", anchor=anchor))
    return drawing(*parts, width=width, height=height, kind="histogram", label=label)

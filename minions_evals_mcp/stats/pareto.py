"""The Pareto line: what nothing else beats in both respects."""

from __future__ import annotations

from collections.abc import Sequence


def undominated(points: Sequence[tuple[float, float]]) -> list[int]:
    """The places of the pairs (price, worth) that no other is at least as good as in both and better in one, cheapest first."""
    order = sorted(range(len(points)), key=lambda at: (points[at][0], -points[at][1]))
    kept: list[int] = []
    for at in order:
        if not kept or points[at][1] > points[kept[-1]][1] or points[at] == points[kept[-1]]:
            kept.append(at)
    return kept

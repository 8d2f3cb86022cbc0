"""The Pareto line against its definition."""

from __future__ import annotations

import random

import pytest

from minions_evals_mcp.stats.pareto import undominated

Points = list[tuple[float, float]]


def by_definition(points: Points) -> set[int]:
    """The places that no other point beats, each looked at beside every other."""

    def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
        return one != other and one[0] <= other[0] and one[1] >= other[1]

    return {at for at, point in enumerate(points) if not any(beats(other, point) for other in points)}


@pytest.mark.parametrize("seed", range(60))
def test_what_nothing_beats_in_both_is_kept_cheapest_first(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  draws points, guards nothing
    steps = draw.choice((3, 8, 1000))
    points = [(draw.randrange(steps) / steps, draw.randrange(steps) / steps) for _ in range(draw.randrange(12))]
    found = undominated(points)
    assert set(found) == by_definition(points)
    assert [points[at][0] for at in found] == sorted(points[at][0] for at in found)

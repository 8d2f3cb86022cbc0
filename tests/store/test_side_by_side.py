"""Two runs side by side: every case that both have is met, wherever it stands, and little is held meanwhile."""

from __future__ import annotations

import random

from minions_evals_mcp.store.queries.side_by_side import matched


def test_what_both_have_is_met_wherever_it_stands_and_the_rest_is_told_apart() -> None:
    draw = random.Random(7)  # noqa: S311  an order, no secret
    then, now = [(n,) for n in range(60)], [(n,) for n in range(20, 90)]
    draw.shuffle(now)
    only: tuple[dict[int, tuple[int]], dict[int, tuple[int]]] = ({}, {})
    both = [*matched(then, now, only)]
    assert sorted(both) == [((n,), (n,)) for n in range(20, 60)]
    assert (sorted(only[0]), sorted(only[1])) == ([*range(20)], [*range(60, 90)])


def test_where_a_case_came_first_and_another_went_only_these_are_held() -> None:
    then = [(n,) for n in range(1000) if n != 500]
    only: tuple[dict[int, tuple[int]], dict[int, tuple[int]]] = ({}, {})
    held = [len(only[0]) + len(only[1]) for _ in matched(then, [(-1,), *((n,) for n in range(1000))], only)]
    assert max(held) <= 4
    assert (len(held), only) == (999, ({}, {-1: (-1,), 500: (500,)}))

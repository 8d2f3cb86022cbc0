"""The split of variance recovers what was put in, its interval covers it, and it says nothing where nothing can be told."""

from __future__ import annotations

import random
from statistics import fmean

import pytest

from minions_evals_mcp.stats.nested.agent_and_user import AgentAndUser, agent_and_user

STUDIES, CASES, SEEDS, REPEATS = 40, 40, 4, 3


def drawn(draw: random.Random, *, agent: float, user: float) -> list[list[list[float]]]:
    """Results of cases whose users and trials differ by so much variance."""
    return [
        [
            [place + mood + draw.gauss(0, agent**0.5) for _ in range(REPEATS)]
            for mood in (draw.gauss(0, user**0.5) for _ in range(SEEDS))
        ]
        for place in (draw.random() for _ in range(CASES))
    ]


def split(cases: list[list[list[float]]]) -> AgentAndUser:
    """The split, which there is."""
    found = agent_and_user(cases)
    assert found is not None
    return found


@pytest.mark.parametrize(("agent", "user"), [(0.04, 0.12), (0.1, 0.0), (0.12, 0.04)])
def test_shares_are_recovered_and_covered(agent: float, user: float) -> None:
    draw = random.Random(5)  # noqa: S311  simulates, guards nothing
    found = [split(drawn(draw, agent=agent, user=user)) for _ in range(STUDIES)]
    assert fmean(one.agent for one in found) == pytest.approx(agent, rel=0.05)
    assert fmean(one.user for one in found) == pytest.approx(user, abs=0.012)
    share = user / (agent + user)
    covered = sum(
        one.share_interval is not None and one.share_interval[0] <= share <= one.share_interval[1] for one in found
    )
    assert covered >= 0.85 * STUDIES


def test_what_more_seeds_and_more_repeats_do_to_the_error() -> None:
    found = split([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]])
    assert (found.agent, found.seeds, found.repeats, found.cases) == (0.25, 2, 2, 2)
    assert found.gain_interval is None, "two cases are too few"
    now, seeds, repeats = (found.standard_error(**more) for more in ({}, {"seeds": 2}, {"repeats": 2}))
    assert seeds**2 == pytest.approx(now**2 / 2)
    assert now**2 - repeats**2 == pytest.approx(found.repeats_gain * (now**2 - seeds**2))


def test_users_that_do_not_differ_leave_nothing_to_them() -> None:
    found = split([[[1.0, 0.0], [1.0, 0.0]] for _ in range(6)])
    assert (found.user, found.repeats_gain, found.gain_interval) == (0, 1, (1, 1))


@pytest.mark.parametrize("cases", [[], [[[1.0]], [[0.0]]], [[[1.0, 0.0]]], [[[1.0], [0.0]]]])
def test_nothing_is_said_without_both(cases: list[list[list[float]]]) -> None:
    assert agent_and_user(cases) is None

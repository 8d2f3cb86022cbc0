"""Which stored outputs are laid side by side: each once, as they came, whatever comes later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.stats.stored_results import ComparedOutput, looks_at, matched


def outputs(*places: int) -> list[ComparedOutput]:
    return [ComparedOutput(place, 1.0, passed=True) for place in places]


def places(a: list[ComparedOutput], b: list[ComparedOutput]) -> list[tuple[int, int]]:
    return [(before.place, after.place) for before, after in matched(a, b)]


def test_each_output_has_the_newest_free_one_before_it_else_the_first_after_it() -> None:
    assert places(outputs(1, 2, 3, 7), outputs(4, 5)) == [(3, 4), (2, 5)]
    assert places(outputs(3, 9), outputs(1, 2, 4)) == [(3, 1), (9, 2)]


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 30))
def test_what_comes_later_changes_no_match(of_b: list[bool], until: int) -> None:
    a = outputs(*(place for place, is_b in enumerate(of_b) if not is_b))
    b = outputs(*(place for place, is_b in enumerate(of_b) if is_b))
    then = places([one for one in a if one.place < until], [one for one in b if one.place < until])
    now = places(a, b)
    assert now[: len(then)] == then
    assert len(now) == min(len(a), len(b))


def test_choosing_a_moment_is_an_attempt_for_each_doubling() -> None:
    assert [looks_at(results) for results in (1, 2, 3, 4, 13, 20, 100)] == [1, 2, 2, 3, 4, 5, 7]

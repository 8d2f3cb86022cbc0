"""Prompts as chains of their versions: which belong together, in which order, and which is the latest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.domain.prompts.version_chain import Link, chain_named, chains
from minions_evals_mcp.errors import BadInputError


def order(*links: Link) -> dict[str, tuple[str, ...]]:
    """The versions of each prompt, oldest first."""
    return {name: chain.version_ids for name, chain in chains(links).items()}


def test_versions_without_a_prompt_go_by_their_first_one() -> None:
    assert order(Link("b", "", 2, "a"), Link("a", "", 1), Link("alone", "", 1)) == {
        "a": ("a", "b"),
        "alone": ("alone",),
    }


def test_a_version_that_names_no_prompt_is_of_the_prompt_that_follows_ties_it_to_on_either_side() -> None:
    older, newer = Link("v1", "", 1), Link("v3", "", 3, "v2")
    assert order(older, Link("v2", "p", 2, "v1"), newer) == {"p": ("v1", "v2", "v3")}


def test_versions_are_in_the_order_of_follows_and_then_of_their_numbers() -> None:
    assert order(*(Link(f"v{number}", "p", number) for number in (3, 1, 2))) == {"p": ("v1", "v2", "v3")}
    assert order(Link("y", "p", 1, "x"), Link("x", "p", 9), Link("z", "p", 3)) == {"p": ("x", "y", "z")}


def test_the_newest_of_several_that_nothing_follows_is_the_latest() -> None:
    root, left, right = Link("v1", "p", 1), Link("v2", "p", 2, "v1"), Link("v3", "p", 3, "v1")
    assert chains([root, right, left])["p"].latest == right
    late = Link("v2b", "p", 3, "v2")
    assert chains([root, right, left, late])["p"].latest == late, "kept last among those of one number"


def test_a_version_that_names_another_prompt_begins_that_prompt() -> None:
    found = chains([Link("en1", "en", 1), Link("en2", "en", 2, "en1"), Link("de1", "de", 1, "en2")])
    assert {name: chain.version_ids for name, chain in found.items()} == {"en": ("en1", "en2"), "de": ("de1",)}
    assert chain_named(found, "de1") == chain_named(found, "de")
    assert chain_named(found, "fr") is None


def test_a_hidden_version_ties_its_neighbours_together_and_is_not_listed() -> None:
    assert order(Link("v1", "", 1), Link("v2", "", 2, "v1", hidden=True), Link("v3", "", 3, "v2")) == {
        "v1": ("v1", "v3")
    }


def test_versions_in_a_ring_are_refused_where_they_name_no_prompt() -> None:
    with pytest.raises(BadInputError, match="ring"):
        chains([Link("a", "", 1, "b"), Link("b", "", 2, "a")])
    assert order(Link("a", "p", 1, "b"), Link("b", "p", 2, "a")) == {"p": ("a", "b")}


LINE = [Link(f"v{number}", "", number, f"v{number - 1}" if number > 1 else None) for number in range(1, 9)]


@given(st.permutations(LINE))
def test_a_line_of_versions_is_one_chain_whatever_the_order_in_which_it_came_in(shuffled: list[Link]) -> None:
    assert order(*shuffled) == {"v1": tuple(link.id for link in LINE)}

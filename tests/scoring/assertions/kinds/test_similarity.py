"""Likeness in meaning: the cosine, the assertion that asks for it, and what it must not be trusted with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.embedding.embedder import Vector
from minions_evals_mcp.embedding.local import WORDLLAMA_NAME
from minions_evals_mcp.engine.judge.door import similarities
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.kinds.similar import asks_similarity
from minions_evals_mcp.scoring.assertions.table import check, needs, vet
from minions_evals_mcp.scoring.checks import Checked, Evidence, SimilarityNeed, Subject, Unchecked, Unmet
from minions_evals_mcp.scoring.likeness.similarity import cosine, disagreements, distance, dot

NUMBERS = st.floats(-1e6, 1e6)
VECTORS = st.integers(1, 8).flatmap(lambda size: st.tuples(*[st.lists(NUMBERS, min_size=size, max_size=size)] * 2))


@given(VECTORS)
def test_a_cosine_lies_from_0_to_1_and_knows_no_order(pair: tuple[list[float], list[float]]) -> None:
    one, other = pair
    assert 0 <= cosine(one, other) <= 1
    assert cosine(one, other) == cosine(other, one)


@given(st.lists(st.floats(0.001, 1e3), min_size=1, max_size=8), st.floats(0.001, 1e3))
def test_a_cosine_is_1_for_the_same_direction(vector: list[float], factor: float) -> None:
    assert math.isclose(cosine(vector, [factor * one for one in vector]), 1, abs_tol=1e-9)


def test_opposites_are_as_unlike_as_strangers() -> None:
    assert cosine([1.0, 0.0], [-1.0, 0.0]) == cosine([1.0, 0.0], [0.0, 1.0]) == cosine([], [1.0]) == 0


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ("Due in 14 days", "Due in fourteen days", ()),
        ("It costs $1,250.", "It costs 1250 dollars.", ()),
        ("Profit rose 5 %", "Profit rose 7 %", ("the numbers differ: 5 % expected, 7 % found",)),
        ("on 3 May 2026", "on 2026-05-03", ()),
        ("on 3 May 2026", "on 2026-05-04", ("the dates differ: 3 May 2026 expected, 2026-05-04 found",)),
        ("on Tuesday", "on Thursday", ("the weekdays differ: Tuesday expected, Thursday found",)),
        ("at 3 pm", "at 15:00", ()),
        ("at 3 pm", "at 4 pm", ("the times differ: 3 pm expected, 4 pm found",)),
        ("You may enter.", "You may not enter.", ("only the output negates: 'not'",)),
        ("It doesn’t work", "It works", ("only the expected output negates: 'doesn’t'",)),
        ("Nothing is free", "It is not free", ()),
    ],
)
def test_what_an_embedder_is_blind_to_is_seen(expected: str, actual: str, said: tuple[str, ...]) -> None:
    assert disagreements(expected, actual) == said


@given(st.text(), st.text())
def test_the_guard_reads_any_text_and_finds_nothing_against_itself(one: str, other: str) -> None:
    disagreements(one, other)
    assert disagreements(one, one) == ()


def asked(value: JsonValue, threshold: float | None = None, kind: str = "similar") -> Assertion:
    """An assertion on likeness."""
    return Assertion(type=kind, value=value, threshold=threshold)


def found(assertion: Assertion, text: str, *cosines: float | Unmet) -> Checked | Unchecked:
    """The verdict, where the needs are measured so in turn."""
    subject = Subject(text)
    wanted = [need for need in needs([assertion], subject) if isinstance(need, SimilarityNeed)]
    return check(assertion, subject, Evidence(similarities=dict(zip(wanted, cosines, strict=True))))


@pytest.mark.parametrize(("cosine_", "passed"), [(0.75, True), (0.7499, False), (0.75 - 1e-12, True)])
def test_similar_passes_from_075_on_and_scores_the_cosine(cosine_: float, passed: bool) -> None:
    said = found(asked("Hello"), "Hi", cosine_)
    assert isinstance(said, Checked)
    assert (said.passed, said.score) == (passed, cosine_)


def test_any_of_several_values_will_do() -> None:
    said = found(asked(["a", "b"], 0.9), "x", 0.2, 0.95)
    assert isinstance(said, Checked)
    assert (said.passed, said.score) == (True, 0.95)
    assert "to 'b'" in said.reason


def test_not_similar_turns_verdict_and_score_round() -> None:
    said = found(asked("Hello", kind="not-similar"), "Bananas", 0.1)
    assert isinstance(said, Checked)
    assert (said.passed, said.score) == (True, 0.9)


@pytest.mark.parametrize(
    ("kind", "measured", "threshold", "passed", "score"),
    [
        ("similar:cosine", 0.8, 0.8, True, 0.8),
        ("similar:cosine", 0.7, None, False, 0.7),
        ("similar:dot", 0.75, None, True, 0.75),
        ("similar:dot", 12.5, 13.0, False, 1.0),
        ("similar:dot", -3.0, -4.0, True, 0.0),
        ("not-similar:dot", 0.25, None, True, 0.75),
        ("similar:euclidean", 0.75, None, True, 1 / 1.75),
        ("similar:euclidean", 3.0, 2.0, False, 0.25),
        ("not-similar:euclidean", 3.0, 2.0, True, 0.75),
        ("not-similar:euclidean", 1.0, 2.0, False, 0.5),
    ],
)
def test_each_measure_has_its_threshold_and_score(
    kind: str, measured: float, threshold: float | None, passed: bool, score: float
) -> None:
    said = found(asked("Hello", threshold, kind), "Hi", measured)
    assert isinstance(said, Checked)
    assert (said.passed, said.score) == (passed, pytest.approx(score))


def test_the_nearest_of_several_has_the_least_distance_and_the_greatest_product() -> None:
    near = found(asked(["a", "b"], 1, "similar:euclidean"), "x", 3.0, 1.0)
    strong = found(asked(["a", "b"], 2, "similar:dot"), "x", 3.0, 1.0)
    assert isinstance(near, Checked)
    assert isinstance(strong, Checked)
    assert "distance 1.000 to 'b'" in near.reason
    assert "dot product 3.000 to 'a'" in strong.reason
    assert near.passed
    assert strong.passed


def test_equal_texts_are_at_no_distance_but_their_product_is_measured() -> None:
    said = found(asked("Hello", kind="similar:euclidean"), "Hello")
    assert isinstance(said, Checked)
    assert (said.passed, said.score) == (True, 1.0)
    assert len(needs([asked("Hello", kind="similar:dot")], Subject("Hello"))) == 1


@pytest.mark.parametrize(
    ("kind", "threshold"), [("similar:cosine", 1.1), ("not-similar:cosine", -0.1), ("similar:euclidean", -0.1)]
)
def test_a_threshold_that_no_measure_can_have_is_refused(kind: str, threshold: float) -> None:
    with pytest.raises(InvalidRecordError, match="threshold"):
        vet(asked("a", threshold, kind))


@given(VECTORS)
def test_product_and_distance_know_no_order_and_a_blank_text_ends_at_the_origin(
    pair: tuple[list[float], list[float]],
) -> None:
    one, other = pair
    assert dot(one, other) == dot(other, one)
    assert distance(one, other) == distance(other, one)
    assert dot([], one) == 0
    assert math.isclose(distance([], one) ** 2, dot(one, one), rel_tol=1e-9, abs_tol=1e-300)


class Planted:
    """An embedder of two known vectors."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vector of each text."""
        return [{"a": [3.0, 0.0], "b": [3.0, 4.0]}[text] for text in texts]


async def test_one_embedding_serves_every_measure() -> None:
    pairs = [SimilarityNeed("a", "b", measure=measure) for measure in ("cosine", "dot", "euclidean")]
    measured = await similarities(pairs, Planted("openai:planted"))
    assert [measured[pair] for pair in pairs] == pytest.approx([0.6, 9.0, 4.0])


async def test_the_vectors_of_an_embedder_that_runs_here_have_length_1() -> None:
    pairs = [SimilarityNeed("a", "b", measure=measure) for measure in ("cosine", "dot", "euclidean")]
    measured = await similarities(pairs, Planted(WORDLLAMA_NAME))
    assert [measured[pair] for pair in pairs] == pytest.approx([0.6, 0.6, math.sqrt(0.8)])


def test_equal_texts_are_similar_without_an_embedder() -> None:
    said = found(asked("Hello"), " Hello ")
    assert isinstance(said, Checked)
    assert (said.passed, said.score) == (True, 1.0)


def test_a_verdict_that_stands_on_a_blind_spot_says_so() -> None:
    said = found(asked("It costs 5 euros"), "It costs 6 euros", 0.98)
    assert isinstance(said, Checked)
    assert said.passed
    assert "caution: the numbers differ: 5 euros expected, 6 euros found" in said.reason


@pytest.mark.parametrize("cosines", [(Unmet("the embedder failed"),), ()])
def test_without_a_measured_likeness_there_is_no_verdict(cosines: tuple[Unmet, ...]) -> None:
    subject = Subject("Hi")
    evidence = Evidence(similarities=dict.fromkeys([SimilarityNeed("Hi", "Hello")], cosines[0]) if cosines else {})
    assert isinstance(check(asked("Hello"), subject, evidence), Unchecked)


@pytest.mark.parametrize("value", [None, "", " ", 5, [], ["a", ""], [1], {"a": "b"}])
def test_a_value_that_is_no_text_is_refused(value: JsonValue) -> None:
    with pytest.raises(InvalidRecordError, match="value"):
        vet(asked(value))


@pytest.mark.parametrize("threshold", [-0.1, 1.1])
def test_a_threshold_that_no_cosine_can_have_is_refused(threshold: float) -> None:
    with pytest.raises(InvalidRecordError, match="threshold"):
        vet(asked("a", threshold))


def test_a_set_with_a_similar_in_it_needs_an_embedder() -> None:
    inside = Assertion(type="assert-set", assertions=(asked("a", kind="not-similar"),))
    assert asks_similarity([inside])
    assert not asks_similarity([Assertion(type="contains", value="a")])

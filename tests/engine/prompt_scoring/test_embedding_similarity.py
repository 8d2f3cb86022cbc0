"""The evaluator that scores a response by its likeness to the expected output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.prompt_scoring.evaluators import Embed, embedding_similarity
from minions_evals_mcp.engine.prompt_scoring.score import run_test
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.scoring.prompt_scoring import TestResult


async def judged(response: str, embed: Embed | None = None, **case: JsonValue) -> TestResult:
    """The result of a case that expects a parcel on Monday."""
    usual: dict[str, JsonValue] = {
        "id": "c", "input": {}, "expectedOutput": "The parcel arrives on Monday.", "maxScore": 2,
    }  # fmt: skip
    return await run_test(
        prompt={"id": "p", "content": "When?"},
        test_case={**usual, **case},
        llm=lambda _: response,
        evaluator=embedding_similarity(embed),
    )


async def test_the_score_is_the_cosine_of_response_and_expected_output() -> None:
    near, far = await judged("The parcel will arrive on Monday."), await judged("Bananas are yellow.")
    assert 1.6 < near.score < 2
    assert far.score < 0.8
    assert not near.passed


async def test_equal_texts_score_all_whatever_the_embedder() -> None:
    def embed(text: str) -> Sequence[float]:
        raise AssertionError(text)

    assert (await judged(" The parcel arrives on Monday.\n", embed)).passed


@pytest.mark.parametrize("is_async", [False, True])
async def test_any_function_from_text_to_vector_embeds(is_async: bool) -> None:
    def embed(text: str) -> list[float]:
        return [1.0, 0.0] if "Monday" in text else [1.0, 1.0]

    async def awaited(text: str) -> list[float]:
        return embed(text)

    assert (await judged("On Tuesday", awaited if is_async else embed)).score == pytest.approx(2 / 2**0.5)


@pytest.mark.parametrize(("vector", "said"), [(None, "list of"), (["a"], "list of"), ([float("nan")], "list of")])
async def test_what_is_no_vector_is_an_error_that_names_the_case(vector: Any, said: str) -> None:
    with pytest.raises(InstrumentError, match=f"'c'.*{said}"):
        await judged("On Tuesday", lambda _: vector)


async def test_vectors_of_two_lengths_cannot_be_compared() -> None:
    with pytest.raises(InstrumentError, match="2 numbers for one text and 1"):
        await judged("On Tuesday", lambda text: [1.0] if "Monday" in text else [1.0, 1.0])


async def test_nothing_expected_is_nothing_to_be_like() -> None:
    with pytest.raises(InstrumentError, match="expectedOutput is missing"):
        await judged("On Tuesday", expectedOutput=None)

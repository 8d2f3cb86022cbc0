"""Ids by their beginning, and `latest`: what is meant is written out, and what is not plain is refused with the candidates."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.meant_ids import meant_id, with_meant_ids
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations import run_benchmark
from tests.workshop import answer, bench, benchmark, case, config_in, minion, opened, save


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    """Two benchmarks, of which the older one ran last; two versions of one prompt."""
    async with opened(config_in(tmp_path)) as made:
        await save(
            made,
            case("support/refund-late", expectedOutputs={"output": "yes"}),
            case("support/refund-early", expectedOutputs={"output": "yes"}),
            answer("a1", "support/refund-late", "yes"),
            answer("12345678-4b1f", "support/refund-late", "yes"),
            benchmark("support/quality", "support/refund-late"),
            benchmark("support/quality-2", "support/refund-early"),
            minion("tone/prompt-aaaa", "prompt-version", content="Say it.", versionNumber=1, promptId="tone/prompt"),
            minion(
                "tone/prompt-bbbb", "prompt-version", content="Say it so.", versionNumber=20, promptId="tone/prompt"
            ),
        )
        await bench(made, "support/quality")
        yield made


@pytest.mark.parametrize(
    ("given", "kinds", "meant"),
    [
        ("support/quality", ("benchmark",), "support/quality"),  # itself, though another begins with it
        ("support/quality-", ("benchmark",), "support/quality-2"),
        ("support/refund-l", ("test-case",), "support/refund-late"),
        ("support/refund-late", ("benchmark",), "support/refund-late"),  # of another type: refused by who asked
        ("suppo", ("benchmark",), "suppo"),  # too short to be a beginning
        ("nothing-like-it", ("benchmark",), "nothing-like-it"),
        ("latest", ("benchmark",), "support/quality"),  # it ran last, the other is newer
        ("latest", ("test-case",), "support/refund-late"),
        ("latest", ("prompt-version",), "tone/prompt-bbbb"),
        ("tone/prompt-a", ("prompt-version",), "tone/prompt-aaaa"),
        ("tone/prompt", ("prompt-version",), "tone/prompt"),  # a prompt's name is itself
        ("tone/prompt@1", ("prompt-version",), "tone/prompt@1"),  # and so is a version's
        ("20", ("prompt-version",), "20"),
        ("12345678", ("record",), "12345678-4b1f"),  # eight digits are no version's number
        ("12345678", ("agent-run", "prompt-version"), "12345678-4b1f"),
        ("87654321", ("prompt-version",), "87654321"),
    ],
)
async def test_an_id_is_meant_by_its_beginning_or_as_the_latest(
    engine: Engine, given: str, kinds: tuple[str, ...], meant: str
) -> None:
    assert await meant_id(engine, given, *kinds) == meant


async def test_what_begins_several_ids_is_refused_with_them(engine: Engine) -> None:
    with pytest.raises(
        BadInputError, match=r"is the beginning of several ids: .*support/refund-early.*support/refund-late"
    ):
        await meant_id(engine, "support/refund-", "test-case")


async def test_the_latest_of_nothing_is_refused_in_words(engine: Engine) -> None:
    with pytest.raises(BadInputError, match="there is no prompt-comparison yet"):
        await meant_id(engine, "latest", "prompt-comparison")


async def test_the_latest_version_is_that_of_the_cases_prompt(engine: Engine) -> None:
    for given, meant in (("latest", "latest"), ("tone/prompt-b", "tone/prompt-bbbb")):
        asked = run_benchmark.Request(benchmark_id="support/quality", prompt_version_ref=given)
        assert (await with_meant_ids(engine, asked)).prompt_version_ref == meant


async def test_a_sealed_id_never_turns_into_an_open_one(engine: Engine) -> None:
    await seal_benchmark(engine, SealAsked(benchmark_id="support/quality"), by="anna")
    assert await meant_id(engine, "support/quality", "benchmark") == "support/quality"

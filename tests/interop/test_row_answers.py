"""Outputs scored and picked from Python, with an open engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp import Engine
from minions_evals_mcp.api.rows import pick_output, score_output
from minions_evals_mcp.errors import BadInputError, InstrumentError, UnsupportedError
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import config_in, opened

pytestmark = pytest.mark.anyio

CHECKS: list[dict[str, JsonValue]] = [
    {"type": "contains", "value": "Paris"},
    {"type": "python", "value": "len(output) < 20"},
]


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A model on loopback."""
    async with serving() as running:
        yield running


@pytest.fixture
async def engine(tmp_path: Path, server: Server) -> AsyncGenerator[Engine]:
    """An engine whose judge is that model."""
    async with opened(config_in(tmp_path, model_url=server.url)) as running:
        yield running


async def test_an_output_is_scored_with_reasons(engine: Engine) -> None:
    found = await score_output(engine, "It is Paris.", assertions=CHECKS)
    assert (found["pass"], found["score"]) == (True, 1.0)
    half = await score_output(engine, "Paris, the capital of France", assertions=CHECKS, threshold=0.5)
    assert (half["pass"], half["score"]) == (True, 0.5)
    assert "the code returned false" in str(half["results"])


async def test_a_model_decides_what_only_a_model_can(engine: Engine, server: Server) -> None:
    rubric: dict[str, JsonValue] = {"type": "llm-rubric", "value": "is polite"}
    assert (await score_output(engine, "Gladly.", assertions=[rubric]))["pass"] is True
    assert server.requests == 1
    with pytest.raises(BadInputError, match="so max-cost-usd cannot be enforced"):
        await score_output(engine, "Gladly.", assertions=[rubric], max_cost_usd=1)
    assert server.requests == 1


async def test_the_best_of_several_outputs_is_picked(engine: Engine) -> None:
    found = await pick_output(engine, ["Rome", "Paris", "Paris!"], assertions=CHECKS)
    assert (found["selected"], found["scores"]) == (1, [0.5, 1.0, 1.0])
    asked: dict[str, JsonValue] = {"type": "max-score", "value": {"method": "sum", "threshold": 2.5}}
    assert (await pick_output(engine, ["Rome", "Paris"], assertions=[*CHECKS, asked]))["selected"] is None


async def test_what_cannot_be_picked_or_scored_says_why(engine: Engine) -> None:
    with pytest.raises(InstrumentError, match="two outputs"):
        await pick_output(engine, ["Paris"], assertions=CHECKS)
    with pytest.raises(InstrumentError, match="at least one assertion"):
        await pick_output(engine, ["Rome", "Paris"], assertions=[])
    with pytest.raises(UnsupportedError, match="kontains"):
        await score_output(engine, "x", assertions=[{"type": "kontains", "value": "x"}])

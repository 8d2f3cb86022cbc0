"""The semantic score of a test-run is the cosine of the embeddings of the model that is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp.engine.cases.testing import execute_test_case
from minions_evals_mcp.scoring.likeness.similarity import cosine
from tests.shared.fakes.llm_server import serving
from tests.shared.models.asking import provider_settings
from tests.workshop import answer, case, config_in, minion, opened, save

EXPECTED, ACTUAL = "red green blue", "red green sea and a boat"


async def test_the_semantic_score_of_a_run_is_the_cosine_of_the_named_models_embeddings(tmp_path: Path) -> None:
    async with serving() as server:
        named = replace(
            config_in(tmp_path), providers=provider_settings(server.url), embedder="openai:text-embedding-3-small"
        )
        async with opened(named) as engine:
            version = minion("p@1", "prompt-version", content="Say {{q}}", versionNumber=1, promptId="p")
            await save(engine, version, case("c", promptId="p", expectedOutputs={"output": EXPECTED}))
            await save(engine, answer("a", "c", ACTUAL, promptVersionRef="p@1"))
            server.heard = []
            done = await execute_test_case(engine, "c")
            asked = [body for one in server.heard if "input" in (body := json.loads(one))]
            assert {body["model"] for body in asked} == {"text-embedding-3-small"}
            actual, expected = await engine.embedder().embed([ACTUAL, EXPECTED])
    assert done.semantic_score == pytest.approx(cosine(actual, expected))
    assert 0.2 < cosine(actual, expected) < 0.8
    assert not done.passed

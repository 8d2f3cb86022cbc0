"""Our configs, cell by cell as promptfoo answered them (recorded by `python -m tests.bench.promptfoo_configs … --record`)."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.interop.promptfoo_results import results_json
from minions_evals_mcp.sandbox.snippets import Snippets
from tests.bench.promptfoo_configs import ANSWERS, CONFIGS, TRUST, cells, compared, configs, environment, written
from tests.hang import HANG_S
from tests.shared.fakes.scripted_model import scripted_model
from tests.workshop import START

pytestmark = pytest.mark.anyio
RECORDED: dict[str, list[dict[str, Any]]] = json.loads(ANSWERS.read_text("utf-8"))


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    with scripted_model() as at:
        yield at


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def snippets() -> AsyncGenerator[Snippets]:
    """What runs the configs' code, confined: a process that has it imported carries on from config to config, as from test to test."""
    async with Snippets() as processes:
        yield processes


async def ours(engine: Engine, name: str, address: str) -> list[dict[str, Any]]:
    """Our cells of that config."""
    files = configs()[name]
    path = written(engine.config.db.parent / name, files)
    around = environment(address)
    given = ConfigOverrides(environment=around, trust_code=engine.config.trust_code)
    evaluation = await anyio.to_thread.run_sync(lambda: read_config(path, now=START, overrides=given))
    named = {variable: around[variable] for variable in evaluation.variables}
    with anyio.fail_after(HANG_S):
        matrix = await evaluate(engine, evaluation, EvalOptions(), environment={**named, **evaluation.given_variables})
    told = results_json(matrix, evaluation, at="2026-11-22T16:00:00Z")["results"]
    assert isinstance(told, dict)
    results: Any = told["results"]
    return json.loads(json.dumps(cells(results)))


@pytest.mark.parametrize("name", configs())
async def test_every_cell_is_as_promptfoo_gave_it(engine: Engine, snippets: Snippets, address: str, name: str) -> None:
    if not configs()[name].get(TRUST):
        sharing = replace(engine, snippets=snippets)
        assert compared(await ours(sharing, name, address), RECORDED[name]) == []
        return
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    async with open_engine(replace(engine.config, trust_code=True)) as trusting:
        assert compared(await ours(trusting, name, address), RECORDED[name]) == []


def test_there_are_forty_configs_and_each_was_answered() -> None:
    assert len(configs()) >= 40
    assert RECORDED.keys() == configs().keys(), (
        f"{CONFIGS.name} changed: python -m tests.bench.promptfoo_configs … --record"
    )
    assert all(RECORDED.values())


def test_a_cell_that_differs_is_told_with_what_differs() -> None:
    cell: dict[str, Any] = {"at": [0, 0], "output": "a", "pass": True, "score": 1, "namedScores": {}, "error": False}
    assert compared([cell], [{**cell, "score": 1 + 1e-7}]) == []
    assert "score" in compared([cell], [{**cell, "score": 0.99}])[0]
    assert "output, pass" in compared([cell], [{**cell, "output": "b", "pass": False}])[0]
    assert "there is none here" in compared([], [cell])[0]
    assert "there is none there" in compared([cell], [])[0]

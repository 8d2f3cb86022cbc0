"""A broken target is told from a bad agent: nothing said for no tokens is no output; many empty or equal outputs are a warning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import InstrumentError
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.workshop import all_of, answer, bench, benchmark, benchmark_run, case, config_in, measured, opened, save

pytestmark = pytest.mark.anyio


async def test_a_model_that_makes_nothing_is_the_targets_error_and_no_case_fails(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(pnothing=1.0)) as server,
        opened(replace(config_in(tmp_path, model_url=server.url), call_timeout_s=HANG_S)) as engine,
    ):
        await save(engine, case("x", expectedOutputs={"output": "good"}), benchmark("b", "x"))
        with pytest.raises(InstrumentError, match="no text and 0 completion tokens"):
            await bench(engine, "b", target="anthropic:broken")
        assert await all_of(engine, TestRun) == []


async def _notes(engine: Engine, *texts: str) -> str:
    names = [f"c{number}" for number in range(len(texts))]
    await save(engine, [case(one, expectedOutputs={"output": "good"}) for one in names], benchmark("b", *names))
    await save(engine, [answer(f"a-{one}", one, text) for one, text in zip(names, texts, strict=True)])
    return (await benchmark_run(engine, await bench(engine, "b"))).notes


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("", " ", "", "good"), "warning: 3 of 4 outputs are empty. Check that the target works"),
        (("same",) * 4, "warning: all 4 outputs are identical. Check that the target works"),
        (("good", "other", "", "", ""), "warning: 3 of 5 outputs are empty. Check that the target works"),
        (("", "", "good", "good"), ""),
        (("good",) * 4, ""),
        (("same", "same"), ""),
        (("same", "same", "other"), ""),
    ],
)
async def test_outputs_that_are_mostly_empty_or_all_alike_are_warned_of_first(
    engine: Engine, texts: tuple[str, ...], said: str
) -> None:
    assert await _notes(engine, *texts) == said


async def test_the_warning_stands_before_everything_else_and_the_regression_is_called_all_the_same(
    engine: Engine,
) -> None:
    names = [f"c{number}" for number in range(6)]
    await save(engine, [case(one, expectedOutputs={"output": "good"}) for one in names], benchmark("b", *names))
    await measured(engine, "v1", [True] * 6)
    await save(engine, [answer(f"v2/{one}", one, "", promptVersionRef="v2") for one in names])
    found = await benchmark_run(engine, await bench(engine, "b", prompt_version_ref="v2", selection=None))
    assert found.notes.startswith("warning: 6 of 6 outputs are empty")
    assert found.is_regression

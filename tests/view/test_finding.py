"""The palette: what is called so."""

from __future__ import annotations

import re

import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from tests.shared.view.visitor import visitor
from tests.workshop import benchmark, case, first, fleet, measured, minion, save


async def links(engine: Engine, text: str) -> dict[str, str]:
    """The addresses that are listed for what is typed, by what they are called."""
    async with visitor(engine) as client:
        answer = await client.get("/find", params={"q": text})
    assert answer.status_code == 200
    found = re.findall(r'<a href="([^"]+)">([^<]+?)\s*<', answer.text)
    return {name.strip(): address.replace("&amp;", "&") for address, name in found}


async def test_everything_that_is_called_so_is_listed_and_opens(engine: Engine) -> None:
    await fleet(engine, 2, name="Refund quality")
    await save(engine, [minion("refund@1", "prompt-version", content="Say it.", versionNumber=1)])
    await measured(engine, "refund@1", first(1, 2))
    found = await links(engine, "REFUND")
    assert {"Refund quality", "prompt-version refund@1"} <= found.keys()
    by_case = await links(engine, "c1")
    assert by_case["c1"].startswith("/case?run=job1&at=1.1")
    async with visitor(engine) as client:
        for address in {*found.values(), *by_case.values()}:
            assert (await client.get(address)).status_code == 200, address
    assert await links(engine, "no such name") == {}


@pytest.mark.parametrize("text", ["", "%", "_", "'", '"<b>', "\\", "x" * 5_000, "🫖"])
async def test_any_text_is_only_a_text(engine: Engine, text: str) -> None:
    await fleet(engine, 1)
    await save(engine, [case("odd", name='100 % of "<b>" \\ 🫖'), benchmark("b2", "odd", name="100 %")])
    found = await links(engine, text)
    assert (not text) == ("Overview" in found)


async def test_a_sealed_case_is_found_by_no_word_of_it(engine: Engine) -> None:
    await save(engine, [case("s1", name="Secretword", expectedOutputs={"output": "good"}), benchmark("sealed", "s1")])
    assert (await links(engine, "secretword")) == {}, "it was never judged in a run, so it has no page"
    await seal_benchmark(engine, SealAsked(benchmark_id="sealed"), by="anna")
    assert (await links(engine, "secretword")) == {}

"""The report of an A/B test in each of its forms: figures with their intervals, each branch beside the control."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, AbTestResult, InlineBranch, run_ab_test
from minions_evals_mcp.engine.ab_test.titled import ab_test_under, titled_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.ab_words import against, between, score
from minions_evals_mcp.report.documents.ab_report import ab_form_of
from tests.shared.engine.ab_workshop import Words
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.workshop import Json, bench, benchmark, config_in, minion, opened, save

EVIL = "<script>alert(1)</script> | *evil*"
BRANCHES = (
    InlineBranch(name="now", provider="openai", model="gpt-4o", is_control=True),
    InlineBranch(name=EVIL, provider="openai", model="gpt-4o-mini"),
)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with opened(config_in(tmp_path)) as engine:
        engine.models = Scripted(Drawn("report", every=2))
        engine.opened_embedder = Words()
        wanted: Json = {"output": "happy am"}
        idents = [f"c{number}" for number in range(8)]
        cases = [minion(one, "test-case", name=one, inputs={"q": one}, expectedOutputs=wanted) for one in idents]
        await save(engine, cases, benchmark("b", *idents))
        yield engine


async def made(engine: Engine) -> AbTestResult:
    return await run_ab_test(engine, AbTestRequest(benchmark_id="b", branches=BRANCHES))


def written(name: str, found: AbTestResult) -> str:
    return ab_form_of(Path(name))(found, "Support")


async def test_every_form_shows_each_figure_with_its_interval_and_the_difference_from_the_control(
    engine: Engine,
) -> None:
    found = await made(engine)
    now = next(branch for branch in found.branches if branch.branch_name == "now")
    other = next(branch for branch in found.branches if branch.branch_name != "now")
    assert (against(now), against(other).startswith("checks ")) == ("", True)
    quality = between(now.quality_interval, score)
    for name in ("a.html", "a.md"):
        text = written(name, found)
        assert "Support" in text
        assert quality in text, name
        assert against(other).split(";")[1].strip().split(" (")[0] in text
    rows = list(csv.DictReader(io.StringIO(written("a.csv", found))))
    assert [row["rank"] for row in rows] == ["1", "2"]
    assert all("; " in row["median_latency_interval"] for row in rows)
    told = json.loads(written("a.json", found))
    assert told["branches"][0]["qualityInterval"] == list(found.branches[0].quality_interval or ())


async def test_a_name_is_never_markup(engine: Engine) -> None:
    found = await made(engine)
    assert "<script>alert" not in written("a.html", found)
    assert "<script>alert" not in written("a.md", found)
    assert "default-src &#39;none&#39;" in written("a.html", found)


async def test_a_form_that_there_is_not_is_refused_and_an_ab_test_is_known_by_latest_and_by_its_beginning(
    engine: Engine,
) -> None:
    with pytest.raises(BadInputError, match=r"\.xml"):
        ab_form_of(Path("a.xml"))
    found = await made(engine)
    assert await ab_test_under(engine, "latest") == found.run_id
    assert (await titled_ab_test(engine, found.run_id))[1] == "b"
    await save(engine, minion("a", "agent-run", agentId="a", inputs={"q": "c0"}, outputs={"output": "happy am"}))
    await bench(engine, "b")
    assert await ab_test_under(engine, "latest") is None, "the newest run is a benchmark's"

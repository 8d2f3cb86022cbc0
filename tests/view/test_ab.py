"""The page of an A/B test over a benchmark: each branch with its figures and their intervals, and beside the control."""

from __future__ import annotations

import html
import re
from pathlib import Path

from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, InlineBranch, run_ab_test
from minions_evals_mcp.report.ab_words import between, differences, dollars, ms, percent, score, typical
from minions_evals_mcp.view.rendering import money
from tests.shared.engine.ab_workshop import Words
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.shared.view.visitor import visitor
from tests.workshop import Json, benchmark, config_in, minion, opened, save

AGAINST = ["branch", "checks", "passes", "quality", "latency", "cost"]
COLUMNS = ["branch", "quality", "passed", "wins", "median time", "p95 time", "median cost", "total cost", "runs"]
EVIL = "<script>alert(1)</script>"


async def test_each_branch_has_its_columns_with_intervals_over_the_cases(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        engine.models = Scripted(Drawn("page", every=2))
        engine.opened_embedder = Words()
        idents = [f"c{number}" for number in range(8)]
        wanted: Json = {"output": "happy am"}
        cases = [minion(one, "test-case", name=one, inputs={"q": one}, expectedOutputs=wanted) for one in idents]
        await save(engine, cases, benchmark("b", *idents, name="Suite of moods"))
        branches = (
            InlineBranch(name="now", provider="openai", model="gpt-4o", is_control=True),
            InlineBranch(name=EVIL, provider="openai", model="gpt-4o-mini"),
        )
        found = await run_ab_test(engine, AbTestRequest(benchmark_id="b", branches=branches))
        async with visitor(engine) as client:
            page = (await client.get(f"/ab?id={found.run_id}")).text
    assert "Suite of moods" in page
    assert "8 cases" in page
    assert EVIL not in page
    assert re.search(r"“[^”]+” wins by quality|No winner by quality", page)
    bars = [float(size) for size in re.findall(r'<rect x="[\d.]+" y="0" width="([\d.]+)"', page)]
    assert 0 < sum(bars) <= 2 * 160, "each bar of wins ends where all wins do"
    assert re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page) == [*COLUMNS, *AGAINST]
    shown = html.unescape(page)
    assert len(found.branches) == 2
    for one in found.branches:
        assert one.quality_interval is not None
        assert between(one.quality_interval, score) in shown
        assert one.pass_rate_interval is not None
        assert f"{percent(one.pass_rate)}<span" in shown
        assert between(one.pass_rate_interval, percent) in shown
        assert typical(one.median_latency_interval, one.latency_ms, ms) in shown
        assert between(one.p95_latency_interval, ms) in shown
        assert typical(one.median_cost_interval, one.estimated_cost, dollars) in shown
        assert f">{money(one.total_cost)}<" in shown
        if not one.is_control:
            assert [made.name for made in differences(one)] == AGAINST[1:]
            assert all(f"{made.figure}<span" in shown and made.sure in shown for made in differences(one))

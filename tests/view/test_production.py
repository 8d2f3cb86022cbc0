"""Production traces: from an exporter over the agent's endpoint and a rubric to the page, its overview, failures and runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.operations.engine import wall_clock
from minions_evals_mcp.operations.views.production import ProductionFilter, read_production
from tests.shared.agent.desk import Desk
from tests.shared.agent.production import RUBRIC, judged, shop_trace
from tests.shared.view.visitor import visitor
from tests.workshop import config_in, opened

PASSED, FAILED = 9, 3


def sent(desk: Desk) -> None:
    """Twelve traces of one agent and two of another are judged."""
    shop = [
        shop_trace(number, passes=number > FAILED, model="small-1" if number % 2 else "large-2",
                   tags=("checkout",) if number <= 4 else (), version="desk@2" if number <= 2 else "")
        for number in range(1, PASSED + FAILED + 1)
    ]  # fmt: skip
    judged(desk, *shop, *(shop_trace(number, passes=True, agent="mail") for number in (21, 22)))


async def test_judged_traces_are_a_series_by_agent_and_rubric_that_filters_narrow(tmp_path: Path) -> None:
    sent(Desk(tmp_path))
    async with opened(config_in(tmp_path)) as engine:
        engine.clock = wall_clock
        page = await read_production(engine)
        counts = page.counts
        assert (counts.judged, counts.passed, counts.unscored, page.waiting) == (14, 11, 0, 0)
        assert counts.interval == pytest.approx((0.524, 0.924), abs=0.001)
        assert [(one.agent_id, one.rubric_id, one.counts.judged, one.counts.passed) for one in page.series] == [
            ("desk", RUBRIC, 12, 9), ("mail", RUBRIC, 2, 2),
        ]  # fmt: skip
        assert sum(page.causes.values()) == len(page.failing) == FAILED
        assert sum(point.judged for point in page.points) == 14
        assert page.choices.model_dump(exclude={"rubrics"}, by_alias=False) == {
            "agents": ("desk", "mail"), "tags": ("checkout",), "versions": ("desk@2",), "models": ("large-2", "small-1"),
        }  # fmt: skip
        narrowed = {
            "agent": ("mail", 2, 2), "rubric": (RUBRIC, 14, 11), "tag": ("checkout", 4, 1), "version": ("desk@2", 2, 0),
            "model": ("large-2", 6, 5),
        }  # fmt: skip
        for name, (value, number, passed) in narrowed.items():
            only = await read_production(engine, ProductionFilter.model_validate({name: value}))
            assert (only.counts.judged, only.counts.passed) == (number, passed), name
            assert only.choices == page.choices


async def test_pages_show_judged_traces_where_no_benchmark_ever_ran(tmp_path: Path) -> None:
    sent(Desk(tmp_path))
    async with opened(config_in(tmp_path)) as engine, visitor(engine) as client:
        engine.clock = wall_clock
        home, runs, failures = [(await client.get(path)).text for path in ("/", "/runs", "/failures")]
        assert "11 of 14 judged traces passed in the last 7 days" in home
        assert "minions-evals init" not in home  # the ways to start are for who has nothing yet
        assert "No benchmark has run yet" not in failures
        assert "3 of 14 judged traces failed." in failures
        assert "Not listed: 14 runs that judged production traces" in runs
        assert "otel:" not in runs
        each = (await client.get("/runs?kind=production")).text
        assert "desk: Where is parcel 1?" in each
        shown = (await client.get("/production")).text
        assert "11 of 14 judged traces passed: 79\u202f% (95 % CI 52–92 %)." in shown
        assert shown.count("desk: Where is parcel") == FAILED + 1  # the newest failing, and once in its series
        assert "3 of 4" not in shown
        assert "1 of 4 judged traces passed" in (await client.get("/production?tag=checkout")).text
        assert (
            "No trace was judged in the last 7 days with these filters"
            in (await client.get("/production?tag=none")).text
        )
        failing = (await read_production(engine)).failing[0]
        case = await client.get("/case", params={"run": failing.run_id, "at": failing.place})
        assert case.status_code == 200
        assert "I cannot say." in case.text
        assert (await client.get("/production?hours=7000000")).status_code == 400


async def test_the_live_part_is_sent_again_only_when_something_changed(tmp_path: Path) -> None:
    sent(Desk(tmp_path))
    async with opened(config_in(tmp_path)) as engine, visitor(engine) as client:
        first = await client.get("/production/live")
        again = await client.get("/production/live", headers={"If-None-Match": first.headers["etag"]})
        assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
        assert "<html" not in first.text


async def test_a_store_without_traces_says_how_they_come(engine: Engine) -> None:
    async with visitor(engine) as client:
        shown = (await client.get("/production")).text
        assert "minions-eval-agent run --otlp 127.0.0.1:4318 --otlp-rubric RUBRIC" in shown
        assert "No benchmark has run yet" in (await client.get("/failures")).text

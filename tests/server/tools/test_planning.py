"""`plan_benchmark` over the protocol and `result.plan` in Python: the same plan as at the command line."""

from __future__ import annotations

from typing import Any

import pytest

from minions_evals_mcp.api.runs import PlanRequest, plan_benchmark
from tests.shared.server.hosts import Host
from tests.workshop import config_in, fleet, measured, minion, opened, save

pytestmark = pytest.mark.anyio


async def test_the_plan_is_the_same_over_the_protocol_and_in_python(host: Host, tmp_path: Any) -> None:
    refused = await host.refused("plan_benchmark", benchmarkId="nowhere")
    assert "nowhere" in refused
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 40)
        for number in (1, 2):
            await save(
                engine,
                minion(f"v{number}", "prompt-version", content=f"Say {number}.", versionNumber=number, promptId="p"),
            )
        await measured(engine, "v1", [number % 4 != 0 for number in range(40)])
        await measured(engine, "v2", [number % 4 != 1 for number in range(40)])
        planned = await plan_benchmark(engine, PlanRequest(benchmark_id="b", effect=0.2))
    found = await host.call("plan_benchmark", benchmarkId="b", effect=0.2)
    assert (found["unitsNeeded"], found["unit"], found["summary"]) == (planned.units_needed, "case", planned.summary)
    assert planned.minimum_detectable == found["minimumDetectable"]
    fewer = (await host.call("plan_benchmark", benchmarkId="b", effect=0.4))["unitsNeeded"]
    assert isinstance(fewer, int)
    assert planned.units_needed is not None
    assert fewer < planned.units_needed

"""A request names a world and faults: the run meets both, whether a tool call, a message or a program asks."""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.context import EngineConfig, open_engine
from minions_evals_mcp.messages.derived import payload_of
from minions_evals_mcp.operations import run_benchmark
from tests.shared.cli.installed import program
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.server.hosts import hosted
from tests.workshop import config_in
from tests.world.test_runs_in_worlds import AGENT, LOOK, REFUND, SHOP, kept

CHOICE: Json = {"benchmarkId": "b", "world": "shop", "faults": ["tool-error:refund@1"]}


async def asked_by_tool(config: EngineConfig, target: str) -> None:
    async with hosted(config, target=target) as host:
        await host.client.call_tool("run_benchmark", {**CHOICE, "waitSeconds": 30})


async def asked_by_message(config: EngineConfig, target: str) -> None:
    payload = payload_of("run-benchmark").model_validate(CHOICE)
    async with open_engine(config) as engine:
        await run_benchmark.run(engine, payload.request(run_benchmark.Request, by="ada"), default_target=target)


async def asked_by_python(config: EngineConfig, target: str) -> None:
    request = run_benchmark.Request.model_validate({**CHOICE, "target": target}, strict=False)
    async with open_engine(config) as engine:
        await run_benchmark.run(engine, request)


@pytest.mark.parametrize("ask", [asked_by_tool, asked_by_message, asked_by_python])
async def test_a_run_is_in_the_world_and_meets_the_faults_that_its_request_names(
    at: Terminal, ask: Callable[[EngineConfig, str], Awaitable[None]]
) -> None:
    empty: JsonValue = {"name": "Empty", "servers": SHOP["servers"]}
    checks: list[JsonValue] = [{"type": "state", "value": {"query": "orders.A1.status", "equals": "refunded"}}]
    case: JsonValue = {"name": "c", "inputs": {"q": "1"}, "world": "empty", "assertions": checks}
    records: list[JsonValue] = [
        {"id": "shop", "type": "world", "fields": SHOP},
        {"id": "empty", "type": "world", "fields": empty},
        {"id": "c", "type": "test-case", "fields": case},
        {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["c"]}},
    ]
    assert at.run("import", at.file("suite.json", {"records": records})).code == 0
    script = at.file("script.json", {"calls": [LOOK, REFUND], "says": "Refunded."})
    config = replace(config_in(at.folder), db=Path(at.db))
    agent = shlex.join([program("python"), str(AGENT), str(at.folder / script)])
    await ask(config, f"command:{agent}")
    (output,) = kept(at)
    found = cast("Json", output["world"])
    assert [fault["kind"] for fault in cast("list[Json]", found["faults"])] == ["tool-error"], json.dumps(output)
    assert cast("Json", cast("Json", found["state"])["orders"])["A1"] == {"status": "paid", "total": 40}

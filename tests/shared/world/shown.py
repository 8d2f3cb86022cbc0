"""A run in a world of every kind of call, for the pages: replayed, mocked, faulted, attacked, missed, and one of another tool."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from minions_evals_mcp import tool
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.world.calls import tool_result
from minions_evals_mcp.world.units import ToolError, UnitInWorld
from tests.workshop import Json, bench, benchmark, case, minion, save

RUN = "desk"
SERVERS: Json = {
    "desk": {
        "tools": [
            {"name": "get_order", "rules": [{"result": {"id": "{{arguments.id}}", "total": 40}}]},
            {"name": "refund", "rules": [{"sql": ["INSERT INTO refunds VALUES (:id, :amount)"],
                                          "changes": [{"op": "add", "path": "/refunds/-", "value": "{{arguments.id}}"}],
                                          "writes": [{"op": "append", "path": "log.txt", "content": "{{arguments.id}}\n"}],
                                          "result": "refunded"}]},
        ]
    },
    "policy": {"mode": "replay", "tape": "policy.jsonl"},
}  # fmt: skip
TAPE: list[Json] = [
    {"tape": 1, "server": "policy", "tools": [{"name": "read_policy", "inputSchema": {"type": "object"}}]},
    {"tool": "read_policy", "arguments": {"of": "refunds"}, "result": tool_result("Within 30 days.")},
]


@tool
def think(about: str) -> str:
    """A tool of the agent's own."""
    return f"about {about}"


def act(q: str, world: UnitInWorld) -> str:
    """Calls each tool, once in vain."""
    del q
    think("refunds")
    for name, arguments in (
        ("read_policy", {"of": "refunds"}), ("get_order", {"id": "A1"}), ("refund", {"id": "A1", "amount": 40}),
        ("refund", {"id": "A1", "amount": 40}), ("read_policy", {"of": "<b>parcels</b>"}),
    ):  # fmt: skip
        with suppress(ToolError):
            world.call(name, **arguments)
    return "Refunded 40 pounds."


async def run_in_world(engine: Engine, folder: Path) -> None:
    """The run `desk` of one case."""
    content = "".join(f"{canonical(line)}\n" for line in TAPE).encode()
    descriptor = os.open(folder / "policy.jsonl", os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, content)
    os.close(descriptor)
    engine.config = replace(engine.config, world_folder=folder)
    world = minion(
        "desk/world", "world", name="Desk", servers=SERVERS, state={"refunds": []}, folder={"files": {"log.txt": ""}},
        database={"sql": "CREATE TABLE refunds(id TEXT, amount REAL)"},
        faults=[{"kind": "tool-error", "tool": "refund", "nth": 1}],
    )  # fmt: skip
    refunded: Json = {"type": "state", "value": {"query": "length(refunds)", "equals": 2}}
    one = case(
        "desk/refund", name="Refund an order", inputs={"q": "Refund A1"}, world="desk/world", assertions=[refunded]
    )
    await save(engine, world, one, benchmark("desk/tasks", one.id, name="Desk"))
    await bench(engine, "desk/tasks", target="python:tests.shared.world.shown:act", attacks=["override-en-1"], key=RUN)

"""Worlds for tests that need no command: a unit in a world, in this process."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.world.units import UnitInWorld, unit_in_world

AT = datetime(2026, 3, 1, tzinfo=UTC)
Json = dict[str, JsonValue]
SHOP: Json = {
    "shop": {
        "tools": [
            {"name": "get_order", "rules": [{"result": {"id": "{{arguments.id}}", "total": 41.5}}]},
            {
                "name": "refund",
                "rules": [
                    {
                        "changes": [{"op": "add", "path": "/refunds/-", "value": "{{arguments}}"}],
                        "result": {"number": "R-{{add(`1000`, call)}}"},
                    }
                ],
            },
        ]
    }
}


def clock() -> datetime:
    """The one moment of these tests."""
    return AT


def world(servers: Json = SHOP, **fields: JsonValue) -> Record[World]:
    """A world with these servers."""
    state: Json = {"refunds": []}
    wire = {"name": "w", "servers": servers, "state": state, **fields}
    return Record("w", World.model_validate(wire, strict=False), "w", AT, AT)


@contextmanager
def unit(
    record: Record[World], *, base: Path = Path(), name: str = "c:1", attack: str | None = None
) -> Generator[UnitInWorld]:
    """A unit in the world."""
    with unit_in_world(record, base, clock=clock, unit=name, attack=attack) as acted_on:
        yield acted_on

"""Writes the tools' schemas anew, the server's and the snapshot of what a host sees: python -m tests.server.write_schemas."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import anyio

from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.edge import schemas
from minions_evals_mcp.server.edge.derived import told_schema
from minions_evals_mcp.server.edge.schemas import Schema, schema_of
from tests.shared.server.hosts import hosted
from tests.workshop import config_in

KEPT = Path(schemas.__file__).with_name(schemas.FILE)


def made() -> dict[str, dict[str, Schema]]:
    """The schemas that the code's types have."""
    return {
        name: {"arguments": told_schema(entry.arguments), "answer": schema_of(entry.answer)}
        for name, entry in CATALOGUE.items()
    }


async def write() -> None:
    """Makes them of the types, then takes the snapshot from a server as a host sees it."""
    lines = [f"{json.dumps(name)}: {json.dumps(both, ensure_ascii=False)}" for name, both in made().items()]
    await anyio.Path(KEPT).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    with tempfile.TemporaryDirectory() as folder:
        async with hosted(config_in(Path(folder))) as host:
            tools = (await host.client.list_tools()).tools
    shown = {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools}
    file = Path(__file__).with_name("schemas.json")
    await anyio.Path(file).write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    anyio.run(write)

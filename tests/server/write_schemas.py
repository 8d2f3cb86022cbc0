"""Writes the snapshot of the tools' schemas anew: python -m tests.server.write_schemas."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import anyio

from tests.server.hosts import hosted
from tests.workshop import config_in


async def write() -> None:
    """Takes the schemas from a server as a host sees them."""
    with tempfile.TemporaryDirectory() as folder:
        async with hosted(config_in(Path(folder))) as host:
            tools = (await host.client.list_tools()).tools
    shown = {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools}
    file = Path(__file__).with_name("schemas.json")
    await anyio.Path(file).write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    anyio.run(write)

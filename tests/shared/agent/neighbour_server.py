"""A neighbour as an MCP server of its own, over stdio: `python -m tests.shared.agent.neighbour_server FOLDER [--reply-in FOLDER]`.

What it is told is a line of `told.jsonl` once for each key, and of `calls.jsonl` each time. While there is a file `down` it is
down: a start ends at once, a call with an error. What it has for us are the lines of `have.jsonl`, two a page. With `--reply-in`
it is an orchestrator: a regression that it is told is answered with a message to have the failures looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

Json = dict[str, Any]
PAGE = 2


class Neighbour:
    """Its files."""

    def __init__(self, folder: Path, replies: Path | None) -> None:
        self.folder = folder
        self.replies = replies
        told = folder / "told.jsonl"
        self.keys = {json.loads(line)["key"] for line in told.read_text().splitlines()} if told.exists() else set[str]()

    @property
    def is_down(self) -> bool:
        """Whether it is out of order."""
        return (self.folder / "down").exists()

    def append(self, name: str, line: Json) -> None:
        """Adds the line to the file."""
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(line) + "\n")

    def take(self, key: str, addressee: str, record: Json) -> None:
        """Keeps the record, once."""
        self.append("calls.jsonl", {"key": key})
        if key not in self.keys:
            self.keys.add(key)
            self.append("told.jsonl", {"key": key, "addressee": addressee, "record": record})
            if self.replies is not None and record["fields"].get("type") == "benchmark-regression":
                self.reply(self.replies, key, record["fields"]["payload"])

    def reply(self, folder: Path, key: str, payload: Json) -> None:
        """Asks for the run's failures to be looked at, by a file that is there at once."""
        run_id = payload["benchmarkRunId"]
        message: Json = {"id": f"look-{run_id}", "type": "classify-failure", "payload": {"runId": run_id}}
        written = folder / f"{key.replace(':', '-').replace('/', '-')}.tmp"
        written.write_text(json.dumps(message))
        written.rename(written.with_suffix(".json"))


def served(neighbour: Neighbour) -> MCPServer[None]:
    """Its tools."""
    server = MCPServer[None]("neighbour")

    @server.tool()
    async def tell(idempotencyKey: str, addressee: str, record: Json) -> str:  # noqa: N803  its name on the wire
        """Takes a record over."""
        if neighbour.is_down:
            raise ToolError("out of order")
        if record["fields"].get("type") == "unbearable":
            raise ToolError("never")
        neighbour.take(idempotencyKey, addressee, record)
        return "taken"

    @server.tool()
    async def have_text(cursor: str | None = None) -> str:
        """The same as the text of its JSON."""
        return json.dumps(page_from(cursor))

    @server.tool()
    async def have(cursor: str | None = None) -> Json:
        """A page of what there is."""
        return page_from(cursor)

    def page_from(cursor: str | None) -> Json:
        file = neighbour.folder / "have.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        begin = int(cursor or 0)
        end = begin + PAGE
        page = [json.loads(line) for line in lines[begin:end]]
        return {"records": page, "nextCursor": str(end) if end < len(lines) else None}

    @server.tool()
    async def create_task(title: str, reference: str) -> str:
        """A tool with words of its own."""
        neighbour.append("told.jsonl", {"key": reference, "title": title})
        return reference

    @server.tool()
    async def die() -> str:
        """Ends the process."""
        os._exit(1)

    return server


def main() -> None:
    """Serves until its standard input ends, or with `--port` until it is killed."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("folder", type=Path)
    wanted.add_argument("--reply-in", type=Path)
    wanted.add_argument("--port", type=int)
    options = wanted.parse_args()
    neighbour = Neighbour(options.folder, options.reply_in)
    if neighbour.is_down:
        sys.exit(1)
    if options.port is None:
        served(neighbour).run("stdio")
    else:
        served(neighbour).run("streamable-http", host="127.0.0.1", port=options.port)


if __name__ == "__main__":
    main()

"""An agent behind an address: it acts on the world that a request names, as its script says, and answers with its last words."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import anyio
from mcp import Client

Json = dict[str, Any]


@dataclass(slots=True)
class HttpAgent:
    """Where it listens, the bodies and headers that it was sent, and the addresses of the servers that it used."""

    url: str
    asked: list[tuple[Json, Json]] = field(default_factory=list[tuple[Json, Json]])
    used: list[str] = field(default_factory=list[str])


async def acted(url: str, calls: list[tuple[str, Json]]) -> list[str]:
    """The texts of the results; without calls it connects to nothing."""
    if not calls:
        return []
    async with Client(url) as client:
        results = [await client.call_tool(tool, arguments) for tool, arguments in calls]
    return ["\n".join(block.text for block in result.content if block.type == "text") for result in results]


@contextmanager
def http_agent(calls: list[tuple[str, Json]], find: Callable[[Json, Json], str]) -> Generator[HttpAgent]:
    """The agent, until this ends; `find` gives the address of the tool server from headers and body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body: Json = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers: Json = {name.lower(): value for name, value in self.headers.items()}
            agent.asked.append((headers, body))
            agent.used.append(url := find(headers, body))
            content = json.dumps({"output": " / ".join(anyio.run(acted, url, calls))}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the library has it
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    agent = HttpAgent(f"http://127.0.0.1:{server.server_address[1]}/ask")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

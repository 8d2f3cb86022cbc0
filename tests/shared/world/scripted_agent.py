"""An agent without a model: reads {"q": …} on stdin, makes the calls of its script over MCP, and answers with its last words.

`scripted_agent.py SCRIPT.json [--config PATH]`. The script is {"calls": [[server, tool, {arguments}], …], "says": text,
"claims": [calls that it reports], "python": what serves the world in place of a new interpreter}; in arguments and words,
`{0.key}` stands for a key of the result of the first call.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters


def config() -> dict[str, Any]:
    """The servers that it may use: named by an argument, else by the variable."""
    named = sys.argv[3] if len(sys.argv) > 3 else os.environ["MINIONS_EVALS_WORLD_MCP_CONFIG"]  # noqa: TID251  as agents do
    return json.loads(Path(named).read_text("utf-8"))["mcpServers"]


def filled(value: Any, results: list[Any]) -> Any:
    """The value with what earlier calls gave."""
    if isinstance(value, dict):
        return {key: filled(inner, results) for key, inner in cast("dict[str, Any]", value).items()}
    if not isinstance(value, str):
        return value
    for number, result in enumerate(results):
        if isinstance(result, dict):
            for key, inner in cast("dict[str, Any]", result).items():
                if value == f"{{{number}.{key}}}":
                    return inner
                value = value.replace(f"{{{number}.{key}}}", str(inner))
        value = value.replace(f"{{{number}}}", str(cast("object", result)))
    return value


async def main(script: dict[str, Any]) -> None:
    """Makes the calls in their order, to servers that are started when they are first needed."""
    results: list[Any] = []
    servers, clients = config(), dict[str, Client]()
    async with AsyncExitStack() as opened:
        for server, tool, arguments in script.get("calls", []):
            if server not in clients:
                row = servers[server]
                forked = script.get("python")  # it takes no -P
                args = row["args"][1:] if forked else row["args"]
                program = StdioServerParameters(command=forked or row["command"], args=args)
                clients[server] = await opened.enter_async_context(Client(program))
            result = await clients[server].call_tool(tool, filled(arguments, results))
            text = "\n".join(block.text for block in result.content if block.type == "text")
            results.append(result.structured_content if isinstance(result.structured_content, dict) else text)
    claims = script.get("claims")
    answer = {"output": filled(script.get("says", "done"), results)}
    print(json.dumps(answer if claims is None else {**answer, "log": claims}))  # noqa: T201  its answer


if __name__ == "__main__":
    sys.stdin.read()
    anyio.run(main, json.loads(Path(sys.argv[1]).read_text("utf-8")))

"""Agents without a model. Each follows its script in agents.yaml, as a program over MCP or as a Python function."""

import json
import os
import re
import sys
from pathlib import Path

import anyio
import yaml
from mcp import Client
from mcp.client.stdio import StdioServerParameters

SCRIPTS = yaml.safe_load(Path(__file__).with_name("agents.yaml").read_text("utf-8"))


def filled(value, results):
    """The value with what earlier calls gave."""
    if isinstance(value, dict):
        return {key: filled(inner, results) for key, inner in value.items()}
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\{(\d)\.(\w+)\}", value)
    if whole:
        return results[int(whole[1])][whole[2]]
    return re.sub(r"\{(\d)\.(\w+)\}", lambda place: str(results[int(place[1])][place[2]]), value)


def agent(name):
    """A Python function that is given the world: its calls need no MCP."""

    def answer(inputs: dict, world):
        script, results = SCRIPTS[inputs["world"]][name], []
        for tool, arguments in script["calls"]:
            results.append(world.call(tool, **filled(arguments, results)))
        return filled(script["says"], results)

    return answer


for _name in SCRIPTS["shop"]:
    globals()[_name.replace("-", "_")] = agent(_name)


async def over_mcp(name, inputs, server):
    """The same over MCP."""
    script, results = SCRIPTS[inputs["world"]][name], []
    async with Client(StdioServerParameters(command=server["command"], args=server["args"])) as client:
        for tool, arguments in script["calls"]:
            result = await client.call_tool(tool, filled(arguments, results))
            results.append(result.structured_content or {})
    print(filled(script["says"], results))


if __name__ == "__main__":
    # The file that the variable names says how the tool servers of this unit are started.
    config = json.loads(Path(os.environ["MINIONS_EVALS_WORLD_MCP_CONFIG"]).read_text("utf-8"))  # noqa: TID251
    (server,) = config["mcpServers"].values()
    anyio.run(over_mcp, sys.argv[1], json.load(sys.stdin), server)

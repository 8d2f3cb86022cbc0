"""An agent that never connected to the servers of its world: each failed check says so, at the terminal, on the page and over MCP."""

from __future__ import annotations

import json
import sys
from typing import cast

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.worlds import UNREACHED
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.world.http_agent import http_agent
from tests.world.test_runs_in_worlds import LOOK, REFUND, suite, target, unit

CHECKS: list[JsonValue] = [
    {"type": "state", "value": {"query": "orders.A1.status", "equals": "refunded"}},
    {"type": "state", "value": {"query": "refunds"}},
    {"type": "effect", "value": {"tool": "refund"}},
    {"type": "trajectory:tool-used", "value": "refund"},
    {"type": "trajectory:match", "value": ["refund"], "threshold": 1},
]
LISTS = """import json, os, sys
import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

async def main():
    row = json.load(open(os.environ["MINIONS_EVALS_WORLD_MCP_CONFIG"]))["mcpServers"]["shop"]
    async with Client(StdioServerParameters(command=row["command"], args=row["args"])) as client:
        await client.list_tools()

anyio.run(main)
print("done")
"""
PYTHON = """from minions_evals_mcp import tool

@tool
def refund(id, amount):
    raise SystemExit("the real tool was called")

def marked(q):
    return "done" if q else refund("A1", 40)

def told(q, world):
    return "done"
"""


def said(at: Terminal, *target_option: str) -> tuple[int, bool]:
    """In how many failed checks of the run it is said, and whether `world show` says it."""
    ended = at.run("run-benchmark", "b", *target_option)
    assert ended.code == 0, ended
    case = at.run("run-test-case", "c0", *target_option, "--json")
    shown = at.run("world", "show", "b")
    assert shown.code == 0, shown
    return json.dumps(case.one()).count(UNREACHED), UNREACHED in shown.out


def test_a_program_that_ignores_the_configuration(at: Terminal) -> None:
    suite(at, checks=CHECKS)
    target(at)
    hints, shown = said(at, "--target-config", "t.yaml")
    assert shown
    assert hints >= len(CHECKS)
    assert cast("Json", unit(at)["world"])["unreached"] is True


@pytest.mark.parametrize("makes", [[LOOK], [LOOK, REFUND]])
def test_nothing_is_said_where_it_made_a_call(at: Terminal, makes: list[JsonValue]) -> None:
    suite(at, checks=CHECKS)
    target(at, *makes)
    assert said(at, "--target-config", "t.yaml") == (0, False)


def test_nothing_is_said_where_it_only_listed_the_tools(at: Terminal) -> None:
    suite(at, checks=CHECKS)
    at.file("agent.py", LISTS)
    assert said(at, "--target", f"command:{sys.executable} agent.py") == (0, False)


def test_a_python_function_that_ignores_its_world_and_one_whose_tools_the_world_answers(at: Terminal) -> None:
    suite(at, checks=CHECKS)
    at.file("app.py", PYTHON)
    assert said(at, "--target", "python:app:told")[1]
    assert said(at, "--target", "python:app:marked") == (0, False)


def test_an_application_that_ignores_the_header(at: Terminal) -> None:
    suite(at, checks=CHECKS)
    with http_agent([], lambda _headers, _body: "") as agent:
        assert said(at, "--target", agent.url)[1]

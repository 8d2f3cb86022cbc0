"""Applications behind an address and chat models act on worlds, too: their calls are the trajectory, and the state is judged."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import anyio.to_thread
import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.estimate import estimate
from minions_evals_mcp.targets.tool_loop import MAX_REPLIES
from tests.shared.cli.terminal import Ended, Json, Terminal
from tests.shared.fakes.llm_server import Server
from tests.shared.world.agents import real, starts
from tests.shared.world.http_agent import http_agent
from tests.workshop import benchmark, case, config_in, minion, opened, save
from tests.world.test_runs_in_worlds import kept, passed, suite, unit

ACTS: list[tuple[str, dict[str, Any]]] = [("get_order", {"id": "A1"}), ("refund", {"id": "A1", "amount": 40})]
DESK: Json = {
    "name": "Desk",
    "state": {"asked": []},
    "servers": {
        "desk": {
            "tools": [
                {
                    "name": "faq.search",
                    "description": "Searches the questions.",
                    "rules": [
                        {
                            "result": "answer {{call}}",
                            "changes": [{"op": "add", "path": "/asked/-", "value": "{{arguments.query}}"}],
                        }
                    ],
                }
            ]
        }
    },
}
ASKED: list[JsonValue] = [{"type": "state", "value": {"query": "length(asked)", "equals": 1}}]


def ran(at: Terminal, *more: str) -> Ended:
    return at.run("run-benchmark", "b", "--json", *more)


def is_gone(url: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(url).port or 0)) != 0


def test_an_application_finds_the_servers_of_each_unit_in_a_header_and_they_end_with_it(at: Terminal) -> None:
    suite(at, cases=2)

    def find(headers: dict[str, Any], _body: dict[str, Any]) -> str:
        config = json.loads(str(headers["minions-evals-world-mcp-config"]))
        assert config["mcpServers"]["shop"]["type"] == "http"
        return config["mcpServers"]["shop"]["url"]

    with http_agent(ACTS, find) as agent:
        ended = ran(at, "--target", agent.url)
    assert passed(ended) == 2, ended
    assert len({*agent.used}) == 2
    assert all(map(is_gone, agent.used))
    assert [body for _, body in agent.asked] == [{"q": "1"}] * 2
    for seen in kept(at):
        assert [call["tool"] for call in cast("list[Json]", seen["toolCalls"])] == ["get_order", "refund"]
        assert cast("Json", seen["output"])["output"] == '{"status":"paid","total":40} / refunded'


def test_an_application_may_be_told_by_its_body_or_by_a_header_of_its_own(at: Terminal) -> None:
    suite(at)

    def find(headers: dict[str, Any], body: dict[str, Any]) -> str:
        assert headers["x-tools"] == f"at {body['tools']}"
        assert body["all"]["mcpServers"]["shop"]["url"] == body["tools"]
        return body["tools"]

    with http_agent(ACTS, find) as agent:
        at.file("t.yaml", json.dumps({"http": {
            "url": agent.url, "output": "output", "headers": {"X-Tools": "at {{world.url}}"},
            "input": {"q": "{{q}}", "tools": "{{world.url}}", "all": "{{ world.mcpConfig }}"},
        }}))  # fmt: skip
        assert passed(ran(at, "--target-config", "t.yaml")) == 1


def test_an_application_elsewhere_cannot_reach_a_world_and_is_not_asked(at: Terminal) -> None:
    suite(at)
    ended = ran(at, "--target", "http://192.0.2.1/x")
    assert (
        "the servers of the world shop are reachable on this machine only, and 192.0.2.1 is another machine"
        in json.dumps(ended.one())
    )


@pytest.mark.parametrize("model", ["openai:gpt-fake", "anthropic:claude-fake"])
async def test_the_calls_of_a_model_are_carried_out_and_their_results_sent_back(
    at: Terminal, server: Server, model: str
) -> None:
    here = at.with_env(
        OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url
    )
    suite(here, DESK, checks=ASKED)
    requests: list[Json] = []
    server.says = lambda request: requests.append(request) or "It is open until five."
    ended = await anyio.to_thread.run_sync(ran, here, "--target", model)
    assert passed(ended) == 1, ended
    seen = unit(here)
    assert cast("Json", seen["output"])["output"] == "It is open until five."
    [call] = cast("list[Json]", seen["toolCalls"])
    assert (call["tool"], call["result"]) == ("faq.search", "answer 1")
    assert cast("Json", call["extra"]) == {"server": "desk", "answeredBy": "mock"}
    assert "differences" not in cast("Json", seen["world"])
    first, second = requests
    offered = json.dumps(first["tools"])
    assert '"desk__faq_search"' in offered
    assert "Searches the questions." in offered
    assert "answer 1" in json.dumps(cast("list[JsonValue]", second["messages"])[-1])
    assert [seen[key] for key in ("inputTokens", "outputTokens")] != [None, None]


async def test_a_model_that_never_stops_calling_is_broken_off_and_fails(at: Terminal, server: Server) -> None:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    suite(
        here, DESK, checks=[{"type": "effect", "value": {"tool": "faq.search", "min": 1}}], inputs={"q": "always tools"}
    )
    ended = await anyio.to_thread.run_sync(ran, here, "--target", "openai:gpt-fake")
    assert passed(ended) == 0, ended
    assert server.requests == MAX_REPLIES
    seen = unit(here)
    assert seen["agentError"] == f"it still called tools after {MAX_REPLIES} replies"
    assert len(cast("list[Json]", seen["toolCalls"])) == MAX_REPLIES - 1


async def test_the_real_server_behind_a_world_of_a_model_is_started_once_and_ends(at: Terminal, server: Server) -> None:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    checks: list[JsonValue] = [{"type": "effect", "value": {"tool": "add_note", "times": 1}}]
    suite(here, {"name": "Notes", "servers": real(here, "live")}, checks=checks)
    ended = await anyio.to_thread.run_sync(ran, here, "--target", "openai:gpt-fake", "--yes")
    assert passed(ended) == 1, ended
    assert len(starts(here)) == 1


def test_a_model_that_takes_no_results_is_refused_by_name(at: Terminal) -> None:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    suite(here)
    ended = ran(here, "--target", "openai:responses:gpt-5")
    assert "openai:responses:gpt-5 cannot use a world: its API accepts no tool results" in json.dumps(ended.one())


async def test_in_a_conversation_a_model_remembers_what_its_tools_answered_earlier(
    at: Terminal, server: Server
) -> None:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    talk: Json = {"opening": "When do you open?", "turns": ["And on Sunday?"], "maxTurns": 2}
    checks: list[JsonValue] = [{"type": "effect", "value": {"tool": "faq.search", "times": 2}}]
    suite(here, DESK, checks=checks, conversation=talk)
    requests: list[Json] = []
    server.says = lambda request: requests.append(request) or "At nine."
    ended = await anyio.to_thread.run_sync(ran, here, "--target", "openai:gpt-fake")
    assert passed(ended) == 1, ended
    roles = [str(cast("Json", message)["role"]) for message in cast("list[JsonValue]", requests[-1]["messages"])]
    assert roles[-7:] == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    assert [call["result"] for call in cast("list[Json]", unit(here)["toolCalls"])] == ["answer 1", "answer 2"]


async def test_an_estimate_counts_as_many_calls_as_a_model_may_make_in_a_world(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        one = case("c", inputs={"q": "1"}, world="desk", assertions=ASKED)
        await save(engine, minion("desk", "world", **DESK), one, benchmark("b", "c"))
        told = await estimate(engine, RunRequest(subject_id="b", target="anthropic:fake"), kind="benchmark")
    assert told.target_calls == MAX_REPLIES

"""A real server behind a world that does not start or ends is no failure of the agent: nothing is judged, and the server is named."""

from __future__ import annotations

import json
import sys
from typing import Any, cast

import anyio.to_thread
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.sandbox.keeper import parents
from minions_evals_mcp.world.calling import CalledServers
from minions_evals_mcp.world.calls import ToolError
from minions_evals_mcp.world.reaching import tools_for_model
from minions_evals_mcp.world.sessions import new_session
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.fakes.llm_server import Server
from tests.shared.world.agents import real
from tests.shared.world.agents import starts as started
from tests.shared.world.http_agent import http_agent
from tests.workshop import SteppingClock
from tests.world.test_runs_in_worlds import passed, suite, target, unit

BROKEN: list[JsonValue] = [sys.executable, "-c", "import sys; sys.exit('no token set')"]
UNSTARTED = "the real server notes of its world did not start: no token set"
ENDED = "the real server notes of its world ended during the call die: out of memory"
SWALLOWS = """
def agent(q, world):
    try:
        return str(world.call("{tool}"))
    except Exception as error:
        return f"Sorry, {{error}}"
"""


def told(at: Terminal, *target_options: str) -> str:
    """What the run says of its one case, of which nothing was judged."""
    ended = at.run("run-benchmark", "b", *target_options, "--yes", "--json")
    assert ended.code == 3, ended
    return json.dumps(ended.one()) + ended.err


def notes(at: Terminal, *, starts: bool, mode: str = "record") -> Json:
    servers = real(at, mode)
    if not starts:
        cast("Json", servers["notes"])["run"] = BROKEN
    return {"name": "Notes", "servers": servers}


@pytest.mark.parametrize(("starts", "reason"), [(False, UNSTARTED), (True, ENDED)])
@pytest.mark.parametrize("kind", ["program", "function", "application"])
def test_an_agent_is_not_judged_by_what_it_did_without_the_server(
    at: Terminal, kind: str, starts: bool, reason: str
) -> None:
    suite(at, notes(at, starts=starts), checks=[{"type": "contains", "value": "notes"}])
    match kind:
        case "program":
            target(at, ["notes", "die", {}], says="I did without.")
            found = told(at, "--target-config", "t.yaml")
        case "function":
            at.file("app.py", SWALLOWS.format(tool="die"))
            found = told(at, "--target", "python:app:agent")
        case _:

            def find(headers: dict[str, Any], _body: dict[str, Any]) -> str:
                servers = json.loads(str(headers["minions-evals-world-mcp-config"]))["mcpServers"]
                return servers["notes"]["url"]

            with http_agent([("die", {})], find) as agent:
                found = told(at, "--target", agent.url)
    assert reason in found
    tape = at.folder / "notes.jsonl"
    assert not tape.exists() or "Connection closed" not in tape.read_text("utf-8")


async def test_a_model_is_not_asked_where_the_server_does_not_start(at: Terminal, server: Server) -> None:
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    suite(here, notes(here, starts=False), checks=[{"type": "contains", "value": "notes"}])
    found = await anyio.to_thread.run_sync(told, here, "--target", "openai:gpt-fake")
    assert UNSTARTED in found
    assert server.requests == 0


async def test_a_server_that_takes_too_long_to_start_is_ended_and_named(at: Terminal) -> None:
    silent: list[JsonValue] = ["sh", "-c", "echo $$ >> starts; exec cat 3>&1 > read"]
    servers: Json = {"notes": {"mode": "live", "run": silent, "startSeconds": 0.5}}
    session = new_session(World.model_validate({"name": "w", "servers": servers}), at.folder, clock=SteppingClock())
    try:
        with pytest.raises(BadInputError, match=r"notes did not start within 0\.5 s.*startSeconds"):
            async with tools_for_model(session):
                pass
        assert session.lost() == "the real server notes of its world did not start within 0.5 s"
    finally:
        session.remove()
    assert not parents().keys() & {*started(at)}


def test_an_error_that_the_server_itself_tells_is_an_answer_and_is_on_the_tape(at: Terminal) -> None:
    suite(at, notes(at, starts=True), checks=[{"type": "contains", "value": "Sorry, refused"}])
    at.file("app.py", SWALLOWS.format(tool="refuse"))
    ended = at.run("run-benchmark", "b", "--target", "python:app:agent", "--yes", "--json")
    assert passed(ended) == 1, ended
    assert '"protocolError":"refused"' in (at.folder / "notes.jsonl").read_text("utf-8")


@pytest.mark.parametrize("mode", ["record", "live"])
def test_a_function_calls_the_tools_of_a_real_server_without_mcp(at: Terminal, mode: str) -> None:
    suite(at, notes(at, starts=True, mode=mode), checks=[{"type": "contains", "value": "1 notes"}])
    at.file("app.py", "def agent(q, world):\n    return world.call('add_note', text='a') + world.call('count')\n")
    ended = at.run("run-benchmark", "b", "--target", "python:app:agent", "--yes", "--json")
    assert passed(ended) == 1, ended
    calls = cast("list[Json]", unit(at)["toolCalls"])
    assert [(call["tool"], cast("Json", call["extra"])["answeredBy"]) for call in calls] == [
        ("add_note", "real"), ("count", "real"),
    ]  # fmt: skip


def test_a_tool_that_no_real_server_has_is_named_with_those_there_are(at: Terminal) -> None:
    suite(
        at,
        notes(at, starts=True),
        checks=[{"type": "contains", "value": "no server has a tool add. The tools are add_note"}],
    )
    at.file("app.py", SWALLOWS.format(tool="add"))
    ended = at.run("run-benchmark", "b", "--target", "python:app:agent", "--yes", "--json")
    assert passed(ended) == 1, ended


def test_a_function_that_waits_too_long_for_a_tool_is_late_and_the_server_is_not_blamed(at: Terminal) -> None:
    suite(at, notes(at, starts=True, mode="live"), checks=[{"type": "contains", "value": "notes"}])
    at.file("app.py", SWALLOWS.format(tool="slow"))
    here = at.with_env(MINIONS_EVALS_CALL_TIMEOUT="2")
    found = told(here, "--target", "python:app:agent")
    assert "did not answer within 2 s" in found
    assert "ended during the call" not in found


def test_a_thread_that_outlives_its_unit_starts_no_server_again(at: Terminal) -> None:
    session = new_session(World.model_validate(notes(at, starts=True, mode="live")), at.folder, clock=SteppingClock())
    try:
        servers = CalledServers()
        assert servers.call(session, "count", {}).value == "0"
        servers.close()
        with pytest.raises(ToolError, match="is over"):
            servers.call(session, "count", {})
    finally:
        session.remove()
    assert len(started(at)) == 1

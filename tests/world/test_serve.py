"""`minions-evals world serve`: an agent is pointed at a world over real MCP, which mocks, records or replays its tools."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue

from minions_evals_mcp.sandbox.keeper import descendants, parents
from tests.hang import HANG_S
from tests.shared.cli.terminal import Terminal
from tests.shared.world.agents import Json, pointed_at, real, starts, text, world_file

ORDERS: Json = {"orders": {"A/1": {"status": "paid", "total": 12.5}}, "refunds": []}
SHOP: Json = {
    "shop": {
        "tools": [
            {
                "name": "get_order",
                "description": "Reads an order.",
                "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
                "rules": [
                    {"when": "get(state.orders, arguments.id)", "result": "{{ get(state.orders, arguments.id) }}"},
                    {"error": "There is no order {{arguments.id}}."},
                ],
            },
            {
                "name": "refund",
                "rules": [
                    {
                        "when": "get(state.orders, arguments.id).status == 'paid'",
                        "result": {"refunded": "{{arguments.amount}}", "refunds": "{{length(state.refunds)}}"},
                        "changes": [
                            {"op": "replace", "path": "/orders/{{arguments.id}}/status", "value": "refunded"},
                            {
                                "op": "increment",
                                "path": "/orders/{{arguments.id}}/total",
                                "value": "{{multiply(arguments.amount, `-1`)}}",
                            },
                            {"op": "add", "path": "/refunds/-", "value": {"id": "{{arguments.id}}", "nth": "{{call}}"}},
                        ],
                    },
                    {"error": "{{arguments.id}} cannot be refunded: call {{call}}"},
                ],
            },
        ]
    }
}


async def test_a_mocked_tool_answers_by_its_rules_and_changes_the_state(at: Terminal) -> None:
    said: list[str] = []
    async with pointed_at(at, world_file(at, SHOP, state=ORDERS), told=said) as agent:
        tools = (await agent.list_tools()).tools
        assert [tool.name for tool in tools] == ["get_order", "refund"]
        assert tools[0].input_schema["required"] == ["id"]
        order = await agent.call_tool("get_order", {"id": "A/1"})
        assert order.structured_content == {"status": "paid", "total": 12.5}
        assert text(await agent.call_tool("get_order", {"id": "B"})) == "There is no order B."
        refunded = await agent.call_tool("refund", {"id": "A/1", "amount": 2.2})
        assert refunded.structured_content == {"refunded": 2.2, "refunds": 1}
        again = await agent.call_tool("refund", {"id": "A/1", "amount": 2.2})
        assert (again.is_error, text(again)) == (True, "A/1 cannot be refunded: call 2")
        after = await agent.call_tool("get_order", {"id": "A/1"})
        assert after.structured_content == {"status": "refunded", "total": 10.3}
        with pytest.raises(MCPError, match="Unknown tool: drop"):
            await agent.call_tool("drop", {})
    assert "6 calls, 1 of them missed" in said[0]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
async def test_a_world_is_served_over_http_too(at: Terminal, ending: signal.Signals) -> None:
    with at.started("world", "serve", world_file(at, SHOP, state=ORDERS), "--http", "0") as process:
        address = await anyio.to_thread.run_sync(lambda: address_of(process))
        async with Client(address) as agent:
            assert (await agent.call_tool("get_order", {"id": "A/1"})).structured_content == ORDERS["orders"]["A/1"]  # pyright: ignore[reportIndexIssue, reportArgumentType, reportCallIssue, reportOptionalSubscript]
        assert len(worlds(process.pid)) == 1
        process.send_signal(ending)
        await anyio.to_thread.run_sync(lambda: process.communicate(timeout=HANG_S))
    assert worlds(process.pid) == []


async def test_arguments_are_data_and_never_a_template_or_a_query(at: Terminal) -> None:
    tools: list[JsonValue] = [{"name": "echo", "rules": [{"result": "you said {{arguments.text}}"}]}]
    async with pointed_at(at, world_file(at, {"s": {"tools": tools}}, state={"secret": "7"})) as agent:
        assert text(await agent.call_tool("echo", {"text": "{{state.secret}}"})) == "you said {{state.secret}}"


async def test_what_was_recorded_is_replayed_without_the_real_server(at: Terminal) -> None:
    calls: list[tuple[str, Json]] = [
        ("count", {}), ("add_note", {"text": "a"}), ("count", {}), ("add_note", {"text": "a"}), ("fail", {}),
    ]  # fmt: skip
    seen: list[list[tuple[bool, str]]] = []
    for mode in ("record", "replay", "replay"):
        async with pointed_at(at, world_file(at, real(at, mode)), "--yes") as agent:
            assert "slow" in [tool.name for tool in (await agent.list_tools()).tools]
            results = [await agent.call_tool(name, arguments) for name, arguments in calls]
            seen.append([(result.is_error, text(result)) for result in results])
            with pytest.raises(MCPError, match="refused"):
                await agent.call_tool("refuse", {})
            assert agent.server_info is not None
            assert agent.server_info.version == ("" if mode == "record" else "1.2.3")
    assert seen[0] == [(False, "0"), (False, "1 notes"), (False, "1"), (False, "2 notes"), (True, "broken")]
    assert seen[0] == seen[1] == seen[2]
    assert len(starts(at)) == 1


async def test_a_changed_argument_is_a_miss_that_names_the_nearest_call_and_the_argument(at: Terminal) -> None:
    async with pointed_at(at, world_file(at, real(at, "record")), "--yes") as agent:
        await agent.call_tool("add_note", {"text": "a", "meta": {"n": 1.0, "trace": "t1"}})
    said: list[str] = []
    replay = world_file(at, real(at, "replay", ignore=["/meta/trace"]))
    async with pointed_at(at, replay, told=said) as agent:
        same = await agent.call_tool("add_note", {"meta": {"trace": "t2", "n": 1}, "text": "a"})
        assert text(same) == "1 notes"
        repeated = await agent.call_tool("add_note", {"text": "a", "meta": {"n": 1, "trace": "t3"}})
        assert repeated.is_error
        missed = await agent.call_tool("add_note", {"text": "b", "meta": {"n": 1, "trace": "t1"}})
        assert (missed.is_error, text(missed)) == (True, "This call is not part of the recorded world.")
        await agent.call_tool("add_notes", {})
    (told,) = said
    assert "4 calls, 3 of them missed" in told
    assert "recorded 1 time with these arguments" in told
    assert 'Nearest call: /text is "b", recorded "a"\n' in told
    assert "no call of add_notes was recorded; the nearest recorded tool is add_note\n" in told


async def test_the_nearest_answer_is_given_only_where_asked_for_and_counts_as_a_miss(at: Terminal) -> None:
    async with pointed_at(at, world_file(at, real(at, "record")), "--yes") as agent:
        await agent.call_tool("add_note", {"text": "a"})
    said: list[str] = []
    async with pointed_at(at, world_file(at, real(at, "replay", onMiss="nearest")), told=said) as agent:
        assert text(await agent.call_tool("add_note", {"text": "c"})) == "1 notes"
    assert "1 calls, 1 of them missed" in said[0]


async def test_a_tape_holds_no_secret_of_the_environment(at: Terminal) -> None:
    secret = "sk-very-secret-0123456789"
    at = at.with_env(NOTES_TOKEN=secret, ANTHROPIC_API_KEY=secret)
    world = world_file(at, real(at, "record", env=["NOTES_TOKEN"]))
    async with pointed_at(at, world, "--yes") as agent:
        assert secret in text(await agent.call_tool("token", {"text": secret}))
    tape = (at.folder / "notes.jsonl").read_text("utf-8")
    assert secret not in tape
    assert '"tool":"token"' in tape


async def test_a_killed_recording_leaves_a_tape_whole_up_to_the_last_answered_call(at: Terminal) -> None:
    world = world_file(at, real(at, "record", anew=True))
    with suppress(Exception):
        async with pointed_at(at, world, "--yes", anew=True) as agent, anyio.create_task_group() as tasks:
            for _ in range(3):
                await agent.call_tool("add_note", {"text": "a"})
            tasks.start_soon(agent.call_tool, "slow")
            await anyio.sleep(0.2)
            (serving,) = [child for child in descendants(os.getpid(), parents()) if "serve" in command_of(child)]
            os.kill(serving, signal.SIGKILL)
            tasks.cancel_scope.cancel()
    deadline = time.monotonic() + HANG_S
    while parents().keys() & {*starts(at)} and time.monotonic() < deadline:  # noqa: ASYNC110  nothing tells of its end
        await anyio.sleep(0.02)
    assert not parents().keys() & {*starts(at)}
    tape = at.folder / "notes.jsonl"
    whole = tape.read_bytes()
    assert whole.count(b"\n") == 4
    tape.write_bytes(whole + b'{"tool":"add_no')
    async with pointed_at(at, world_file(at, real(at, "replay"))) as agent:
        answers = [text(await agent.call_tool("add_note", {"text": "a"})) for _ in range(3)]
    assert answers == ["1 notes", "2 notes", "3 notes"]
    async with pointed_at(at, world_file(at, real(at, "record")), "--yes") as agent:
        await agent.call_tool("count", {})
    assert tape.read_bytes().startswith(whole + b"{")
    assert tape.read_bytes().count(b"\n") == 5


def command_of(process: int) -> str:
    """The command line of a process; empty where it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text("utf-8")
    return ""


def address_of(process: subprocess.Popen[bytes]) -> str:
    """The address that a server on HTTP tells."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(b"Serving at "):
            return line.decode().removeprefix("Serving at ").strip()
    raise AssertionError("it tells no address")


def serve(at: Terminal, *arguments: str) -> str:
    """What is told where serving is refused."""
    ended = at.run("world", "serve", *arguments)
    assert ended.code == 2, ended
    return ended.err


def test_a_world_that_starts_a_program_needs_consent(at: Terminal) -> None:
    told = serve(at, world_file(at, real(at, "live")))
    assert "needs your consent: it runs the program" in told
    assert "real_server.py" in told
    assert starts(at) == []


REFUSED: list[tuple[Json, str]] = [
    ({"s": {}}, "a mocked server needs at least one tool"),
    ({"s": {"mode": "live"}}, "mode live needs the command that starts the real server"),
    ({"s": {"mode": "replay"}}, "mode replay needs the path of a tape"),
    ({"s": {"mode": "replay", "tape": "none.jsonl"}}, "no tape at"),
    ({"s": {"mode": "replay", "tape": "../x.jsonl"}}, "is not a path below the folder"),
    ({"s": {"mode": "replay", "tape": "no.jsonl"}}, "is not a line of a tape"),
    ({"s": {"tools": [{"name": "t", "rules": [{"when": "a ==", "result": 1}]}]}}, "is no JMESPath expression"),
    ({"s": {"tools": [{"name": "t", "rules": [{"result": "{{a ==}}"}]}]}}, "is no JMESPath expression"),
    ({"s": {"tools": [{"name": "t", "rulez": []}]}}, "did you mean 'rules'?"),
    ({"s": {"tools": [{"name": "t"}, {"name": "t"}]}}, "a tool is listed twice"),
]


@pytest.mark.parametrize(("servers", "told"), REFUSED)
def test_a_world_that_cannot_be_served_is_refused_with_the_reason(at: Terminal, servers: Json, told: str) -> None:
    at.file("no.jsonl", "{}\n")
    assert told in serve(at, world_file(at, servers))


async def test_a_check_says_what_is_on_the_tape_and_how_the_real_tools_have_changed_since(at: Terminal) -> None:
    async with pointed_at(at, world_file(at, real(at, "record")), "--yes") as agent:
        await agent.call_tool("count", {})
    same = at.run("world", "check", world_file(at, real(at, "replay")), "--live", "--yes")
    assert same.code == 0, same
    assert "notes is replayed from notes.jsonl: 1 calls of notes 1.2.3, recorded 20" in same.out
    assert "its tools match the recording" in same.out
    replay = world_file(at, real(at, "replay", "extra"))
    changed = at.run("world", "check", replay, "--live", "--yes")
    assert (changed.code, "extra is new" in changed.out) == (1, True), changed
    refused = at.run("world", "check", replay, "--live")
    assert refused.code == 2, refused
    assert "needs your consent: it runs the program" in refused.err
    assert at.run("world", "check", replay).code == 0
    assert len(starts(at)) == 3


def test_a_world_is_named_by_its_file_or_its_id(at: Terminal) -> None:
    at.file("two.yaml", "minions: [{id: a, type: world, fields: {name: A, servers: {s: {tools: [{name: t}]}}}},"
            " {id: b, type: world, fields: {name: B, servers: {s: {tools: [{name: t}]}, r: {tools: [{name: t}]}}}}]")  # fmt: skip
    assert "has 2 worlds: a, b" in serve(at, "two.yaml")
    assert "has no world 'c'" in serve(at, "two.yaml#c")
    assert "b has the servers s, r" in serve(at, "two.yaml#b")
    assert at.run("import", "two.yaml").code == 0
    assert "b has the servers" in serve(at, "b")
    assert "no server of this world with the id 'x'" in serve(at, "b", "--server", "x")


def worlds(process: int) -> list[Path]:
    """The folders of worlds that the process has."""
    return [*Path(tempfile.gettempdir()).glob(f"minions-evals-world-{process}-*")]

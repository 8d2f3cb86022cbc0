"""A tape that was recorded once is replayed alike, however often, without the real server and without a connection."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.worlds import WorldServer
from minions_evals_mcp.sandbox.keeper import parents
from minions_evals_mcp.world.calls import tool_result
from minions_evals_mcp.world.reaching import tools_for_model
from minions_evals_mcp.world.serving import mcp_server, opened_server
from minions_evals_mcp.world.sessions import tape_of
from minions_evals_mcp.world.units import UnitInWorld
from tests.shared.cli.terminal import Terminal
from tests.shared.world.agents import Json, pointed_at, real, starts, text, world_file
from tests.shared.world.units import unit, world

REPLAYS = 200


async def notes_kept(agent: Client) -> str:
    """What a small agent does with the notes: it adds, counts and meets an error."""
    said: list[str] = []
    for tool, arguments in (
        ("count", {}),
        ("add_note", {"text": "a"}),
        ("add_note", {"text": "a"}),
        ("fail", {}),
        ("count", {}),
    ):
        said.append(text(await agent.call_tool(tool, arguments)))
    return ", ".join(said)


@pytest.fixture
def unconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket connects, listens or sends from here on."""

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    for name in ("connect", "connect_ex", "bind", "listen"):
        monkeypatch.setattr(socket.socket, name, refuse)


def plain(calls: tuple[ToolCall, ...]) -> Iterator[Json]:
    """The calls without their times."""
    for call in calls:
        yield call.model_dump(mode="json", exclude={"duration_ms", "started_at"})


async def test_200_replays_are_identical_and_start_no_server(at: Terminal, unconnected: None) -> None:
    async with pointed_at(at, world_file(at, real(at, "record", anew=True)), "--yes", anew=True) as agent:
        recorded = await notes_kept(agent)
    assert recorded == "0, 1 notes, 2 notes, broken, 2"
    record = world(real(at, "replay", anew=True))
    trajectories: list[list[Json]] = []
    for _ in range(REPLAYS):
        with unit(record, base=at.folder) as acted_on:
            async with Client(mcp_server(acted_on.session, "notes")) as agent:
                assert await notes_kept(agent) == recorded
            calls, evidence = acted_on.ended(None, said=recorded, given={})
            assert evidence.misses == ()
            trajectories.append([*plain(calls)])
    assert all(trajectory == trajectories[0] for trajectory in trajectories)
    assert len(trajectories[0]) == 5
    assert len(starts(at)) == 1


async def test_units_at_once_never_see_each_others_state() -> None:
    record = world()

    async def refunds(acted_on: UnitInWorld, amount: int) -> None:
        async with Client(mcp_server(acted_on.session, "shop")) as agent:
            for _ in range(3):
                await agent.call_tool("refund", {"id": "A1", "amount": amount})

    async def one(amount: int, seen: dict[int, object]) -> None:
        with unit(record) as acted_on:
            await refunds(acted_on, amount)
            seen[amount] = acted_on.ended(None, said="", given={})[1].state["refunds"]

    seen: dict[int, object] = {}
    async with anyio.create_task_group() as tasks:
        for amount in range(20):
            tasks.start_soon(one, amount, seen)
    assert seen == {amount: [{"id": "A1", "amount": amount}] * 3 for amount in range(20)}


async def test_two_servers_of_a_world_share_its_state() -> None:
    counting: Json = {"tools": [{"name": "count", "rules": [{"result": {"refunds": "{{length(state.refunds)}}"}}]}]}
    servers: Json = {**world().fields.model_dump(mode="json", by_alias=True)["servers"], "desk": counting}
    with unit(world(servers)) as acted_on:
        async with (
            Client(mcp_server(acted_on.session, "shop")) as shop,
            Client(mcp_server(acted_on.session, "desk")) as desk,
        ):
            await shop.call_tool("refund", {"id": "A1"})
            assert (await desk.call_tool("count", {})).structured_content == {"refunds": 1}


def test_a_unit_leaves_no_folder_behind() -> None:
    with unit(world()) as acted_on:
        folder = Path(acted_on.mcp_config).parent
        assert folder.is_dir()
    assert not folder.exists()


async def test_with_consent_the_real_server_answers_what_is_not_on_the_tape_and_it_counts_as_missed(
    at: Terminal,
) -> None:
    tape: list[JsonValue] = [
        {"tape": 1, "server": "notes"},
        {"tool": "add_note", "arguments": {"text": "a"}, "result": tool_result("1 notes")},
    ]
    at.file("notes.jsonl", "".join(f"{canonical(line)}\n" for line in tape))
    servers = real(at, "replay", anew=True, onMiss="live")
    refused = at.run("world", "serve", world_file(at, servers))
    assert refused.code == 2, refused
    assert "real_server.py" in refused.err
    with unit(world(servers), base=at.folder) as acted_on:
        async with opened_server(acted_on.session, "notes") as served, Client(served) as agent:
            assert text(await agent.call_tool("add_note", {"text": "a"})) == "1 notes"
            assert starts(at) == []
            assert text(await agent.call_tool("add_note", {"text": "b"})) == "1 notes"
            assert text(await agent.call_tool("count", {})) == "1"
            assert len(starts(at)) == 1
        calls, evidence = acted_on.ended(None, said="", given=None)
    assert [call.extra["answeredBy"] for call in calls] == ["tape", "real", "real"]
    assert evidence.misses == (
        'no call of add_note with these arguments was recorded. Nearest call: /text is "b", recorded "a";'
        " the real server answered",
        "no call of count was recorded; the real server answered",
    )
    assert len(tape_of(acted_on.session.world.servers["notes"], at.folder).calls) == 1
    assert not parents().keys() & {*starts(at)}


async def test_a_real_server_that_cannot_be_started_at_a_miss_is_an_error_to_the_agent(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"tape":1,"server":"notes"}\n', "utf-8")
    servers: Json = {"notes": {"mode": "replay", "tape": "t.jsonl", "onMiss": "live", "run": ["/nowhere/program"]}}
    with unit(world(servers), base=tmp_path) as acted_on:
        async with opened_server(acted_on.session, "notes") as served, Client(served) as agent:
            result = await agent.call_tool("count", {})
    assert result.is_error
    assert "The real server cannot be started" in text(result)


async def test_a_document_in_a_result_is_read_and_what_is_no_text_is_named(tmp_path: Path) -> None:
    content: list[JsonValue] = [
        {"type": "resource", "resource": {"uri": "demo://1", "mimeType": "text/plain", "text": "Paid on 3 May"}},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0="},
        {"type": "resource", "resource": {"uri": "demo://2", "blob": "AAAA"}},
        {"type": "resource_link", "name": "Invoice", "uri": "demo://3"},
    ]
    said = (
        "Paid on 3 May\n[image, image/png, 5 bytes]\n[resource, demo://2, 3 bytes]\n[resource_link, Invoice, demo://3]"
    )
    calls: list[Json] = [
        {"tool": tool, "result": {"content": part}} for tool, part in (("all", content), ("no", content[1:2]))
    ]
    head: Json = {"tape": 1, "server": "notes", "tools": [{"name": "all", "inputSchema": {"type": "object"}}]}
    (tmp_path / "t.jsonl").write_text("".join(f"{canonical(line)}\n" for line in (head, *calls)), "utf-8")
    servers: Json = {"notes": {"mode": "replay", "tape": "t.jsonl"}}
    faults: list[JsonValue] = [{"kind": "truncated", "tool": "no", "nth": 1}]
    with unit(world(servers, faults=faults), base=tmp_path) as acted_on:
        async with tools_for_model(acted_on.session) as tools:
            assert await tools.call("all", {}) == (said, False)
            assert await tools.call("no", {}) == ("[image, image/png, 5 bytes]", False)
        made, evidence = acted_on.ended(None, said="", given={})
    assert made[0].result == said
    assert not evidence.faults, "there was no text to truncate"


SCHEMA: Json = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("structured", "fault", "attack", "given"),
    [
        ({"n": 1}, None, None, '{"n":1}'),
        ({"n": 1}, "truncated", None, '{"n'),
        ({"n": 1}, "empty", None, ""),
        ({"n": 1}, None, "override-en-1", '{"n":1,"notes":'),
        ({"n": "one"}, None, None, "Invalid structured content returned by tool a"),
    ],
)
async def test_a_tool_with_an_output_schema_answers_under_faults_and_attacks_too(
    tmp_path: Path, structured: Json, fault: str | None, attack: str | None, given: str
) -> None:
    tool: Json = {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}
    content: list[JsonValue] = [{"type": "text", "text": canonical(structured)}]
    call: Json = {"tool": "a", "result": {"content": content, "structuredContent": structured}}
    lines: list[Json] = [{"tape": 1, "server": "notes", "tools": [tool]}, call]
    (tmp_path / "t.jsonl").write_text("".join(f"{canonical(line)}\n" for line in lines), "utf-8")
    faults: list[JsonValue] = [] if fault is None else [{"kind": fault, "nth": 1}]
    replayed = world({"notes": {"mode": "replay", "tape": "t.jsonl"}}, faults=faults)
    with unit(replayed, base=tmp_path, attack=attack) as acted_on:
        async with tools_for_model(acted_on.session) as tools:
            said, _ = await tools.call("a", {})
    assert said.startswith(given)
    assert bool(said) == bool(given)


@pytest.mark.parametrize("more", [{"mode": "mock", "tools": [{"name": "a"}]}, {"mode": "replay", "tape": "a"}])
def test_only_a_replayed_server_with_a_command_answers_live(more: Json) -> None:
    with pytest.raises(ValidationError, match="onMiss: live needs mode replay"):
        WorldServer.model_validate({**more, "onMiss": "live"}, strict=False)

"""Serving over HTTP: who is answered, who is not, and what keeps the server from starting."""

from __future__ import annotations

import signal
from pathlib import Path
from subprocess import PIPE

import anyio
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp.engine.people.persons import add_person
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.network_address import bound
from minions_evals_mcp.server.http import Door, read_door
from minions_evals_mcp.server.options import read_options
from tests.hang import HANG_S
from tests.shared.cli.installed import program
from tests.shared.server.hosts import ERAS, Host, suite
from tests.shared.server.web import TOKEN, served
from tests.shared.server.wire import COMMAND, environment
from tests.workshop import Json, config_in, opened

ASKED: Json = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


async def status(door: Door, **headers: str) -> int:
    """The status of a request with those headers."""
    given = {"accept": "application/json, text/event-stream", **headers}
    async with httpx2.AsyncClient() as client:
        return (await client.post(door.url, json=ASKED, headers=given)).status_code


@pytest.mark.parametrize("era", ERAS)
async def test_a_suite_is_run_over_http_in_either_era(tmp_path: Path, era: str) -> None:
    async with served(tmp_path) as door, Client(door.url, mode=era) as client:
        host = Host(client)
        await host.call("save_records", records=suite(3))
        answer = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        assert "2 of 3 passed" in str(answer["summary"])


async def test_another_host_name_is_421_and_another_origin_403(tmp_path: Path) -> None:
    async with served(tmp_path, names=("evals.example",)) as door:
        assert await status(door, host="evil.example") == 421
        assert await status(door, host=f"127.0.0.1.evil.example:{door.port}") == 421
        assert await status(door, host=f"localhost:{door.port + 1}") == 421
        assert await status(door, origin="https://evil.example") == 403
        assert await status(door, origin=f"http://localhost:{door.port}") not in {403, 421}
        assert await status(door, host="evals.example", origin="https://evals.example") not in {403, 421}


async def test_where_a_token_is_set_nobody_is_answered_without_it(tmp_path: Path) -> None:
    async with served(tmp_path, token=TOKEN) as door:
        assert await status(door) == 401
        assert await status(door, authorization=f"Bearer {TOKEN}x") == 401
        assert await status(door, authorization=TOKEN) == 401
        assert await status(door, authorization=f"Basic {TOKEN}") == 401
        assert await status(door, authorization=f"Bearer {TOKEN}") not in {401, 403, 421}
        assert await status(door, authorization=f"bearer {TOKEN}") not in {401, 403, 421}


@pytest.mark.parametrize("token", [None, TOKEN])
async def test_whoever_brings_a_persons_token_is_that_person_and_a_token_of_nobody_is_refused(
    tmp_path: Path, token: str | None
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        annas = await add_person(engine, "anna")
    async with served(tmp_path, token=token) as door:
        assert await status(door, authorization="Bearer person-of-nobody") == 401
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {annas}"}) as web,
            Client(streamable_http_client(door.url, http_client=web)) as client,  # pyright: ignore[reportArgumentType]  a transport
        ):
            host = Host(client)
            assert await refused_version(host) == ("anna", "human")
            named = await host.call("approve_prompt_version", promptVersionRef="p@1", decision="in-use")
            assert (named["promptVersionRef"], named["decidedBy"]) == ("v", "anna")


async def test_an_agent_decides_as_an_agent_under_its_clients_name_where_it_gives_none(tmp_path: Path) -> None:
    async with served(tmp_path) as door, Client(door.url) as client:
        assert await refused_version(Host(client)) == ("mcp", "agent")


async def refused_version(host: Host) -> tuple[JsonValue, JsonValue]:
    """Who is said to have refused a version, where the caller names nobody."""
    version: Json = {"content": "Hi", "versionNumber": 1, "promptId": "p"}
    await host.call("save_records", records=[{"id": "v", "type": "prompt-version", "fields": version}])
    decided = await host.call("approve_prompt_version", promptVersionRef="v", decision="refused")
    return decided["decidedBy"], decided["decidedByType"]


async def test_health_needs_no_token_and_says_whether_calls_can_be_answered(tmp_path: Path) -> None:
    async with served(tmp_path / "well", token=TOKEN) as door, httpx2.AsyncClient() as client:
        found = await client.get(door.url.replace("/mcp", "/health"))
        assert (found.status_code, found.json()) == (200, {"status": "ok"})
    (tmp_path / "ill").mkdir()
    config_in(tmp_path / "ill").db.write_text("no database at all")
    # What the log says of the store is slow to write where tests show every local.
    async with served(tmp_path / "ill") as door, httpx2.AsyncClient(timeout=HANG_S) as client:
        found = await client.get(door.url.replace("/mcp", "/health"))
        assert (found.status_code, found.json()) == (503, {"status": "unavailable", "code": "store"})


@pytest.mark.parametrize(
    ("address", "names", "token", "missing"),
    [
        ("0.0.0.0:80", (), None, "--allowed-host"),
        ("0.0.0.0:80", ("evals.example",), None, "MINIONS_EVALS_HTTP_TOKEN"),
        ("[::]:80", (), TOKEN, "--allowed-host"),
        ("evals.example:80", (), None, "MINIONS_EVALS_HTTP_TOKEN"),
        ("127.0.0.1.evil.example:80", (), None, "--allowed-host"),
        ("127.0.0.1", (), None, "HOST:PORT"),
        (":8765", (), None, "HOST:PORT"),
        ("127.0.0.1:99999", (), None, "HOST:PORT"),
        ("127.0.0.1:80", (), "short", "16"),
    ],
)
def test_an_open_door_is_refused(address: str, names: tuple[str, ...], token: str | None, missing: str) -> None:
    with pytest.raises(BadInputError) as found:
        read_door(address, allowed_hosts=names, token=token)
    assert missing in found.value.remedy


def test_other_machines_are_answered_under_the_allowed_names_only() -> None:
    door = read_door("0.0.0.0:8765", allowed_hosts=("evals.example",), token=TOKEN)
    assert door.security().allowed_hosts == ["evals.example", "evals.example:8765"]
    assert door.security().enable_dns_rebinding_protection
    inside = read_door("[::1]:8765", allowed_hosts=(), token=None)
    assert inside.url == "http://[::1]:8765/mcp"
    assert "localhost:8765" in inside.security().allowed_hosts


def test_an_allowed_host_without_http_and_an_address_in_use_are_told() -> None:
    with pytest.raises(BadInputError, match="needs --http"):
        read_options(["--allowed-host", "evals.example"])
    with bound(Door("127.0.0.1", 0)) as taken, pytest.raises(BadInputError, match="cannot listen"):
        bound(Door("127.0.0.1", taken.getsockname()[1]))


async def test_the_real_process_serves_says_where_and_ends_when_told_to(tmp_path: Path) -> None:
    command = [*COMMAND, "--http", "127.0.0.1:0"]
    with anyio.fail_after(HANG_S):
        async with await anyio.open_process(command, env=environment(tmp_path), stdout=PIPE, stderr=PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            said = from_json(await BufferedByteReceiveStream(process.stderr).receive_until(b"\n", 10_000))
            async with Client(said["url"]) as client:
                assert (await Host(client).call("list_records", type="benchmark"))["records"] == []
            process.send_signal(signal.SIGTERM)
            await process.wait()
            with pytest.raises(anyio.EndOfStream):
                await process.stdout.receive()


async def test_the_process_refuses_to_start_where_it_would_stand_open(tmp_path: Path) -> None:
    command = [program("minions-evals-mcp"), "--http", "0.0.0.0:0"]
    done = await anyio.run_process(command, env=environment(tmp_path), check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"can be reached from other machines" in done.stderr

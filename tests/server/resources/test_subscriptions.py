"""Who listens hears what changed: in both eras, of this process and of others, and nobody listens, nothing is looked at."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio
import pytest
from mcp import Client, MCPError, stdio_client
from mcp.client.session import IncomingMessage
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated
from mcp_types import (
    EmptyResult,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.resources.addresses import (
    INDEX,
    OUTBOX,
    history_address,
    record_address,
    results_address,
    trend_address,
)
from minions_evals_mcp.server.resources.subscriptions import StoreWatch
from minions_evals_mcp.server.session.opened import ServerSession
from tests.hang import HANG_S
from tests.shared.server.hosts import ERAS, Host, hosted, judged, read_by_people, rows, suite
from tests.shared.server.wire import environment, forked, wired
from tests.workshop import Json, config_in, opened


@dataclass
class Heard:
    """What a host heard so far."""

    addresses: set[str] = field(default_factory=set[str])
    more: anyio.Event = field(default_factory=anyio.Event)

    def hear(self, address: str) -> None:
        self.addresses.add(address)
        self.more.set()
        self.more = anyio.Event()

    async def all_of(self, *addresses: str) -> None:
        """Returns once each of them was heard."""
        with anyio.fail_after(HANG_S):
            while not self.addresses >= set(addresses):
                await self.more.wait()


@asynccontextmanager
async def listening(server: object, era: str, addresses: Sequence[str]) -> AsyncGenerator[tuple[Host, Heard]]:
    """A host that has subscribed to those addresses in the way of its era, and what it hears."""
    heard = Heard()

    async def incoming(message: IncomingMessage) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.hear(str(message.params.uri))

    async with Client(server, mode=era, message_handler=incoming) as client:  # pyright: ignore[reportArgumentType]  a server or a transport
        if era == "legacy":
            for address in addresses:
                await client.session.send_request(
                    SubscribeRequest(params=SubscribeRequestParams(uri=address)), EmptyResult
                )
            yield Host(client), heard
            return
        async with client.listen(resource_subscriptions=addresses) as stream, anyio.create_task_group() as tasks:

            async def follow() -> None:
                async for event in stream:
                    if isinstance(event, ResourceUpdated):
                        heard.hear(event.uri)

            tasks.start_soon(follow)
            yield Host(client), heard
            tasks.cancel_scope.cancel()


def server_on(folder: Path) -> object:
    """A server in memory on the store in that folder."""
    return build_server(ServerSession(lambda: opened(config_in(folder))), ServerOptions())


@pytest.mark.parametrize("era", ERAS)
async def test_a_run_here_is_told_to_those_who_listen(tmp_path: Path, era: str) -> None:
    wanted = (record_address("test-case", "c0"), trend_address("b"), history_address("c0"), INDEX)
    async with listening(server_on(tmp_path), era, wanted) as (host, heard):
        await host.call("save_records", records=suite(2))
        await heard.all_of(record_address("test-case", "c0"), INDEX)
        assert trend_address("b") not in heard.addresses
        await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        await heard.all_of(*wanted)


@pytest.mark.parametrize("era", ERAS)
async def test_a_run_that_waits_and_is_judged_is_told_under_its_own_addresses(tmp_path: Path, era: str) -> None:
    async with hosted(config_in(tmp_path)) as host:
        await host.call("save_records", records=read_by_people(1))
        begun = await host.call("run_benchmark", benchmarkId="b", judge="caller", waitSeconds=50)
    run_id = str(begun["runId"])
    wanted = (record_address("run", run_id), results_address(run_id))
    async with listening(server_on(tmp_path), era, wanted) as (host, heard):
        packets = [judged(one) for one in rows(begun, "packets")]
        await host.call("submit_judgments", runId=run_id, judgedBy="me", packets=packets)
        await heard.all_of(*wanted)


@pytest.mark.parametrize("era", ERAS)
async def test_writes_of_another_process_are_told(tmp_path: Path, era: str) -> None:
    """Two servers on one file: what the one saves and runs, the other's host hears."""
    here = forked(tmp_path)
    wanted = (record_address("test-case", "c0"), history_address("c0"), trend_address("b"))
    with anyio.fail_after(HANG_S):
        async with (
            listening(stdio_client(here), era, wanted) as (_, heard),
            wired(environment(tmp_path)) as other,
        ):
            await other.call("save_records", records=suite(2))
            await heard.all_of(record_address("test-case", "c0"))
            await other.call("run_benchmark", benchmarkId="b", waitSeconds=50)
            await heard.all_of(*wanted)


@pytest.mark.parametrize("era", ERAS)
async def test_the_outbox_is_told_when_something_is_queued(tmp_path: Path, era: str) -> None:
    async with listening(server_on(tmp_path), era, (OUTBOX,)) as (host, heard):
        await host.call("save_records", records=suite(2, bad=0))
        await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        assert not heard.addresses
        await host.call("save_records", records=[one for one in suite(2, bad=2) if _is_worse(one)])
        await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
        await heard.all_of(OUTBOX)


def _is_worse(record: object) -> bool:
    found = cast("Json", record)
    if found["type"] != "agent-run":
        return False
    found["id"] = f"later-{found['id']}"
    return True


async def test_an_unsubscribed_address_is_told_no_more(tmp_path: Path) -> None:
    gone, kept = record_address("test-case", "c0"), record_address("test-case", "c1")
    async with listening(server_on(tmp_path), "legacy", (gone, kept)) as (host, heard):
        params = UnsubscribeRequestParams(uri=gone)
        await host.client.session.send_request(UnsubscribeRequest(params=params), EmptyResult)
        await host.call("save_records", records=suite(2))
        await heard.all_of(kept)
        assert gone not in heard.addresses


async def test_both_eras_say_that_they_can_be_subscribed_to(host: Host) -> None:
    found = host.client.server_capabilities.resources
    assert found is not None
    assert found.subscribe


@pytest.mark.parametrize("era", ERAS)
async def test_a_store_that_cannot_be_used_is_told_to_who_subscribes(tmp_path: Path, era: str) -> None:
    (tmp_path / "evals.db").write_text("this is no database, but a letter to my aunt")
    with anyio.fail_after(HANG_S), pytest.raises((MCPError, ExceptionGroup)) as told:
        async with listening(server_on(tmp_path), era, (INDEX,)):
            raise AssertionError("it was taken")
    assert "store: " in repr(told.value)


async def test_nobody_listens_nothing_is_looked_at(tmp_path: Path) -> None:
    """A look takes the store's reader; when the last listener is gone the watch is as it was before the first."""
    session = ServerSession(lambda: opened(config_in(tmp_path)))
    watch = StoreWatch(session, InMemorySubscriptionBus())
    async with session.open():
        assert not watch.is_looking
        await watch.begin()
        await watch.begin()
        watch.end()
        assert watch.is_looking
        watch.end()
        assert not watch.is_looking


async def test_a_connection_subscribes_to_a_thousand_addresses_and_no_more(tmp_path: Path) -> None:
    many = [record_address("test-case", f"c{number}") for number in range(1000)]
    async with listening(server_on(tmp_path), "legacy", many) as (host, _):
        params = SubscribeRequestParams(uri=INDEX)
        with pytest.raises(MCPError, match="at most 1000 subscriptions"):
            await host.client.session.send_request(SubscribeRequest(params=params), EmptyResult)

"""What of a provider's reply is not read, not followed, or no answer."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from minions_evals_mcp.models.registry import ModelRef, Models, Provider
from minions_evals_mcp.models.replies import Completion, FailedReply
from minions_evals_mcp.outgoing import MOST_BYTES, same_host
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.models.asking import QUICK, ask, client_and_server, provider_settings

pytestmark = pytest.mark.anyio
PROVIDERS: tuple[Provider, ...] = ("anthropic", "openai")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_reply_that_unpacks_to_too_much_is_not_read_to_its_end(provider: Provider, stream: bool) -> None:
    async with client_and_server(provider, FakeSettings(pbomb=1.0)) as (client, server):
        warm = await client.complete(ask(1), deadline_s=HANG_S)
        tracemalloc.start()
        reply = await client.complete(replace(ask(2), stream=stream), deadline_s=HANG_S)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert isinstance(warm, FailedReply)
    assert isinstance(reply, FailedReply)
    assert (reply.kind, reply.reason) == ("permanent", "the reply is longer than 16 MB")
    assert server.requests == 2, "it is not asked again"
    assert peak < 2.5 * MOST_BYTES


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_key_is_not_sent_on_to_another_host(provider: Provider) -> None:
    async with client_and_server(provider, FakeSettings(predirect=1.0)) as (client, server):
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, FailedReply)
    assert reply.kind == "permanent"
    assert "leads to another server, http://127.0.0.2:" in reply.reason
    assert server.requests == 1, "127.0.0.2 is this machine, too, and was not asked"


async def test_vectors_have_the_same_limits() -> None:
    for fault, said in (("pbomb", "longer than 16 MB"), ("predirect", "leads to another server")):
        async with (
            serving(FakeSettings(**{fault: 1.0})) as server,
            Models(provider_settings(server.url, QUICK)) as models,
        ):
            client = models.embeddings(ModelRef("openai", "any"))
            reply = await client.complete(replace(ask(), user='["text"]'), deadline_s=HANG_S)
        assert isinstance(reply, FailedReply)
        assert said in reply.reason


async def test_the_limit_can_be_set() -> None:
    async with client_and_server("anthropic", settings=replace(QUICK, reply_bytes=100)) as (client, _):
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, FailedReply)
    assert "longer than 0 MB" in reply.reason


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_no_text_for_no_tokens_is_no_answer(provider: Provider, stream: bool) -> None:
    async with client_and_server(provider, FakeSettings(pnothing=1.0)) as (client, server):
        reply = await client.complete(replace(ask(), stream=stream), deadline_s=HANG_S)
    assert isinstance(reply, FailedReply)
    assert reply.kind == "empty"
    assert reply.reason.startswith("it returned no text and 0 completion tokens")
    assert server.requests == 2, "once more, for it may have been a hiccup, and no oftener"


async def test_no_text_without_a_count_of_tokens_is_an_empty_answer() -> None:
    async with client_and_server("openai") as (client, server):
        server.canned = b'{"model": "m", "choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}'
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, Completion)
    assert reply.text == ""


def test_another_port_or_scheme_is_another_host_but_for_the_usual_way_to_https() -> None:
    assert same_host("http://a.example/x", "https://a.example/y")
    assert same_host("https://a.example/x", "https://a.example:443/y")
    for to in ("http://b.example/x", "http://a.example:81/x", "ftp://a.example/x", "http://a.example.b.example/x"):
        assert not same_host("http://a.example/x", to)

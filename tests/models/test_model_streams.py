"""Replies that come piece by piece: the time of the first token, and what is no answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.models.faults import AttemptFault, fault_of_event
from minions_evals_mcp.models.registry import Provider
from minions_evals_mcp.models.replies import Completion, FailedReply, FaultKind, RefusedReply, Reply, Truncated
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.streaming import events
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings
from tests.shared.models.asking import QUICK, ask, client_and_server

ONCE = replace(QUICK, attempts=1)
KINDS: list[tuple[str, FaultKind]] = [
    ("pearly", "transient"),
    ("pmidway", "overloaded"),
    ("pmalformed", "malformed"),
    ("pnostop", "malformed"),
    ("p429", "rate-limited"),
    ("p529", "overloaded"),
    ("p500", "transient"),
    ("preset", "transient"),
]


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


def streamed(number: int = 1, *, model: str = "fake-target") -> ModelRequest:
    return replace(ask(number, model=model), stream=True)


async def reply_under(provider: Provider, **faults: float) -> Reply:
    async with client_and_server(provider, FakeSettings(retry_after_s=0.001, **faults), ONCE) as (client, _):
        with anyio.fail_after(HANG_S):
            return await client.complete(streamed(), deadline_s=HANG_S)


async def test_a_streamed_answer_is_the_whole_one_with_the_time_of_its_first_token(provider: Provider) -> None:
    async with client_and_server(provider, FakeSettings(token_ms=4)) as (client, server):
        with anyio.fail_after(HANG_S):
            pieces = await client.complete(streamed(), deadline_s=HANG_S)
            whole = await client.complete(ask(), deadline_s=HANG_S)
        sent = json.loads(server.last_body)
    assert isinstance(pieces, Completion)
    assert isinstance(whole, Completion)
    assert (pieces.text, pieces.usage, pieces.stop_reason, pieces.model) == (
        whole.text,
        whole.usage,
        whole.stop_reason,
        whole.model,
    )
    assert whole.first_token_ms is None
    assert not sent.get("stream"), "a stream is asked for only where one is wanted"
    assert pieces.first_token_ms is not None
    assert 0 < pieces.first_token_ms < pieces.latency_ms, "five words later the answer ends"


async def test_a_stream_of_a_known_model_carries_its_cost(provider: Provider) -> None:
    model = {"anthropic": "claude-opus-4-7", "openai": "gpt-4o"}[provider]
    async with client_and_server(provider) as (client, server):
        reply = await client.complete(streamed(model=model), deadline_s=HANG_S)
        sent = json.loads(server.last_body)
    assert sent["stream"] is True
    assert isinstance(reply, Completion)
    assert reply.cost_usd is not None
    assert reply.cost_usd > 0


async def test_a_server_that_does_not_stream_answers_without_the_time_of_its_first_token(provider: Provider) -> None:
    async with client_and_server(provider) as (client, server):
        server.streams = False
        reply = await client.complete(streamed(), deadline_s=HANG_S)
    assert isinstance(reply, Completion)
    assert reply.first_token_ms is None


@pytest.mark.parametrize(("fault", "kind"), KINDS)
async def test_a_stream_that_breaks_or_ends_early_is_no_answer(provider: Provider, fault: str, kind: FaultKind) -> None:
    reply = await reply_under(provider, **{fault: 1})
    assert isinstance(reply, FailedReply)
    assert (reply.kind, reply.fatal) == (kind, False)


async def test_a_stream_that_ended_early_is_asked_for_again(provider: Provider) -> None:
    faults = FakeSettings(pearly=0.5)
    async with client_and_server(provider, faults, replace(QUICK, attempts=20)) as (client, server):
        replies = [await client.complete(streamed(number), deadline_s=HANG_S) for number in range(8)]
    assert all(isinstance(reply, Completion) for reply in replies)
    assert 0 < server.faults["pearly"] == client.fault_counts["transient"]


@pytest.mark.parametrize("fault", ["phang", "ptrickle"])
async def test_a_stream_that_never_ends_is_given_up_at_the_deadline(provider: Provider, fault: str) -> None:
    async with client_and_server(provider, FakeSettings(**{fault: 1}), ONCE) as (client, server):
        with anyio.fail_after(HANG_S):
            reply = await client.complete(streamed(), deadline_s=0.1)
            server.configure(FakeSettings())
            again = await client.complete(streamed(2), deadline_s=HANG_S)
    assert reply == FailedReply("deadline", "no complete reply within 0.1 s", False, ("deadline",), 1)
    assert isinstance(again, Completion), "the client is usable afterwards"


async def test_a_streamed_refusal_and_a_cut_off_are_told_as_what_they_are(provider: Provider) -> None:
    refused = await reply_under(provider, prefusal=1)
    assert isinstance(refused, RefusedReply)
    assert (refused.text, refused.explanation, refused.first_token_ms) == ("", "I cannot help with that.", None)
    cut = await reply_under(provider, pmaxtokens=1)
    assert isinstance(cut, Truncated)
    assert cut.first_token_ms is not None


async def test_a_stream_without_any_content_is_malformed_at_openai() -> None:
    reply = await reply_under("openai", pnocontent=1)
    assert isinstance(reply, FailedReply)
    assert reply.reason == "malformed reply: choices.0.message.content: no text"


async def test_thinking_is_no_part_of_a_streamed_answer() -> None:
    told = [
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Paris"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    async with client_and_server("anthropic") as (client, server):
        server.canned = b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in told)
        reply = await client.complete(streamed(), deadline_s=HANG_S)
    assert isinstance(reply, Completion)
    assert reply.text == "Paris"
    assert reply.usage is not None
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 9)


def test_an_error_in_a_stream_is_worth_another_attempt_or_not_by_its_type() -> None:
    assert fault_of_event(b'{"error": {"type": "authentication_error", "message": "no"}}') == AttemptFault(
        "permanent", "an error in the stream: no", fatal=True
    )
    assert fault_of_event(b'{"error": {"message": "odd"}}').kind == "transient"
    assert fault_of_event(b'{"error": "down"}').reason == 'an error in the stream: {"error": "down"}'


async def chunked(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@given(
    st.lists(st.text(alphabet="ab \u2028\x85é{}", min_size=1), max_size=5),
    st.integers(min_value=1, max_value=7),
    st.sampled_from(["\n", "\r\n"]),
)
def test_events_are_the_same_however_the_bytes_are_cut(said: list[str], size: int, end: str) -> None:
    wire = b"".join(f": note{end}event: x{end}data: {one}{end}{end}".encode() for one in said) + b"data: cut off"

    async def read() -> list[str]:
        parts = [wire[at : at + size] for at in range(0, len(wire), size)]
        return [one.decode() async for one in events(chunked(parts))]

    assert anyio.run(read) == said

"""What comes back through the real SDKs from a server that answers well, badly or not at all."""

from __future__ import annotations

import json
from dataclasses import replace

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.models.registry import ModelRef, Models, Provider
from minions_evals_mcp.models.replies import Completion, FailedReply, FaultKind, RefusedReply, TokenUsage, Truncated
from minions_evals_mcp.models.request import ModelRequest
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.models.asking import QUICK, ask, ask_all, client_and_server, provider_settings

SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"rationale": {"type": "string"}, "score": {"type": "number", "enum": [0, 1]}},
    "required": ["rationale", "score"],
    "additionalProperties": False,
}

KINDS: list[tuple[str, FaultKind]] = [
    ("p429", "rate-limited"),
    ("p500", "transient"),
    ("p529", "overloaded"),
    ("pmalformed", "malformed"),
    ("preset", "transient"),
    ("pnocontent", "malformed"),
    ("pnostop", "malformed"),
]


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> Provider:
    return request.param


def faulty(**shares: float) -> FakeSettings:
    return replace(FakeSettings(retry_after_s=0), **shares)


async def test_an_answer_carries_its_text_model_tokens_and_time(provider: Provider) -> None:
    async with client_and_server(provider) as (client, _):
        reply = await client.complete(ask(7), deadline_s=HANG_S)
    assert isinstance(reply, Completion)
    assert reply.text == "Ticket REF-000007 state=resolved. Summary: (ref)? of became What"
    assert (reply.model, reply.attempts, reply.faults) == ("fake-target", 1, ())
    assert reply.stop_reason == {"anthropic": "end_turn", "openai": "stop"}[provider]
    assert reply.usage == TokenUsage(input_tokens=14, output_tokens=20)
    assert 0 < reply.latency_ms < HANG_S * 1000
    assert reply.cost_usd is None, "nobody knows what the fake's model costs"


@pytest.mark.parametrize(("provider", "model"), [("anthropic", "claude-opus-4-7"), ("gemini", "gemini-2.5-flash")])
async def test_an_answer_of_a_known_model_carries_its_cost(provider: Provider, model: str) -> None:
    async with client_and_server(provider) as (client, _):
        reply = await client.complete(ask(model=model), deadline_s=HANG_S)
    dollars = {"anthropic": (5e-6, 25e-6), "gemini": (0.3e-6, 2.5e-6)}[provider]
    assert isinstance(reply, Completion)
    assert reply.usage is not None
    read, written = reply.usage.input_tokens, reply.usage.output_tokens
    assert reply.cost_usd == pytest.approx(read * dollars[0] + written * dollars[1])


@pytest.mark.parametrize(("fault", "kind"), KINDS)
async def test_a_passing_fault_is_retried_until_it_is_answered_and_counted(
    provider: Provider, fault: str, kind: FaultKind
) -> None:
    settings = replace(QUICK, attempts=30)
    async with client_and_server(provider, faulty(**{fault: 0.3}), settings) as (client, server):
        replies = await ask_all(client, 30)
    assert all(isinstance(reply, Completion) for reply in replies)
    assert {reply.text for reply in replies if isinstance(reply, Completion)} >= {
        "Ticket REF-000000 state=open. Summary: (ref)? of became What"
    }
    assert 0 < server.faults[fault] == client.fault_counts[kind] == sum(len(reply.faults) for reply in replies)
    assert sum(reply.attempts for reply in replies) == server.requests


async def test_a_passing_hang_is_given_up_at_the_deadline_and_retried(provider: Provider) -> None:
    for patience in (0.15, 2, 20):  # where the machine is held up for as long, others are given up as well
        async with client_and_server(provider, faulty(phang=0.2), QUICK) as (client, server):
            replies = await ask_all(client, 10, deadline_s=patience)
        assert 0 < server.faults["phang"] <= client.fault_counts["deadline"]
        if server.faults["phang"] == client.fault_counts["deadline"]:
            break
    answered = [reply for reply in replies if isinstance(reply, Completion)]
    assert any(reply.faults == ("deadline",) for reply in answered)
    assert len(answered) >= 8


@pytest.mark.parametrize("fault", ["phang", "ptrickle"])
async def test_a_server_that_hangs_twice_is_not_asked_a_third_time(provider: Provider, fault: str) -> None:
    async with client_and_server(provider, faulty(**{fault: 1}), replace(QUICK, attempts=6)) as (client, server):
        with anyio.fail_after(HANG_S):
            reply = await client.complete(ask(), deadline_s=0.05)
    assert isinstance(reply, FailedReply)
    assert (reply.kind, reply.fatal, reply.attempts) == ("deadline", False, 2)
    assert server.requests <= 2  # a busy machine may not have sent one before its time was over


@pytest.mark.parametrize(("fault", "kind"), KINDS)
async def test_a_lasting_fault_ends_as_a_failure_of_its_kind(provider: Provider, fault: str, kind: FaultKind) -> None:
    async with client_and_server(provider, faulty(**{fault: 1}), replace(QUICK, attempts=3)) as (client, server):
        with anyio.fail_after(HANG_S):
            reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, FailedReply)
    assert (reply.kind, reply.fatal, reply.attempts) == (kind, False, 3)
    assert reply.faults == (kind,) * 3
    assert f"after 3 attempts: 3 {kind}" in reply.reason
    assert server.requests == 3


async def test_a_failure_says_what_the_provider_said(provider: Provider) -> None:
    async with client_and_server(provider, faulty(p500=1), replace(QUICK, attempts=1)) as (client, _):
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, FailedReply)
    assert reply.reason == "HTTP 500: internal error"


async def test_a_request_that_is_wrong_in_itself_is_not_retried(provider: Provider) -> None:
    async with client_and_server(provider, faulty(p400=1)) as (client, server):
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert reply == FailedReply("permanent", "HTTP 400: the request is wrong", False, ("permanent",), 1)
    assert server.requests == 1


async def test_a_refused_key_is_fatal_and_not_retried(provider: Provider) -> None:
    async with client_and_server(provider, key="wrong") as (client, server):
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert reply == FailedReply("permanent", "HTTP 401: invalid x-api-key", True, ("permanent",), 1)
    assert server.requests == 1


async def test_an_unknown_model_is_fatal_and_not_retried(provider: Provider) -> None:
    async with client_and_server(provider) as (client, server):
        reply = await client.complete(ask(model="unknown-model"), deadline_s=HANG_S)
    assert reply == FailedReply("permanent", "HTTP 404: no such model", True, ("permanent",), 1)
    assert server.requests == 1


async def test_an_exhausted_quota_is_fatal_although_it_is_a_429(provider: Provider) -> None:
    async with client_and_server(provider, faulty(pquota=1)) as (client, server):
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, FailedReply)
    assert (reply.kind, reply.fatal, server.requests) == ("permanent", True, 1)


async def test_a_host_where_nobody_listens_fails_after_retries_but_is_not_fatal(provider: Provider) -> None:
    async with serving() as server:
        gone = server.url
    async with Models(provider_settings(gone, replace(QUICK, attempts=2))) as models:
        reply = await models.client(ModelRef(provider, "any")).complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, FailedReply)
    assert (reply.kind, reply.fatal, reply.attempts) == ("transient", False, 2)
    assert "no connection" in reply.reason


async def test_a_refusal_is_no_answer_and_keeps_the_providers_words(provider: Provider) -> None:
    async with client_and_server(provider, faulty(prefusal=1)) as (client, server):
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, RefusedReply)
    assert (reply.text, reply.explanation) == ("", "I cannot help with that.")
    assert reply.usage is not None
    assert server.requests == 1


async def test_a_reply_that_was_cut_off_by_its_length_is_no_answer(provider: Provider) -> None:
    async with client_and_server(provider, faulty(pmaxtokens=1)) as (client, server):
        reply = await client.complete(ask(), deadline_s=HANG_S)
    assert isinstance(reply, Truncated)
    assert reply.stop_reason == {"anthropic": "max_tokens", "openai": "length"}[provider]
    assert server.requests == 1


async def test_a_schema_a_system_text_and_parameters_reach_the_provider(provider: Provider) -> None:
    request = ModelRequest(
        model="fake-judge",
        user="state=open",
        system="You judge.",
        max_tokens=50,
        schema=SCHEMA,
        params={"temperature": 0, "output_config": {"effort": "low"}},
    )
    async with client_and_server(provider) as (client, server):
        reply = await client.complete(request, deadline_s=HANG_S)
        sent = json.loads(server.last_body)
    assert isinstance(reply, Completion)
    verdict = json.loads(reply.text)
    assert list(verdict) == ["rationale", "score"]
    assert verdict["score"] == 0
    assert (sent["max_tokens"], sent["temperature"]) == (50, 0)
    if provider == "anthropic":
        assert sent["system"] == "You judge."
        assert sent["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}
    else:
        assert sent["messages"][0] == {"role": "system", "content": "You judge."}
        wanted = {"name": "answer", "strict": True, "schema": SCHEMA}
        assert sent["response_format"] == {"type": "json_schema", "json_schema": wanted}


async def test_a_call_that_is_cancelled_leaves_the_client_usable(provider: Provider) -> None:
    async with client_and_server(provider, faulty(phang=1)) as (client, server):
        with anyio.move_on_after(0.05) as scope:
            await client.complete(ask(), deadline_s=HANG_S)
        server.configure(FakeSettings())
        reply = await client.complete(ask(2), deadline_s=HANG_S)
    assert scope.cancelled_caught
    assert isinstance(reply, Completion)

"""Bodies of a 200 that the SDKs hand on unchecked: what is an answer, and what is malformed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.models.openai_client import token_limit_names
from minions_evals_mcp.models.registry import Provider
from minions_evals_mcp.models.replies import Completion, FailedReply, RefusedReply, Reply, TokenUsage, Truncated
from tests.hang import HANG_S
from tests.shared.models.asking import QUICK, ask, client_and_server

Object = dict[str, JsonValue]
TEXT: Object = {"type": "text", "text": "Paris"}
TOKENS: Object = {"input_tokens": 3, "output_tokens": 2}


def message(**parts: JsonValue) -> Object:
    return {"model": "m", "content": [TEXT], "stop_reason": "end_turn", "usage": TOKENS, **parts}


def chat(content: JsonValue = "Paris", finish: JsonValue = "stop", **parts: JsonValue) -> Object:
    return {"model": "m", "choices": [{"message": {"content": content}, "finish_reason": finish}], **parts}


async def reply_to(provider: Provider, body: JsonValue | bytes) -> Reply:
    async with client_and_server(provider, settings=replace(QUICK, attempts=1)) as (client, server):
        server.canned = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await client.complete(ask(), deadline_s=HANG_S)


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("anthropic", b"<html>busy</html>"),
        ("anthropic", b'"just a text"'),
        ("anthropic", message(content="Paris")),
        ("anthropic", message(content=[{"type": "text", "text": None}])),
        ("anthropic", message(content=[{"text": "no type"}])),
        ("anthropic", message(stop_reason="")),
        ("anthropic", message(usage={"input_tokens": "3", "output_tokens": 2})),
        ("anthropic", message(usage={"input_tokens": -3, "output_tokens": 2})),
        ("openai", b"<html>busy</html>"),
        ("openai", chat(content=["Paris"])),
        ("openai", chat(content=None)),
        ("openai", chat(finish="")),
        ("openai", {"model": "m", "choices": []}),
        ("openai", {"error": {"message": "an error under status 200"}}),
        ("openai", chat(usage={"prompt_tokens": 1.5, "completion_tokens": 2})),
    ],
)
async def test_a_body_of_the_wrong_shape_is_malformed_and_never_an_answer(provider: Provider, body: JsonValue) -> None:
    reply = await reply_to(provider, body)
    assert isinstance(reply, FailedReply)
    assert reply.kind == "malformed"
    assert reply.reason.startswith("malformed reply: ")


async def test_only_text_blocks_make_the_text() -> None:
    blocks: list[JsonValue] = [{"type": "thinking", "thinking": "hm"}, TEXT, {"type": "text", "text": ", France"}]
    reply = await reply_to("anthropic", message(content=blocks))
    assert isinstance(reply, Completion)
    assert reply.text == "Paris, France"


async def test_a_chats_text_in_parts_is_one_text_without_what_was_thought() -> None:
    parts: list[JsonValue] = [{"type": "thinking", "thinking": [TEXT]}, TEXT, {"type": "text", "text": ", France"}]
    reply = await reply_to("openai", chat(content=parts))
    assert isinstance(reply, Completion)
    assert reply.text == "Paris, France"


async def test_an_answer_without_a_token_count_has_unknown_usage_and_cost() -> None:
    bodies: dict[Provider, Object] = {"anthropic": message(usage=None), "openai": chat()}
    for provider, body in bodies.items():
        reply = await reply_to(provider, {**body, "model": "gpt-4o"})
        assert isinstance(reply, Completion)
        assert (reply.usage, reply.cost_usd) == (None, None)


async def test_what_a_cache_served_or_kept_counts_among_the_tokens_read() -> None:
    tokens: Object = {**TOKENS, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 20}
    reply = await reply_to("anthropic", message(usage=tokens, model="claude-opus-4-7"))
    assert isinstance(reply, Completion)
    assert reply.usage == TokenUsage(33, 2, cache_read_tokens=10, cache_write_tokens=20)
    assert reply.cost_usd == pytest.approx((3 * 5 + 2 * 25 + 10 * 0.5 + 20 * 6.25) / 1e6)
    used: Object = {"prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 10}}
    reply = await reply_to("openai", chat(usage=used))
    assert isinstance(reply, Completion)
    assert reply.usage == TokenUsage(30, 2, cache_read_tokens=10)


async def test_a_context_window_that_ran_out_is_a_truncation() -> None:
    assert isinstance(await reply_to("anthropic", message(stop_reason="model_context_window_exceeded")), Truncated)


async def test_tokens_that_were_all_spent_on_thinking_are_a_truncation_without_text() -> None:
    reply = await reply_to("gemini", chat(content=None, finish="length"))
    assert isinstance(reply, Truncated)
    assert reply.text == ""


async def test_a_content_filter_is_a_refusal() -> None:
    assert isinstance(await reply_to("openai", chat(content="Par", finish="content_filter")), RefusedReply)


async def test_an_answer_that_names_no_model_is_that_of_the_model_asked() -> None:
    reply = await reply_to("openai", {"choices": chat()["choices"]})
    assert isinstance(reply, Completion)
    assert reply.model == "fake-target"


def test_the_token_limit_has_openais_new_name_only_at_openai() -> None:
    assert token_limit_names(PROVIDERS["openai"].url)[0] == "max_completion_tokens"
    for url in (PROVIDERS["gemini"].url, "http://localhost:11434/v1"):
        assert token_limit_names(url)[0] == "max_tokens"

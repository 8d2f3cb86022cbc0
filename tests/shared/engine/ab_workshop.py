"""What tests of A/B tests are made with: an engine whose three providers stand at fake servers, and branches in one line."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.embedding.embedder import Vector
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, AbTestResult, run_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.models.registry import ProviderSettings
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import Server
from tests.workshop import Json, all_of, config_in, minion, opened, save

OPENAI, ANTHROPIC, GEMINI = "gpt-4o", "claude-opus-4-7", "gemini-2.5-flash"
QUESTION = "Say how you feel: {{text}}"
ANSWER = "happy am I feel: you how Say"
"""What the fake server says to the question about the text "I am happy"."""


class Words:
    """An embedder whose vectors count a few words: likenesses can be foreseen. Told to, it fails."""

    name = "words"
    vocabulary = ("happy", "sad", "am", "not")

    def __init__(self) -> None:
        self.broken = False
        self.calls = 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.calls += 1
        if self.broken:
            raise InstrumentError("the embedder words failed: broken")
        return [[float(text.lower().split().count(word)) for word in self.vocabulary] for text in texts]


@asynccontextmanager
async def laboratory(
    folder: Path, openai: Server, anthropic: Server | None = None, *, attempts: int = 2
) -> AsyncGenerator[Engine]:
    """An engine whose providers stand at those servers (Gemini at OpenAI's), with an embedder that counts words."""
    providers = ProviderSettings(
        access={
            "anthropic": ProviderAccess("key", (anthropic or openai).url),
            "openai": ProviderAccess("key", f"{openai.url}/v1"),
            "gemini": ProviderAccess("key", f"{openai.url}/v1"),
        },
        attempts=attempts,
        retry_base_s=0.001,
        retry_cap_s=0.002,
    )
    async with opened(replace(config_in(folder), providers=providers, call_timeout_s=HANG_S)) as engine:
        engine.opened_embedder = Words()
        yield engine


def mood(**fields: JsonValue) -> list[Record[Fields]]:
    """The prompt `mood` in two versions, and the test case `case` of it, which the fake server answers as expected."""
    usual: Json = {
        "name": "mood",
        "promptId": "mood",
        "passRule": "similarity_0_8",
        "inputs": {"text": "I am happy"},
        "expectedOutputs": {"output": ANSWER},
    }
    merged: Json = {name: value for name, value in {**usual, **fields}.items() if value is not None}
    return [
        minion("mood@1", "prompt-version", content="Be brief. {{text}}", versionNumber=1, promptId="mood"),
        minion("mood@2", "prompt-version", content=QUESTION, versionNumber=2, promptId="mood"),
        minion("case", "test-case", **merged),
    ]


def branch(ident: str, model: str = OPENAI, **fields: JsonValue) -> Record[Fields]:
    """A branch of `case`, at the provider whose model it names."""
    provider = {"c": "anthropic", "g": "openai"}.get(model[:1], "openai")
    usual: Json = {
        "testCaseId": "case",
        "name": ident.upper(),
        "provider": "gemini" if "gemini" in model else provider,
        "model": model,
    }
    return minion(ident, "test-branch", **{**usual, **fields})


async def prepared(engine: Engine, *branches: Record[Fields], **fields: JsonValue) -> None:
    """The case with those branches, a and b if none are given."""
    await save(engine, mood(**fields), branches or (branch("a"), branch("b", ANTHROPIC)))


async def ab(engine: Engine, *branch_ids: str, **request: JsonValue) -> AbTestResult:
    """The A/B test of those branches, a and b if none are given."""
    chosen: list[JsonValue] = list(branch_ids or ("a", "b"))
    return await run_ab_test(
        engine, AbTestRequest.model_validate({"test_case_id": "case", "branch_ids": chosen, **request})
    )


async def executions(engine: Engine) -> list[Record[TestBranchExecution]]:
    """Every execution, oldest first."""
    return await all_of(engine, TestBranchExecution)


def says(server: Server, text: str, *, read: int = 10, written: int = 20) -> None:
    """From now on the server answers any OpenAI request with that text, unstreamed."""
    server.streams = False
    usage = {"prompt_tokens": read, "completion_tokens": written}
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    server.canned = json.dumps({"choices": [choice], "usage": usage}).encode()

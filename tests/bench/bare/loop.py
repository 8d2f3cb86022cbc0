"""The floor: the same calls in a bare loop at the same concurrency, the results inserted in batches.

python -m tests.bench.bare.loop SUITE.json OUT.db BASE_URL CONCURRENCY [without-sdk]

By the provider's SDK over aiohttp, or `without-sdk` by aiohttp alone: no retries, no types, no limits.
"""

from __future__ import annotations

import asyncio  # noqa: TID251  the barest loop there is
import json
import sqlite3  # noqa: TID251  the floor stores with the standard library
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import aiohttp

if TYPE_CHECKING:
    from anthropic.types import Message

JUDGE = "Grade the answer.\n[Task]: {question}\n[Answer]: {output}\nReply with JSON: rationale, score."
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"rationale": {"type": "string"}, "score": {"type": "number"}},
    "required": ["rationale", "score"],
    "additionalProperties": False,
}
BATCH = 100


Case = tuple[str, str]


def cases_of(suite: str) -> list[Case]:
    """The id and question of every case in a suite."""
    minions = json.loads(Path(suite).read_text())["minions"]
    return [(one["id"], one["fields"]["inputs"]["question"]) for one in minions if one["type"] == "test-case"]


Ask = Callable[[dict[str, Any]], Awaitable[str]]
"""Sends one request, and gives the text of its reply."""


@asynccontextmanager
async def by_sdk(base_url: str) -> AsyncGenerator[Ask]:
    """The provider's own client."""
    import anthropic  # noqa: PLC0415  half a second that the other way does not need

    client = anthropic.AsyncAnthropic(
        api_key="none", base_url=base_url, max_retries=0, http_client=anthropic.DefaultAioHttpClient()
    )

    async def ask(request: dict[str, Any]) -> str:
        message = cast("Message", await client.messages.create(**request))
        (block,) = message.content
        assert block.type == "text"
        return block.text

    yield ask
    await client.close()


@asynccontextmanager
async def by_aiohttp(base_url: str) -> AsyncGenerator[Ask]:
    """The same requests without the SDK."""
    headers = {"x-api-key": "none", "anthropic-version": "2023-06-01"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def ask(request: dict[str, Any]) -> str:
            async with session.post(f"{base_url}/v1/messages", json=request) as reply:
                (block,) = (await reply.json())["content"]
                return block["text"]

        yield ask


async def main(cases: list[Case], out: str, ask: Ask, concurrency: int) -> None:
    db = sqlite3.connect(out, isolation_level=None)
    db.executescript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "CREATE TABLE runs(id TEXT PRIMARY KEY, output TEXT, score REAL, reason TEXT)"
    )
    rows: list[tuple[str, str, float, str]] = []
    queue = iter(cases)

    def flush() -> None:
        db.execute("BEGIN")
        db.executemany("INSERT INTO runs VALUES (?, ?, ?, ?)", rows)
        db.execute("COMMIT")
        rows.clear()

    async def worker() -> None:
        for ident, question in queue:
            asked = [{"role": "user", "content": question}]
            output = await ask({"model": "fake-target", "max_tokens": 2048, "messages": asked})
            grade = [{"role": "user", "content": JUDGE.format(question=question, output=output)}]
            verdict = json.loads(
                await ask({
                    "model": "fake-judge", "max_tokens": 1024, "messages": grade,
                    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
                })
            )  # fmt: skip
            rows.append((ident, output, verdict["score"], verdict["rationale"]))
            if len(rows) >= BATCH:
                flush()

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    if rows:
        flush()
    sys.stdout.write(f"{db.execute('SELECT count(*) FROM runs').fetchone()[0]} rows\n")


async def _run(suite: str, out: str, base_url: str, concurrency: str, way: str = "") -> None:
    async with by_aiohttp(base_url) if way else by_sdk(base_url) as ask:
        await main(cases_of(suite), out, ask, int(concurrency))


if __name__ == "__main__":
    asyncio.run(_run(*sys.argv[1:]))

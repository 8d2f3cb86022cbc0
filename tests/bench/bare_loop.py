"""The floor: the same SDK calls in a bare loop at the same concurrency, the results inserted in batches.

python -m tests.bench.bare_loop SUITE.json OUT.db BASE_URL CONCURRENCY
"""

from __future__ import annotations

import asyncio  # noqa: TID251  the barest loop there is
import json
import sqlite3  # noqa: TID251  the floor stores with the standard library
import sys
from pathlib import Path

import anthropic
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


def text_of(message: Message) -> str:
    """What the fake said."""
    (block,) = message.content
    assert block.type == "text"
    return block.text


async def main(cases: list[Case], out: str, base_url: str, concurrency: int) -> None:
    db = sqlite3.connect(out, isolation_level=None)
    db.executescript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
        "CREATE TABLE runs(id TEXT PRIMARY KEY, output TEXT, score REAL, reason TEXT)"
    )
    rows: list[tuple[str, str, float, str]] = []
    client = anthropic.AsyncAnthropic(
        api_key="none", base_url=base_url, max_retries=0, http_client=anthropic.DefaultAioHttpClient()
    )
    queue = iter(cases)

    def flush() -> None:
        db.execute("BEGIN")
        db.executemany("INSERT INTO runs VALUES (?, ?, ?, ?)", rows)
        db.execute("COMMIT")
        rows.clear()

    async def worker() -> None:
        for ident, question in queue:
            produced = await client.messages.create(
                model="fake-target", max_tokens=2048, messages=[{"role": "user", "content": question}]
            )
            output = text_of(produced)
            judged = await client.messages.create(
                model="fake-judge",
                max_tokens=1024,
                messages=[{"role": "user", "content": JUDGE.format(question=question, output=output)}],
                output_config={"format": {"type": "json_schema", "schema": SCHEMA}},
            )
            verdict = json.loads(text_of(judged))
            rows.append((ident, output, verdict["score"], verdict["rationale"]))
            if len(rows) >= BATCH:
                flush()

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    if rows:
        flush()
    await client.close()
    sys.stdout.write(f"{db.execute('SELECT count(*) FROM runs').fetchone()[0]} rows\n")


if __name__ == "__main__":
    asyncio.run(main(cases_of(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))

"""The floors of recorded outputs: each line parsed, checked by one rule, and the rows that we keep of it inserted by the hundred.

python -m tests.bench.bare.recorded SUITE.jsonl OUT.db judge|import|embed
"""

from __future__ import annotations

import json
import sqlite3  # noqa: TID251  the floor stores with the standard library
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BATCH = 100
WORD = "resolved"
Rows = dict[str, list[tuple[Any, ...]]]
TABLES = (
    "CREATE TABLE run(id TEXT PRIMARY KEY, test_case TEXT, passed INT, score REAL, rest TEXT);"
    "CREATE TABLE judgment(id TEXT PRIMARY KEY, run TEXT, score REAL, why TEXT);"
    "CREATE TABLE unit(job TEXT, position INT, outcome TEXT, run TEXT, PRIMARY KEY (job, position)) WITHOUT ROWID;"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, type TEXT, subject TEXT, detail TEXT);"
    "CREATE TABLE record(id TEXT PRIMARY KEY, type TEXT, fields TEXT);"
)


def records(suite: str) -> Iterator[dict[str, Any]]:
    """Every record of the file."""
    with Path(suite).open() as lines:
        for line in lines:
            yield json.loads(line)


def judged(suite: str) -> Iterator[Rows]:
    """The rows of each recorded output: its run, its judgment, its unit and the event."""
    runs = (record for record in records(suite) if record["type"] == "agent-run")
    for number, record in enumerate(runs):
        ident, output = record["id"], record["fields"]["outputs"]
        has = WORD in output["output"].lower()
        why = f"{'passed' if has else 'failed'} icontains: {'has' if has else 'lacks'} {WORD!r}"
        yield {
            "run": [(ident, record["fields"]["inputs"]["question"], int(has), float(has), json.dumps(output))],
            "judgment": [(f"{ident}:j1", ident, float(has), why)],
            "unit": [("job", number, "scored", ident)],
            "event": [(None, "test-run-recorded", ident, json.dumps({"testCaseId": ident, "passed": has}))],
        }


def imported(suite: str) -> Iterator[Rows]:
    """The rows of each record: itself and the event."""
    for record in records(suite):
        yield {
            "record": [(record["id"], record["type"], json.dumps(record["fields"]))],
            "event": [(None, "record-saved", record["id"], json.dumps({"new": True}))],
        }


def inserted(found: Iterator[Rows], out: str) -> int:
    """Inserts the rows, and says of how many records they were."""
    db = sqlite3.connect(out, isolation_level=None)
    db.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {TABLES}")
    batch: Rows = {}
    number = 0

    def flush() -> None:
        db.execute("BEGIN")
        for table, rows in batch.items():
            db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
        db.execute("COMMIT")
        batch.clear()

    for number, rows in enumerate(found, 1):
        for table, several in rows.items():
            batch.setdefault(table, []).extend(several)
        if number % BATCH == 0:
            flush()
    flush()
    return number


def embedded(suite: str) -> int:
    """Embeds every recorded output and what was expected of it with the default embedder's own library, in its batches."""
    import wordllama  # noqa: PLC0415  slow, and the other floors do without

    texts: list[str] = []
    for record in records(suite):
        for mapping in (record["fields"].get("outputs"), record["fields"].get("expectedOutputs")):
            texts.extend([mapping["output"]] if mapping else [])
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    for at in range(0, len(texts), 32):
        model.embed(texts[at : at + 32])
    return len(texts)


def main() -> None:
    _, suite, out, what = sys.argv
    floors = {"judge": lambda: inserted(judged(suite), out), "import": lambda: inserted(imported(suite), out)}
    sys.stdout.write(f"{floors[what]() if what in floors else embedded(suite)}\n")


if __name__ == "__main__":
    main()

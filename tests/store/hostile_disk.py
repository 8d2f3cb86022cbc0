"""A program that opens a store where the disk does not oblige, and says how it went.

    python -m tests.store.hostile_disk STORE MEGABYTES UID FILE_SIZE

Writes rows of one megabyte each, or only reads (MEGABYTES 0), as user UID (-1: as it is), with no file to grow beyond
FILE_SIZE bytes (-1: as large as it likes). Prints one JSON line: how many rows were acknowledged, and the refusal.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import Store, open_store

START = datetime(2026, 11, 21, 9, tzinfo=UTC)
"""Nothing of the engine is imported: it would take longer than the writing."""


async def write(store: Store, number: int) -> None:
    """Writes a row of about a megabyte."""
    fields: JsonValue = {"content": "x" * 1_000_000, "versionNumber": 1}
    wire: JsonValue = {"id": f"big{number}", "type": "prompt-version", "fields": fields}
    record = record_from_wire(wire, new_id="big", now=START)

    def save(db: Db) -> None:
        records.save(db, record)

    await store.write(save)


async def tried(path: Path, rows: int) -> dict[str, object]:
    """How many rows were acknowledged before the disk refused, and how it was told."""
    done = 0
    said: dict[str, object] = {"type": "", "message": "", "remedy": ""}
    read_only = rows == 0
    try:
        async with open_store(path, read_only=read_only) as store:
            try:
                for number in range(rows):
                    await write(store, number)
                    done += 1
            except StoreError as error:
                said = {"type": type(error).__name__, "message": error.message, "remedy": error.remedy}
            kept = len(await store.read(lambda db: records.page(db, "prompt-version", limit=1000)))
    except StoreError as error:
        return {"done": done, "type": type(error).__name__, "message": error.message, "remedy": error.remedy}
    problems = list((await check_store(path)).problems)
    return {"done": done, "kept": kept, "problems": problems, **said}


def main() -> None:
    """Runs it under the limits that the arguments name."""
    path, rows, uid, size = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    if uid >= 0:
        with TemporaryDirectory() as folder:
            anyio.run(tried, Path(folder) / "evals.db", 1)  # what this imports is out of the other user's reach
    if size >= 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    if uid >= 0:
        os.setuid(uid)
    sys.stdout.write(json.dumps(anyio.run(tried, path, rows)) + "\n")


if __name__ == "__main__":
    main()

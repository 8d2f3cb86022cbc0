"""A program that writes rows, one transaction each: python -m tests.store.writer STORE NAME COUNT."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import open_store
from minions_evals_mcp.store.events import Event, append

START = datetime(2026, 11, 21, 9, tzinfo=UTC)
"""Nothing of the engine is imported: it would take longer than the writing."""


def case(ident: str) -> Record[Fields]:
    """A row to write."""
    wire: JsonValue = {"id": ident, "type": "test-case", "fields": {"name": ident, "inputs": {"q": ident}}}
    return record_from_wire(wire, new_id=ident, now=START)


def save(db: Db, *, record: Record[Fields]) -> None:
    """Writes the record with its event."""
    records.save(db, record)
    append(db, Event("record-saved", record.type, record.id, {}), at=START)


async def write(path: Path, name: str, count: int) -> None:
    """Writes that many rows and prints the id of each once it is acknowledged."""
    async with open_store(path) as store:
        for number in range(count):
            ident = f"{name}:{number}"
            await store.write(partial(save, record=case(ident)))
            sys.stdout.write(f"{ident}\n")
            sys.stdout.flush()  # whoever kills this has heard of every row that was acknowledged


if __name__ == "__main__":
    anyio.run(write, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

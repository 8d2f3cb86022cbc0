"""`python -m tests.bench.figures.audit`: seconds to audit 1,000 cases, and the memory that 20,000 take beside 1,000.

Cases are of every sort of check, with holes in a third of them. The import that comes first is not timed.
`python -m tests.bench.figures.audit 1000 20000` names the sizes.
"""

from __future__ import annotations

import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import anyio

from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.engine.audit.suite import AuditSubject, audit_suite
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine, wall_clock
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.engine.planted_suites import PLANTED, SOUND, Case, fact_cases

SIZES = (1_000, 20_000)
AT_ONCE = 1_000


def cases() -> Iterator[Case]:
    """Test cases without end: sound ones and planted ones in turn, no two asking the same."""
    kinds = [case for held in PLANTED.values() for case in held]
    each = [case for case in (*SOUND, *fact_cases(), *kinds) if "_log" not in case]
    number = 0
    while True:
        for case in each:
            number += 1
            inputs = {**case["inputs"], "ticket": f"T-{number}"}
            yield {"id": f"bench/{number}", "type": "test-case", "fields": {**case, "inputs": inputs}}


async def _saved(engine: Engine, size: int) -> AuditSubject:
    made = islice(cases(), size)
    idents: list[str] = []
    while batch := list(islice(made, AT_ONCE)):
        await save_records(engine, [Arrival(record_from_wire(one, new_id="x", now=wall_clock())) for one in batch])
        idents += [one["id"] for one in batch]
    return AuditSubject("bench", "suite", tuple(idents))


async def _measured(size: int, *, suggest: bool, memory: bool) -> str:
    with tempfile.TemporaryDirectory() as folder:
        async with open_engine(EngineConfig(db=Path(folder) / "bench.db", skills=shipped_folder("skills"))) as engine:
            subject = await _saved(engine, size)
            engine.embedder()
            if memory:
                tracemalloc.start()
            began, cpu = time.perf_counter(), time.process_time()
            record = await audit_suite(engine, subject, suggest=suggest)
            seconds, spent = time.perf_counter() - began, time.process_time() - cpu
            peak = tracemalloc.get_traced_memory()[1] / 1e6 if memory else 0.0
            tracemalloc.stop()
    shown = f", peak {peak:.0f} MB" if memory else f" in {seconds:.2f} s ({spent:.2f} s of CPU)"
    return f"{record.fields.case_count:,} cases{', suggestions too' if suggest else ''}{shown}"


def main() -> None:
    """Prints the figures."""
    sizes = tuple(map(int, sys.argv[1:])) or SIZES
    for size in sizes[:1]:
        for suggest in (True, False):
            print(anyio.run(lambda size=size, suggest=suggest: _measured(size, suggest=suggest, memory=False)))  # noqa: T201
    for size in sizes:
        print(anyio.run(lambda size=size: _measured(size, suggest=True, memory=True)))  # noqa: T201


if __name__ == "__main__":
    main()

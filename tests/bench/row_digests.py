"""What the digest beside each row costs: the same rows written with and without, in one process, CPU time.

python -m tests.bench.row_digests [--rows 20000]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.connection import make_durable, open_raw
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.migrate import migrate
from minions_evals_mcp.store.rows import insert
from tests.shared.store.small_store import a_test_run, judgment
from tests.workshop import START

ROWS_OF_A_RUN = 5
GROUP = 50
ROUNDS = 3


def seconds(path: Path, runs: list[list[Record[Fields]]], *, digested: bool) -> float:
    """The CPU time of writing those runs, each with three judgments and its event, fifty to a transaction."""
    with closing(open_raw(path)) as db:
        migrate(db, path)
        make_durable(db)
        if digested:
            row_digests.keep(db)
        before = time.process_time()
        for first in range(0, len(runs), GROUP):
            db.execute("BEGIN IMMEDIATE")
            for run in runs[first : first + GROUP]:
                for record in run:
                    insert(db, record)
                append(db, Event("test-run-recorded", "test-run", run[0].id, {"passed": True}), at=START)
            db.execute("COMMIT")
        return time.process_time() - before


def main() -> None:
    """Prints both figures of the fastest of three rounds, and their difference for a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    rows: int = parser.parse_args().rows
    runs = [
        [a_test_run(f"r{n}", passed=True, actualOutput={"output": "word " * 100}), *(judgment(f"r{n}", f"c{c}") for c in range(3))]
        for n in range(rows // ROWS_OF_A_RUN)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        found = {
            digested: min(
                seconds(Path(folder) / f"{digested}{number}.db", runs, digested=digested) for number in range(ROUNDS)
            )
            for digested in (False, True)
        }
    plain, with_digests = (1e6 * found[digested] / rows for digested in (False, True))
    sys.stdout.write(
        f"{rows:,} rows: {plain:.1f} µs a row without digests, {with_digests:.1f} with: {with_digests - plain:.1f} µs more\n"
    )


if __name__ == "__main__":
    main()

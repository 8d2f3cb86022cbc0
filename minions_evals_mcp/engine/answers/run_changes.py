"""The verdicts in a list of runs: each concluded run beside the whole run before it."""

from __future__ import annotations

from collections.abc import Iterable

from minions_evals_mcp.engine.answers.names import version_names
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading, read_beside, read_pair
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.queries.run_lines import RunLine, run_lines

READ = 20_000
"""Outputs that a list of runs reads at most for its verdicts."""
NamedLines = tuple[list[RunLine], dict[str, str], dict[str, PairReading]]


def changes_beside(db: Db, asked: Iterable[str]) -> dict[str, PairReading]:
    """The verdict on each concluded run beside the run before it, and of each comparison, in that order until much is read.

    A run beyond that has none here; its own page reads it.
    """
    found: dict[str, PairReading] = {}
    read = 0
    for run_id in asked:
        outputs = runs.outputs_of(db, run_id)
        if outputs is None:
            if (compared := _compared(db, run_id)) is not None:
                found[run_id] = compared
            continue
        read += outputs
        if read > READ:
            break
        if (beside := read_beside(db, run_id)) is not None:
            found[run_id] = beside
    return found


def _compared(db: Db, ident: str) -> PairReading | None:
    """The reading of the two sides of a comparison that has ended."""
    record = run_pairs.comparison(db, ident)
    return None if record is None else read_pair(db, record.fields.benchmark_run_id_a, record.fields.benchmark_run_id_b)


def named_lines(db: Db, *, limit: int, with_traces: bool = True) -> NamedLines:
    """The newest runs, what people call their subjects and versions, and the verdicts."""
    lines = run_lines(db, limit=limit, with_traces=with_traces)
    names = version_names(db, (ident for line in lines for ident in (line.version, line.job.subject_id)))
    return lines, names, changes_beside(db, [line.job.id for line in lines])

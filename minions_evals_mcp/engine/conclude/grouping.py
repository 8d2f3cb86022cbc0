"""Cases that belong together: how many independent cases they count as, and which inputs look like groups that nobody set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.stats.comparison import FEW_GROUPS, groups_words
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.outputs import inputs_of_run

FEWEST_ALIKE = 0.5
"""From this share of cases with a document in common the run says that groups may be missing."""
LONG_PREFIX = 200
"""Inputs that begin with the same text of at least this length have a document in common."""
READ = 2000
"""At most this many cases are read for it."""


def grouping_notes(db: Db, run_id: str, sums: runs.Sums, effective: float) -> Iterator[str]:
    """Yields what groups make of the run's figures; without groups, that inputs share documents, where they do."""
    units = sums.passes.units
    if units < sums.cases:
        if words := groups_words(sums.cases, units, min(effective, sums.cases)):
            yield words
        if units < FEW_GROUPS:
            yield f"only {units} groups: with fewer than {FEW_GROUPS}, intervals can be too narrow"
        return
    shared, documents = shared_documents(db, run_id)
    if documents:
        yield (
            f"{shared} cases share {documents} {'document' if documents == 1 else 'documents'}, and no `group` is set:"
            " they count as independent. Set `group` on the cases, so that intervals and tests count documents"
        )


def shared_documents(db: Db, run_id: str) -> tuple[int, int]:
    """The number of cases whose input has a long text in common with another's, and of such texts; 0 where they are few.

    A text in common with all cases is the task's own instruction, and counts as none.
    """
    texts: Counter[str] = Counter()
    cases = 0
    for inputs in inputs_of_run(db, run_id, limit=READ):
        cases += 1
        parts = [part for part in inputs.values() if isinstance(part, str)] or [output_text(inputs)]
        texts.update({part[:LONG_PREFIX] for part in parts if len(part) >= LONG_PREFIX})
    common = [number for number in texts.values() if 1 < number < cases]
    shared = min(cases, sum(common))
    return (shared, len(common)) if cases and shared / cases >= FEWEST_ALIKE else (0, 0)

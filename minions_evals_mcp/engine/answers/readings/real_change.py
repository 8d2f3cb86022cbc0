"""The test of a real change of score from one run to another: one test for the front page, a run's page and the page of the two."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.engine.conclude.comparison import answered_apart, pairing
from minions_evals_mcp.engine.conclude.decision import MARGIN, left_open
from minions_evals_mcp.engine.conclude.missing_outputs import with_missing
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.comparison import ERROR, Difference, compare
from minions_evals_mcp.store.connection import Db, file_of
from minions_evals_mcp.store.queries.run_pairs import BothScores

KEPT = 2_000
"""So many answers are kept in memory: concluded runs never change, and ten thousand cases take a quarter of a second."""
_known: OrderedDict[tuple[str, str, str, int], Evidence | None] = OrderedDict()


@frozen_type
class RunsCompared:
    """The difference of two runs, None where they were not comparable; `why` that is, or why it is left open.

    `edited` counts the cases of both that are no part of it, for they were measured differently.
    """

    found: Difference | None
    why: str = ""
    edited: int = 0


def difference(db: Db, before: str, after: str, *, scores: BothScores | None = None, tests: int = 1) -> RunsCompared:
    """The difference between the two runs' scores on the cases that were measured alike, `tests` sharing the error.

    "improved" and "equivalent" must hold with each missing output as a failure, else it is inconclusive.
    """
    level = 1 - ERROR / tests
    if apart := answered_apart(db, before, after):
        return RunsCompared(None, apart)
    try:
        paired = pairing(db, before, after, scores=scores, allows_edits=True)
    except (BadInputError, ConflictError) as error:
        return RunsCompared(None, error.message_text)
    pairs = paired.pairs()
    found = compare(pairs, margin=MARGIN, level=level)
    if found.verdict not in {"improved", "equivalent"}:
        return RunsCompared(found, edited=paired.edited)
    why = left_open(found.verdict, pairs, with_missing(db, (before, after), (paired.a, paired.b), pairs), level=level)
    return RunsCompared(replace(found, verdict="inconclusive") if why else found, why, paired.edited)


def real_change(db: Db, before: str, after: str, *, tests: int = 1) -> Evidence | None:
    """Returns whether the change from one concluded run to the other is more than chance; None where they cannot be compared."""
    key = (file_of(db), before, after, tests)
    if key not in _known:
        _known[key] = _evidence(db, before, after, tests)
        if len(_known) > KEPT:
            _known.popitem(last=False)
    return _known[key]


def _evidence(db: Db, before: str, after: str, tests: int) -> Evidence | None:
    compared = difference(db, before, after, tests=tests)
    if compared.found is None:
        return None
    if compared.why:
        return "undecidable"
    return "supported" if compared.found.verdict in {"improved", "regressed"} else "within-noise"

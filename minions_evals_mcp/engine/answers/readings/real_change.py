"""The test of a real change of score from one run to another: one test for the front page, a run's page and the page of the two."""

from __future__ import annotations

from collections import OrderedDict

from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.engine.conclude.comparison import MARGIN, pairing
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.stats.comparison import ERROR, Difference, compare
from minions_evals_mcp.store.connection import Db, file_of
from minions_evals_mcp.store.queries.run_pairs import BothScores

KEPT = 2_000
"""So many answers are kept in memory: concluded runs never change, and ten thousand cases take a quarter of a second."""
_known: OrderedDict[tuple[str, str, str, int], Evidence | None] = OrderedDict()


def difference(
    db: Db, before: str, after: str, *, scores: BothScores | None = None, tests: int = 1
) -> tuple[Difference | None, str]:
    """Returns how far apart the two runs' scores are, `tests` sharing the error; None, and why, where they were not comparable."""
    try:
        return compare(pairing(db, before, after, scores=scores).pairs(), margin=MARGIN, level=1 - ERROR / tests), ""
    except (BadInputError, ConflictError) as error:
        return None, error.message_text


def real_change(db: Db, before: str, after: str, *, tests: int = 1) -> Evidence | None:
    """Returns whether the change from one concluded run to the other is more than chance; None where they cannot be compared."""
    key = (file_of(db), before, after, tests)
    if key not in _known:
        _known[key] = _evidence(db, before, after, tests)
        if len(_known) > KEPT:
            _known.popitem(last=False)
    return _known[key]


def _evidence(db: Db, before: str, after: str, tests: int) -> Evidence | None:
    changed, _ = difference(db, before, after, tests=tests)
    if changed is None:
        return None
    return "supported" if changed.verdict in {"improved", "regressed"} else "within-noise"

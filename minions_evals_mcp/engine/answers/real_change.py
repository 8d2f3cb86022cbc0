"""Whether the score really changed from one run to another: one test for the front page, a run's page and the page of the two."""

from __future__ import annotations

from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.engine.conclude.comparison import MARGIN, pairing
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.stats.comparison import Difference, compare
from minions_evals_mcp.store.connection import Db


def difference(db: Db, before: str, after: str) -> tuple[Difference | None, str]:
    """How far apart the two runs' scores are; None, and why, where they were not measured alike."""
    try:
        return compare(pairing(db, before, after).pairs(), margin=MARGIN), ""
    except (BadInputError, ConflictError) as error:
        return None, error.message


def real_change(db: Db, before: str, after: str) -> Evidence | None:
    """Whether the change is more than chance; None where the two cannot be compared."""
    found, _ = difference(db, before, after)
    if found is None:
        return None
    return "supported" if found.verdict in {"improved", "regressed"} else "within-noise"

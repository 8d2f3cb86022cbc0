"""One thing that is wrong in a log."""

from __future__ import annotations

from minions_evals_mcp.frozen_types import frozen_type


@frozen_type
class Finding:
    """The fault, at which step (from 0; None where no step is to blame), in words that quote it.

    `confidence` (0 to 1) ranks findings by their kind. It is not shown: on logs of other agents it does not hold.
    """

    kind: str
    place: int | None
    said: str
    confidence: float

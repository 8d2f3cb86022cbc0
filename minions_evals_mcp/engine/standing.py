"""The progress of a run, as those who watch it are told."""

from __future__ import annotations

from minions_evals_mcp.frozen_types import frozen_type


@frozen_type
class RunProgress:
    """One run under way. `total` and `done` count units (case × trial), `unscored` those that have no verdict.

    `spent_usd` is what was spent so far: model calls, and what the target itself says; None where a price is not known.
    `key`: under which the whole goes on, once it was interrupted.
    """

    run_id: str
    total: int
    done: int = 0
    failed: int = 0
    unscored: int = 0
    spent_usd: float | None = 0.0
    key: str = ""

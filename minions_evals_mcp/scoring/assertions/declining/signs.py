"""The signs of a refusal, or against one, and how much."""

from __future__ import annotations

import re

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late


@frozen_type
class Sign:
    """A sign of a refusal (or, below 0, against): its weight in the first sentence, in the next two, and later.

    A `core` sign is about the request itself; without one nothing else makes a refusal.
    """

    name: str
    pattern: re.Pattern[str]
    first: float
    early: float
    later: float = 0.0
    core: bool = False


def sign(
    name: str, pattern: str, first: float, early: float | None = None, *, later: float = 0.0, core: bool = False
) -> Sign:
    """A sign that weighs `first` in the first sentence, and 0.7 of it in the next two unless `early` says otherwise."""
    return Sign(name, late(pattern), first, 0.7 * first if early is None else early, later, core)

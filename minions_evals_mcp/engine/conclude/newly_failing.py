"""The cases that fail and passed before, grouped by what they have in common: the root cause of a regression, as far as kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import failure_groups
from minions_evals_mcp.store.queries.shared_cases import NewlyFailing

NAMED = 3
"""So many groups are named."""


@frozen_type
class FailureGroups:
    """The number of the failing cases that bear each tag, failed in each way, and missed each criterion; the commonest first."""

    cases: int
    tags: tuple[tuple[str, int], ...]
    types: tuple[tuple[FailureType, int], ...]
    criteria: tuple[str, ...]

    def in_words(self) -> str:
        """The groups in words."""
        tags = ", ".join(f"{tag} ({count} of {self.cases})" for tag, count in self.tags[:NAMED]) or "untagged"
        types = ", ".join(f"{kind} ({count})" for kind, count in self.types[:NAMED])
        return f"by tag: {tags}; by cause: {types}"


def failure_groups_of(db: Db, failing: Sequence[NewlyFailing]) -> FailureGroups:
    """The groups of those failing runs, each case counted once."""
    worst = {failure.case_id: failure for failure in reversed(failing)}
    return groups_of_runs(db, [failure.run_id for failure in worst.values()])


def groups_of_runs(db: Db, test_run_ids: Sequence[str]) -> FailureGroups:
    """The groups of those failed test-runs, one of each case."""
    causes = failure_groups.causes(db, test_run_ids)
    tags = Counter(tag for cause in causes for tag in dict.fromkeys(cause.tags))
    types: Counter[FailureType] = Counter(cause.failure_type for cause in causes)
    criteria = Counter(criterion for cause in causes for criterion in cause.criteria)
    return FailureGroups(
        len(causes),
        tuple(_commonest(tags)),
        tuple(types.most_common()),
        tuple(name for name, _ in _commonest(criteria)),
    )


def _commonest(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))

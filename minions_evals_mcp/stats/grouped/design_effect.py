"""How much less a case tells that shares a group with others (Kish 1965, Survey Sampling, section 5.4)."""

from __future__ import annotations

from minions_evals_mcp.frozen_types import frozen_type


@frozen_type
class Layout:
    """Cases in groups: sums of squares between and within the groups, and the sum of the squared group sizes."""

    cases: float
    groups: int
    between: float
    within: float
    sizes_squared: float

    @property
    def correlation(self) -> float:
        """The intra-class correlation, at least 0: one-way layout, unequal sizes (Searle, Casella & McCulloch 1992, ch. 3).

        One large group leaves the variance of its own mean untold, which therefore is taken from all groups.
        """
        if self.groups < 2:
            return 1.0
        between, free = self.between / (self.groups - 1), self.cases - self.groups
        within = self.within / free if free > 0 else 0.0
        typical = (self.cases - self.sizes_squared / self.cases) / (self.groups - 1)
        whole = between + (typical - 1) * within
        return min(1.0, max(0.0, (between - within) / whole)) if whole > 0 else 0.0


def design_effect(correlation: float, typical_size: float) -> float:
    """The variance of a mean over groups, as a multiple of that over independent cases; at least 1.

    `typical_size`: the mean size of the group in which a case is, by what the cases count.
    """
    return max(1.0, 1 + correlation * (typical_size - 1))

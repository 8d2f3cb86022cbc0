"""The statistics of looking at a comparison after every case: when it is settled, and how."""

from __future__ import annotations

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.comparison import ComparisonVerdict
from minions_evals_mcp.stats.sequential import WHILE_LOOKING, InterimAnalysis, deciding_level, look, pass_evidence
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import run_pairs


@frozen_type
class SequentialOutcome:
    """The outcome of the looks: after how many of the planned cases, and the decision."""

    look: InterimAnalysis
    seen: int
    planned: int
    level: float

    @property
    def verdict(self) -> ComparisonVerdict:
        """The decision as a verdict: what is not settled is inconclusive."""
        return "inconclusive" if self.look.decision == "continue" else self.look.decision

    def in_words(self) -> str:
        """For the comparison's notes."""
        if self.look.p_value is not None:
            return (
                f"sequential: all {self.planned} cases were needed (exact McNemar at"
                f" {(1 - WHILE_LOOKING) * self.level:.2g}, p = {self.look.p_value:.2g})"
            )
        return (
            f"sequential: settled after {self.seen} of {self.planned} cases (evidence {self.look.evidence:.0f} to 1),"
            f" {self.planned - self.seen} saved; the interval does not account for stopping early"
        )


def settled(db: Db, run_a: str, run_b: str, *, planned: int, level: float) -> SequentialOutcome | None:
    """The first look that settles it, over the cases that were scored in both so far; None while none does."""
    b = c = 0
    for seen, (before, after) in enumerate(run_pairs.passes_in_order(db, run_a, run_b), 1):
        b, c = b + (after and not before), c + (before and not after)
        looked = look(b, c, seen, planned, level=level)
        if looked.decision != "continue":
            return SequentialOutcome(looked, seen, planned, level)
    return None


def concluded(db: Db, run_a: str, run_b: str, *, planned: int, level: float) -> SequentialOutcome:
    """Returns what the looks came to once nothing more is run; cases that could not be scored are no longer planned."""
    settled_look = settled(db, run_a, run_b, planned=planned, level=level)
    if settled_look is not None:
        return settled_look
    passes = run_pairs.passes_in_order(db, run_a, run_b)
    gained = sum(after and not before for before, after in passes)
    lost = sum(before and not after for before, after in passes)
    return SequentialOutcome(look(gained, lost, len(passes), len(passes), level=level), len(passes), len(passes), level)


def smallest_level(db: Db, run_a: str, run_b: str, *, p_value: float | None) -> float:
    """The smallest error in all at which the looks would have found a gain; `p_value` is that of the planned end, if reached."""
    b = c = 0
    smallest = 1.0
    for before, after in run_pairs.passes_in_order(db, run_a, run_b):
        b, c = b + (after and not before), c + (before and not after)
        if b > c:
            smallest = min(smallest, deciding_level(pass_evidence(b, c), None))
    return min(smallest, deciding_level(0.0, p_value)) if b > c else smallest

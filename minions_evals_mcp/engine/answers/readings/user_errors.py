"""How often the player of a user spoiled a conversation of a run: an error of the instrument, beside the figures that rest on it."""

from __future__ import annotations

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.stats.intervals import wilson
from minions_evals_mcp.store import talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.talks import spoiled_counts


class UserErrors(Value):
    """The rate of spoiled conversations (0 to 1) with its 95 % interval, and what was wrong in how many.

    Each attempt at a conversation counts. Those of a script count only where it did something wrong.
    """

    conversations: int
    spoiled: int
    rate: float
    interval: tuple[float, float]
    kinds: dict[str, int]

    @property
    def sentence(self) -> str:
        """The rate in words."""
        low, high = (100 * end for end in self.interval)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items(), key=lambda kind: -kind[1]))
        return (
            f"user errors: the player of the user spoiled {self.spoiled} of {self.conversations} conversations"
            f" ({100 * self.rate:.1f} %, 95 %: {low:.1f}–{high:.1f} %){f': {kinds}' if kinds else ''}. They have no verdict."
        )


def read_user_errors(db: Db, job_id: str) -> UserErrors | None:
    """The user errors of that job; None where nobody played a user who can do wrong."""
    counts = spoiled_counts(db, job_id)
    spoiled = sum(counts.spoiled.values())
    interval = wilson(spoiled, counts.checked)
    if interval is None:
        return None
    return UserErrors(
        conversations=counts.checked,
        spoiled=spoiled,
        rate=spoiled / counts.checked,
        interval=interval,
        kinds=counts.spoiled,
    )


def read_talks(db: Db, *, job_id: str, case_id: str | None, most: int) -> tuple[list[talks.TalkRow], UserErrors | None]:
    """The conversations of a job in order, of one case where it is named, and how many their users spoiled."""
    return talks.of_job(db, job_id, case_id=case_id, most=most), read_user_errors(db, job_id)

"""How much of the variance of a run of conversations is the agent's and how much the user's, and which of the two to buy more of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.readings.user_errors import root_of
from minions_evals_mcp.store import talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.talks import SeededResult

if TYPE_CHECKING:
    from minions_evals_mcp.stats.nested.agent_and_user import AgentAndUser

AS_GOOD = 0.8
"""Repeats that gain at least this share of what user seeds gain are as good as they."""
Buy = Literal["user-seeds", "repeats", "not-known"]


class VarianceSplit(Value):
    """The shares (0 to 1) of the agent and of the user in the variance between trials of a case.

    `cases` is how many cases it rests on, `seeds` and `repeats` how many user seeds a case has and how often each was repeated, on
    average. `buy` says what more conversations should be: other user seeds, or repeats of the same, which gain as much where users do not
    differ. The errors are standard errors of the pass rate that are due to trials: now, with twice the seeds, twice the repeats.
    """

    agent_share: float
    user_share: float
    user_interval: tuple[float, float] | None
    cases: int
    seeds: float
    repeats: float
    buy: Buy
    error: float
    error_by_seeds: float
    error_by_repeats: float

    @property
    def sentence(self) -> str:
        """The split and the advice in words."""
        interval = self.user_interval
        bounds = "" if interval is None else f" (95 %: {100 * interval[0]:.0f}–{100 * interval[1]:.0f} %)"
        return (
            f"variance between trials: {100 * self.agent_share:.0f} % the agent's, {100 * self.user_share:.0f} % the"
            f" user's{bounds},"
            f" over {self.cases} cases with {self.seeds:.3g} user seeds, each {self.repeats:.3g} times. {self._advice()}"
        )

    def _advice(self) -> str:
        points = (100 * error for error in (self.error, self.error_by_seeds, self.error_by_repeats))
        now, seeds, repeats = (f"{error:.1f}" for error in points)
        gains = (
            f"The pass rate's error by trials is {now} points; twice the user seeds make it {seeds}, twice the repeats"
            f" {repeats}."
        )
        match self.buy:
            case "user-seeds":
                return f"{gains} Use more user seeds."
            case "repeats":
                return f"{gains} Use more repeats: users hardly differ."
            case "not-known":
                return f"{gains} More cases are needed to know which of the two helps more."


def read_variance_split(db: Db, job_id: str) -> VarianceSplit | None:
    """The split of that job; None where no case has both several user seeds and several trials of one."""
    found = talks.seeded(db, job_id=job_id, root_id=root_of(db, job_id))
    if not found:
        return None
    from minions_evals_mcp.stats.nested.agent_and_user import agent_and_user  # noqa: PLC0415  users with seeds are rare

    split = agent_and_user(_nested(found))
    if split is None or split.agent + split.user <= 0:
        return None
    return VarianceSplit(
        agent_share=1 - split.user_share,
        user_share=split.user_share,
        user_interval=split.share_interval,
        cases=split.cases,
        seeds=split.seeds,
        repeats=split.repeats,
        buy=_buy(split),
        error=split.standard_error(),
        error_by_seeds=split.standard_error(seeds=2),
        error_by_repeats=split.standard_error(repeats=2),
    )


def _nested(results: Sequence[SeededResult]) -> list[list[list[float]]]:
    """The results by case and user seed."""
    cases: dict[str, dict[int, list[float]]] = {}
    for result in results:
        cases.setdefault(result.case_id, {}).setdefault(result.user_seed, []).append(float(result.passed))
    return [[*seeds.values()] for seeds in cases.values()]


def _buy(split: AgentAndUser) -> Buy:
    interval = split.gain_interval
    if interval is None:
        return "not-known"
    return "repeats" if interval[0] >= AS_GOOD else "user-seeds" if interval[1] < AS_GOOD else "not-known"

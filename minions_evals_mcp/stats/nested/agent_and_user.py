"""The variance between trials of a conversation, split into the agent's and the user's: trials nested in user seeds.

Method of moments for an unbalanced nested design (Searle, Casella & McCulloch 1992, Variance Components, ch. 3), pooled over cases.
The interval is a bootstrap over cases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.intervals import Bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_CASES = 5
"""Of fewer cases no interval is drawn."""
DRAWS, SEED = 1000, 7


@frozen_type
class AgentAndUser:
    """The variances within a case: of the agent, among trials with the same user, and of the user, among user seeds.

    `repeats_gain` is how much of the variance that twice the user seeds take away is taken away by twice the repeats of each seed,
    at the same number of conversations (0 to 1): 1 where users do not differ. Its interval is None for too few cases.
    """

    agent: float
    user: float
    cases: int
    seeds: float
    repeats: float
    repeats_gain: float
    gain_interval: Bounds | None
    share_interval: Bounds | None

    @property
    def user_share(self) -> float:
        """The user's share of the variance between trials."""
        both = self.agent + self.user
        return self.user / both if both > 0 else 0.0

    def standard_error(self, *, seeds: float = 1, repeats: float = 1) -> float:
        """The standard error of the mean over those cases that is due to trials, with so many times the seeds and repeats."""
        users, each = self.seeds * seeds, self.repeats * repeats
        return math.sqrt((self.user / users + self.agent / (users * each)) / self.cases)


def agent_and_user(cases: Sequence[Sequence[Sequence[float]]]) -> AgentAndUser | None:
    """The split over cases, each a list of user seeds with the results of their trials.

    None where no case has two user seeds, or none of them two trials: one of the two cannot be told, then.
    """
    import numpy as np  # noqa: PLC0415  where trials are nested

    parts = np.array([_sums(seeds) for seeds in cases if sum(map(len, seeds)) > 1], dtype=float).reshape(-1, 5)
    found = _components(parts.sum(axis=0)) if len(parts) else None
    if found is None:
        return None
    sizes = [len(trials) for seeds in cases for trials in seeds if trials]
    users = len(sizes) / len(cases)
    each = sum(sizes) / len(sizes)
    agent, user = found
    gain_interval = share_interval = None
    if len(parts) >= FEWEST_CASES:
        draws = np.random.default_rng(SEED).multinomial(len(parts), [1 / len(parts)] * len(parts), size=DRAWS) @ parts
        within, free_within, between, free_between, weight = draws[(draws[:, (1, 3, 4)] > 0).all(axis=1)].T
        of_agent = within / free_within
        of_user = np.maximum(0.0, (between - free_between * of_agent) / weight)
        both = of_agent + of_user
        told = both > 0
        gains = np.where(told, of_agent / np.where(told, of_agent + each * of_user, 1.0), 1.0)
        gain_interval = _interval(gains)
        share_interval = _interval(np.where(told, of_user / np.where(told, both, 1.0), 0.0))
    gain = agent / (agent + each * user) if agent + user > 0 else 1.0
    return AgentAndUser(agent, user, len(cases), users, each, gain, gain_interval, share_interval)


def _sums(seeds: Sequence[Sequence[float]]) -> tuple[float, float, float, float, float]:
    """The sums of squares within and between seeds, their degrees of freedom, and the weight of the users' variance."""
    seeds = [trials for trials in seeds if trials]
    means = [math.fsum(trials) / len(trials) for trials in seeds]
    total = sum(map(len, seeds))
    whole = math.fsum(len(trials) * mean for trials, mean in zip(seeds, means, strict=True)) / total
    within = math.fsum((one - mean) ** 2 for trials, mean in zip(seeds, means, strict=True) for one in trials)
    between = math.fsum(len(trials) * (mean - whole) ** 2 for trials, mean in zip(seeds, means, strict=True))
    weight = total - sum(len(trials) ** 2 for trials in seeds) / total
    return within, total - len(seeds), between, len(seeds) - 1, weight


def _components(sums: Sequence[float]) -> tuple[float, float] | None:
    """The agent's and the user's variance, none below 0; None without degrees of freedom for either."""
    within, free_within, between, free_between, weight = sums
    if free_within <= 0 or free_between <= 0 or weight <= 0:
        return None
    agent = within / free_within
    return float(agent), float(max(0.0, (between - free_between * agent) / weight))


def _interval(values: NDArray[Any]) -> Bounds | None:
    import numpy as np  # noqa: PLC0415  as above

    if not len(values):
        return None
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)

"""The sample that would settle an open comparison: more cases, or more trials of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.case_pairs import CaseDifferences, CasePair
from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.paired import fewest_changed

POWER = 0.8
MOST_CASES = 10_000
MOST_TRIALS = 20
"""More than this is no advice."""


@frozen_type
class Spread:
    """The difference seen, and how much the cases vary about it: `total` is the variance, `noise` the trials' part of it.

    `noise` is None where no case was tried twice in both versions: then nobody knows what further trials would do. `unit`
    is what `cases` counts: a group where cases share one.
    """

    delta: float
    cases: int
    changed: int
    trials: int
    total: float
    noise: float | None
    unit: str = "case"


def spread_of(pairs: Sequence[CasePair], measured: CaseDifferences) -> Spread:
    """The spread of at least two cases or groups, by weight (the linearized variance, Cochran 1977, Sampling Techniques, 6.4)."""
    total = math.fsum(rest**2 for rest in measured.rests) / (measured.cases - 1)
    if measured.groups:
        units, trials = measured.by_group(), min(pair.trials for pair in pairs)
        total *= measured.design_effect * units.cases / measured.cases
        return Spread(units.delta, units.cases, units.changed, trials, total, None, "group")
    noises = [
        share**2 * pair.noise for share, pair in zip(measured.shares, pairs, strict=True) if pair.noise is not None
    ]
    return Spread(
        delta=measured.delta,
        cases=measured.cases,
        changed=measured.changed,
        trials=min(pair.trials for pair in pairs),
        total=total,
        noise=fmean(noises) if noises else None,
    )


def cases_to_show(spread: Spread, *, level: float = 0.95) -> float:
    """Returns how many cases in all show a difference as large as the one seen, at 80 % power.

    Miller 2024, arXiv:2411.00640, equation 9; and so many that the fewest changed cases which can decide are among them.
    """
    if not spread.delta:
        return math.inf
    rare = fewest_changed(level) * spread.cases / spread.changed
    return max(rare, _reach(level, POWER) ** 2 * spread.total / spread.delta**2)


def trials_to_show(spread: Spread, *, level: float = 0.95) -> float:
    """Returns how many trials of each of the same cases would do (the same equation), infinite where none or nobody knows."""
    if not spread.noise:
        return math.inf
    between = max(0.0, spread.total - spread.noise)
    allowed = spread.cases * (spread.delta / _reach(level, POWER)) ** 2 - between
    return spread.trials * spread.noise / allowed if allowed > 0 else math.inf


def cases_to_rule_out(spread: Spread, margin: float, *, level: float = 0.95) -> float:
    """Returns how many cases in all put the interval within the margin, at 80 % power if the difference is the one seen.

    Two one-sided tests (Chow, Shao & Wang 2008, Sample Size Calculations, section 3.1), and as many as Tango's interval
    needs where nothing changes: z²(1 - margin) / margin.
    """
    room = margin - abs(spread.delta)
    if room <= 0:
        return math.inf
    unseen = _reach(level, 0.5) ** 2 * (1 - margin) / margin if spread.changed < fewest_changed(level) else 0.0
    return max(unseen, _reach(level, (1 + POWER) / 2) ** 2 * spread.total / room**2)


SMALLEST_EFFECT = 1e-4


@frozen_type
class Variation:
    """The variation of a benchmark's paired differences, out of which a sample is planned.

    `total` is the variance of one unit's difference, `noise` the part of it that further trials take away (None where nobody
    knows), `units` the cases or, where cases share one, the groups, of `trials` each. `changed` is the share of units that
    differ at all. A true effect adds its own variance: of passes, which change as a whole, more than of scores.
    """

    total: float
    noise: float | None
    units: int
    changed: float
    trials: int = 1
    unit: str = "case"
    is_pass_or_fail: bool = False

    def of_unit(self, effect: float, trials: int) -> float:
        """The variance of one unit's difference of so many trials under a true effect."""
        noise = 0.0 if self.noise is None else self.noise * (1 - self.trials / trials)
        return max(0.0, self.total - noise) + (effect * (1 - effect) if self.is_pass_or_fail else effect**2)


def variation_of(pairs: Sequence[CasePair], measured: CaseDifferences) -> Variation:
    """The variation seen between two runs of at least two cases or groups."""
    spread = spread_of(pairs, measured)
    binary = not measured.groups and all(pair.is_pass_or_fail for pair in pairs)
    changed = spread.changed / spread.cases
    return Variation(spread.total, spread.noise, spread.cases, changed, spread.trials, spread.unit, binary)


def variation_of_one_run(pairs: Sequence[CasePair], measured: CaseDifferences) -> Variation:
    """The variation that two runs like this one have if they vary independently: twice its variance."""
    alone = measured_scores(pairs, measured)
    spread = spread_of(pairs, alone)
    binary = not measured.groups and all(pair.is_pass_or_fail for pair in pairs)
    return Variation(2 * spread.total, None, spread.cases, 1.0, spread.trials, spread.unit, binary)


def measured_scores(pairs: Sequence[CasePair], measured: CaseDifferences) -> CaseDifferences:
    """The scores of one side in place of the differences."""
    return CaseDifferences(tuple(fmean(pair.a) for pair in pairs), measured.shares, measured.groups)


def units_needed(seen: Variation, effect: float, *, trials: int, power: float = POWER, level: float = 0.95) -> int:
    """The number of cases or groups in all that show a true effect of that size so often (Miller 2024, equation 9).

    The last term makes up for the variance being estimated (Guenther 1981, The American Statistician 35:243).
    """
    needed = _reach(level, power) ** 2 * seen.of_unit(effect, trials) / effect**2
    needed += NormalDist().inv_cdf((1 + level) / 2) ** 2 / 2
    rare = fewest_changed(level) / min(1.0, seen.changed + effect)
    return math.ceil(max(needed, rare, 2.0) - 1e-9)


def trials_needed(seen: Variation, effect: float, *, power: float = POWER, level: float = 0.95) -> int | None:
    """The number of trials of each of the units at hand that would do; None where more trials cannot, or nobody knows."""
    if seen.noise is None:
        return None
    fits = (
        trials
        for trials in range(1, MOST_TRIALS + 1)
        if units_needed(seen, effect, trials=trials, power=power, level=level) <= seen.units
    )
    return next(fits, None)


def smallest_effect(
    seen: Variation, *, units: int, trials: int, power: float = POWER, level: float = 0.95
) -> float | None:
    """The smallest true effect that so many units show so often; None where even the largest would not."""

    def is_shown(effect: float) -> bool:
        return units_needed(seen, effect, trials=trials, power=power, level=level) <= units

    if not is_shown(1.0):
        return None
    low, high = SMALLEST_EFFECT, 1.0
    while high - low > SMALLEST_EFFECT / 2:
        middle = (low + high) / 2
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return high


def what_would_settle(
    spread: Spread, interval: Bounds, *, margin: float, level: float = 0.95, show_level: float | None = None
) -> str:
    """In words, the smaller effort: what shows the difference seen, or shows that none is left beyond the margin.

    `show_level` is that at which the difference is shown, where it is another.
    """
    show_level = level if show_level is None else show_level
    show = cases_to_show(spread, level=show_level) - spread.cases
    rule_out = cases_to_rule_out(spread, margin, level=level) - spread.cases
    if show <= min(rule_out, MOST_CASES):
        return _more(show, spread.unit) + _trials(spread, show_level)
    ruled_out = (
        f"{_more(rule_out, spread.unit)}, to show that the difference is within {margin:g}"
        if rule_out <= MOST_CASES
        else ""
    )
    if ruled_out and show <= MOST_CASES:
        return ruled_out
    no_number = f"no number of {spread.unit}s like those seen would show a difference: it is within {max(map(abs, interval)):.2g}"
    return "; ".join(filter(None, (no_number, ruled_out)))


def _reach(level: float, power: float) -> float:
    """The standard errors that lie between no difference and one that is found that often."""
    normal = NormalDist()
    return normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(power)


def _more(further: float, unit: str) -> str:
    return f"about {_roughly(further)} more {unit}{'s' * (further > 1)}"


def _trials(spread: Spread, level: float) -> str:
    """Said only where most of what varies is trials, not cases."""
    further = trials_to_show(spread, level=level) - spread.trials
    if spread.noise is None or spread.noise < spread.total / 2 or further > MOST_TRIALS:
        return ""
    return f", or {max(1, math.ceil(further))} more trial{'s' * (further > 1)} each"


def _roughly(further: float) -> int:
    """At least 1, rounded up to two figures."""
    unit = 10 ** max(0, math.floor(math.log10(max(1.0, further))) - 1)
    return max(1, math.ceil(further / unit) * unit)

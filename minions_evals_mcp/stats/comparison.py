"""Did it get better? Two versions on the same cases, paired by case, with the trials of a case averaged first.

Contracts, section 9. A verdict needs the test and the interval: of two versions that do not differ, "improved" or
"regressed" is said in at most 5 % of comparisons, whatever the number of cases and trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.case_pairs import (
    DECIMALS,
    CaseDifferences,
    CasePair,
    checked_pairs,
    pass_differences,
    score_differences,
    score_means,
)
from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.paired import fewest_changed, mcnemar_exact
from minions_evals_mcp.stats.settling import spread_of, what_would_settle
from minions_evals_mcp.stats.tango import tango_interval

Method = Literal["mcnemar+tango", "sign-flip"]
METHOD_WORDS: dict[str, str] = {
    "mcnemar+tango": "exact McNemar test, Tango's interval",
    "sign-flip": "sign-flip test and the interval that inverts it",
}
"""What each method is, to a reader."""
ComparisonVerdict = Literal["improved", "regressed", "equivalent", "inconclusive"]
SKEWED_UP_TO = 20
STRONG_SKEW = 0.7
"""Of exponential differences, 65 % of samples of 10 and 85 % of 20 are this skewed, and 22 and 14 % of normal ones."""
_DUST = 1e-9


@frozen_type
class PassChange:
    """The change of the passes: `delta` is the pass rate of B minus that of A, as fractions, every case counting once.

    `b` cases gained their pass and `c` lost it; with several trials, their share of passed trials rose and fell.
    With one trial p is exact McNemar's and the interval Tango's; with several both are those of the sign-flip test.
    """

    b: int
    c: int
    delta: float
    interval: Bounds
    p_value: float
    method: Method


@frozen_type
class Difference:
    """The amount by which the overall score of B lies above that of A (`delta`), how sure that is, and what would settle it.

    `trials`: the smallest number in either arm. `better` and `worse`: cases whose mean score rose and fell. `caution`
    and `settle` are "" where there is nothing to say. `groups`: the independent groups that the cases form (as many as
    cases where none share one). `effective_cases`: the number of independent cases that would tell as much. `scores` are those
    of A and B over the same cases.
    """

    delta: float
    interval: Bounds
    p_value: float
    method: Method
    verdict: ComparisonVerdict
    cases: int
    trials: int
    better: int
    worse: int
    passes: PassChange
    caution: str
    settle: str
    groups: int = 0
    effective_cases: float = 0.0
    scores: tuple[float, float] = (0.0, 0.0)


FEW_GROUPS = 20
"""With fewer groups an interval can cover less than it states."""
WORTH_TELLING = 1.1
"""A design effect above this is part of every answer."""


def groups_words(cases: int, groups: int, effective: float) -> str:
    """States how many independent cases the grouped cases count as; empty where that is within 10 %."""
    if groups >= cases or cases <= effective * WORTH_TELLING:
        return ""
    return (
        f"{cases} cases in {groups} groups count as about {max(1, round(effective))} independent cases"
        f" (design effect {cases / max(effective, 1e-9):.1f})"
    )


@frozen_type
class _Terms:
    margin: float
    level: float
    fall_level: float
    seed: int

    @property
    def error(self) -> float:
        return round(1 - self.level, DECIMALS)

    @property
    def fewest_changed(self) -> int:
        """The fewest changed cases that can decide anything."""
        return fewest_changed(self.level)

    def toward(self, delta: float) -> float:
        """The level at which a difference of that direction is decided."""
        return self.fall_level if delta < 0 else self.level


@frozen_type
class _Tested:
    interval: Bounds
    p_value: float
    method: Method
    doubt: float = 0.0


def why_undecided(interval: Bounds, p_value: float, error: float) -> str:
    """Returns why a difference is not decided where the test and the interval say different things; empty where both leave it open."""
    apart = interval[0] > _DUST or interval[1] < -_DUST
    below = p_value <= error + _DUST
    if apart and below:
        return ": it is too near the limit to be told"
    if apart:
        return ": the test decides and cannot tell, though the interval leaves 0 out"
    return ": the interval reaches 0, though the test alone could tell" if below else ""


ERROR = 0.05
"""How often a verdict may be by chance; several on the same outputs share it."""


def compare(
    pairs: Sequence[CasePair],
    *,
    margin: float = 0.05,
    level: float = 1 - ERROR,
    next_level: float | None = None,
    fall_level: float | None = None,
    seed: int = 0,
) -> Difference:
    """The difference of two versions; ValueError for ids, scores, trials or weights that cannot be compared.

    Cases that share a `group` are flipped together, so that the test and the interval count groups, not cases.
    "improved" or "regressed": the test at 1 - `level` and the interval both exclude 0; "equivalent": the interval lies
    within `margin` of 0. Only passes with one trial and equal weights go by McNemar and Tango, the rest by sign-flip.
    A simulated p-value must lie so far below the limit that no other `seed` would likely find it above. `next_level` is the
    level of the next comparison, at which more cases would have to settle it; None: the same. Where a fall is decided at a
    level of its own, `fall_level`, `caution` and `settle` of a fall go by that one.
    """
    terms, pairs = _terms(margin, level, fall_level, seed), checked_pairs(pairs)
    passes, scores = pass_differences(pairs), score_differences(pairs)
    single = not passes.groups and all(len(pair.a) == len(pair.b) == 1 for pair in pairs)
    passes_tested = _by_counts(passes, terms) if single else _by_flips(passes, terms)
    same = scores.shares == passes.shares and all(pair.is_pass_or_fail for pair in pairs)
    tested = passes_tested if same else _by_flips(scores, terms)
    verdict = _verdict(scores, tested, terms)
    return Difference(
        delta=scores.delta,
        interval=tested.interval,
        p_value=tested.p_value,
        method=tested.method,
        verdict=verdict,
        cases=scores.cases,
        trials=min(pair.trials for pair in pairs),
        better=scores.better,
        worse=scores.worse,
        passes=_pass_change(passes, passes_tested),
        caution=_caution(scores, tested, verdict, terms),
        settle="" if verdict != "inconclusive" else _settle(pairs, scores, tested, terms, next_level),
        groups=scores.by_group().cases,
        effective_cases=scores.cases / scores.design_effect,
        scores=score_means(pairs),
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted for being looked at together, in the order given (Holm 1979, Scand. J. Statist. 6:65)."""
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("a p-value lies between 0 and 1")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return tuple(adjusted)


def _terms(margin: float, level: float, fall_level: float | None, seed: int) -> _Terms:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, not {level}")
    if not 0 < margin <= 1:
        raise ValueError(f"a margin of equivalence lies between 0 and 1, not {margin}")
    return _Terms(margin, level, level if fall_level is None else fall_level, seed)


def _by_counts(passes: CaseDifferences, terms: _Terms) -> _Tested:
    p_value = mcnemar_exact(passes.better, passes.worse)
    return _Tested(_of_counts(passes, terms), p_value, "mcnemar+tango")


def _of_counts(measured: CaseDifferences, terms: _Terms) -> Bounds:
    low, high = tango_interval(measured.better, measured.worse, measured.cases, level=terms.level)
    return round(low, DECIMALS), round(high, DECIMALS)


def _by_flips(measured: CaseDifferences, terms: _Terms) -> _Tested:
    from minions_evals_mcp.stats.sign_flip import sign_flip  # noqa: PLC0415  numpy: 0.3 s that passes do not need

    units = measured.by_group()
    flipped = sign_flip(units.differences, units.shares, level=terms.level, seed=terms.seed)
    low, high = flipped.interval
    return _Tested((round(low, DECIMALS), round(high, DECIMALS)), flipped.p_value, "sign-flip", flipped.doubt)


def _verdict(measured: CaseDifferences, tested: _Tested, terms: _Terms) -> ComparisonVerdict:
    low, high = tested.interval
    significant = tested.p_value + tested.doubt <= terms.error
    if significant and low > _DUST:
        return "improved"
    if significant and high < -_DUST:
        return "regressed"
    if max(-low, high) < terms.margin and _varied_enough(measured, terms):
        return "equivalent"
    return "inconclusive"


def _varied_enough(measured: CaseDifferences, terms: _Terms) -> bool:
    """Returns whether enough cases changed to show by how much cases vary, or so many stayed equal that few others can change."""
    units = measured.by_group()
    if units.changed >= terms.fewest_changed:
        return True
    low, high = _of_counts(units, terms)
    return max(-low, high) < terms.margin


def _pass_change(passes: CaseDifferences, tested: _Tested) -> PassChange:
    return PassChange(passes.better, passes.worse, passes.delta, tested.interval, tested.p_value, tested.method)


def _caution(measured: CaseDifferences, tested: _Tested, verdict: ComparisonVerdict, terms: _Terms) -> str:
    units, noun = measured.by_group(), "groups" if measured.groups else "cases"
    level = terms.toward(measured.delta)
    changed, fewest, error = units.changed, fewest_changed(level), round(1 - level, DECIMALS)
    if changed < fewest and verdict == "inconclusive":
        return f"{changed} of {units.cases} {noun} changed: fewer than {fewest} cannot be decided"
    if tested.method == "sign-flip" and units.cases <= SKEWED_UP_TO and abs(units.skewness) >= STRONG_SKEW:
        return (
            f"strongly skewed differences in {units.cases} {noun}: "
            "the interval may cover less than it says (.89 of the time instead of .95)"
        )
    if measured.groups and units.cases < FEW_GROUPS:
        return f"only {units.cases} groups: with fewer than {FEW_GROUPS} the interval can cover less than it states"
    if tested.p_value <= error < tested.p_value + tested.doubt:
        return f"p is too close to {error:g} to decide: other draws of the test could find it above"
    return ""


def _settle(
    pairs: Sequence[CasePair], measured: CaseDifferences, tested: _Tested, terms: _Terms, next_level: float | None
) -> str:
    if next_level is not None and next_level != terms.level:
        again = _settle(pairs, measured, tested, replace(terms, level=next_level), None)
        return f"{again} (comparing again is a further attempt, {_decided_at(measured.delta, next_level, terms)})"
    units, show_level = measured.by_group(), terms.toward(measured.delta)
    if units.cases == 1:
        return f"at least {fewest_changed(show_level) - 1} more {'groups' if measured.groups else 'cases'}"
    spread = spread_of(pairs, measured)
    return what_would_settle(spread, tested.interval, margin=terms.margin, level=terms.level, show_level=show_level)


def _decided_at(delta: float, level: float, terms: _Terms) -> str:
    """At what error the next attempt is decided."""
    decided = f"decided at p <= {1 - level:.3g}"
    return decided if terms.toward(delta) == terms.level else f"{decided}, a drop at p <= {1 - terms.fall_level:.3g}"

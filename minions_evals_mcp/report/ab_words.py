"""Figures of an A/B test in words: intervals, and each branch against the control; the same in a terminal, a page and a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from minions_evals_mcp.engine.ab_test.figures import BranchDifference, Ratio
from minions_evals_mcp.engine.ab_test.run_ab_test import AbBranch, AbTestResult
from minions_evals_mcp.scoring.ab import Criterion
from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.skewed.quantiles import OpenBounds

UNKNOWN = "–"
EVIDENCE = {
    "supported": "statistically significant",
    "within-noise": "not significant",
    "undecidable": "too few decided iterations for significance",
}
LEAD = {
    "supported": "statistically significant",
    "within-noise": "not significant",
    "undecidable": "not significant: too few cases differ",
}
WINS_BY: dict[Criterion, str] = {
    "best_quality": "quality",
    "fastest": "time",
    "cheapest": "cost",
    "best_value": "quality per dollar",
    "balanced": "quality, time and cost together",
    "best_checked": "its own checks",
}
Words = Callable[[float | None], str]
Signed = Callable[[float], str]


def score(value: float | None) -> str:
    """A share of 1."""
    return UNKNOWN if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    """A rate from 0 to 100."""
    return UNKNOWN if value is None else f"{value:.0f} %"


def ms(value: float | None) -> str:
    """Milliseconds."""
    return UNKNOWN if value is None else f"{value:,.0f} ms"


def dollars(value: float | None) -> str:
    """US dollars, small ones with more digits."""
    return UNKNOWN if value is None else f"${value:.6f}" if abs(value) < 0.01 else f"${value:,.4f}"


def between(interval: OpenBounds | None, words: Words) -> str:
    """The 95 % interval of a figure; empty where it is not known."""
    low, high = interval or (None, None)
    if low is None or high is None:
        return f"at least {words(low)}" if low is not None else f"at most {words(high)}" if high is not None else ""
    return f"{words(low)} to {words(high)}"


def typical(interval: OpenBounds | None, mean: float | None, words: Words) -> str:
    """What stands beside a median: its interval, and the mean, which few slow or dear calls decide."""
    parts = (between(interval, words), "" if mean is None else f"mean {words(mean)}")
    return ", ".join(part for part in parts if part)


def against(branch: AbBranch) -> str:
    """Returns what the branch is beside the control, each difference with its interval; empty for the control itself."""
    return "; ".join(f"{one.name} {one.figure} ({one.sure})" for one in differences(branch))


class FromControl(NamedTuple):
    """How far a branch lies from the control in one respect: the figure, and its 95 % interval with the p-value."""

    name: str
    figure: str
    sure: str


def differences(branch: AbBranch) -> list[FromControl]:
    """The differences to the control that are known; none for the control itself."""
    figures = branch.against_control
    if figures is None:
        return []
    parts: tuple[tuple[str, BranchDifference | None, Signed], ...] = (
        ("checks", figures.checks, _points),
        ("passes", figures.passes, _points),
        ("quality", figures.quality, "{:+.3f}".format),
    )
    ratios = (("latency", figures.latency_ratio), ("cost", figures.cost_ratio))
    return [
        *(_difference(name, made, words) for name, made, words in parts if made is not None),
        *(_ratio(name, made) for name, made in ratios if made is not None),
    ]


def _ratio(name: str, made: Ratio) -> FromControl:
    return FromControl(name, _times(made.ratio), _sure(made.interval, made.p_value, _times))


def _times(value: float) -> str:
    return f"×{value:.2f}"


def _points(value: float) -> str:
    return f"{100 * value:+.0f} points"


def _difference(name: str, made: BranchDifference, words: Signed) -> FromControl:
    return FromControl(name, words(made.delta), _sure(made.interval, made.p_value, words))


def _sure(interval: Bounds | None, p_value: float, words: Signed) -> str:
    inside = "" if interval is None else f"{words(interval[0])} to {words(interval[1])}, "
    return f"{inside}p = {p_value:.2g}"


def how_sure(result: AbTestResult) -> str:
    """Returns whether the winner's lead is more than chance; empty where nothing can be said."""
    p_value = "" if result.p_value is None else f" (p = {result.p_value:.2g})"
    if result.winner is None:
        return ""
    if result.test_case_id is None:
        verdict = LEAD.get(result.evidence or "", "")
        return f"over {result.test_cases} cases its lead over every other branch is {verdict}{p_value}"
    if result.iterations == 1:
        return ""
    first = result.branches[0]
    ties = f", {result.ties} tied" if result.ties else ""
    evidence_words = "" if result.evidence is None else f": {EVIDENCE[result.evidence]}"
    return f"first in {first.wins} of {result.completed_iterations} iterations{ties}{evidence_words}{p_value}"


def headline(result: AbTestResult) -> str:
    """Returns who wins, by what."""
    if result.winner is None:
        return f"No winner by {result.criteria}"
    but = fails_its_checks(result)
    return f"{result.winner.branch_name} wins by {result.criteria} ({figure(result, result.branches[0])}){but}"


def fails_its_checks(result: AbTestResult) -> str:
    """What stands beside a winner that fails its cases' own checks where another branch passes more of them."""
    won = next(
        (branch for branch in result.branches if result.winner and branch.branch_id == result.winner.branch_id), None
    )
    share = None if won is None else won.checks_share
    if won is None or share is None or share == 1:
        return ""
    others = [branch for branch in result.branches if branch.checks_share is not None and branch.checks_share > share]
    if not others:
        return ""
    best = max(others, key=lambda branch: branch.checks_share or 0.0)
    return (
        f", but passes its checks in {won.checks_passed} of {won.checked}:"
        f" {best.branch_name} passes {best.checks_passed} of {best.checked}"
    )


def figure(result: AbTestResult, branch: AbBranch) -> str:
    """Returns what the branch was ranked by."""
    match result.criteria:
        case "fastest":
            return ms(branch.figure)
        case "cheapest":
            return dollars(branch.figure)
        case "best_value":
            return "no cost" if branch.figure is None else f"{branch.figure:.4g} per dollar"
        case "best_checked":
            return percent(None if branch.figure is None else 100 * branch.figure)
        case "best_quality" | "balanced":
            return score(branch.figure)

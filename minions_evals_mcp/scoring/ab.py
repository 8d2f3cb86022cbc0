"""A/B tests: which branch wins by which criterion, and what a branch's executions add up to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from json import JSONDecodeError
from typing import Literal, NamedTuple

from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.scoring.lenient import parsed

Criterion = Literal["best_quality", "fastest", "cheapest", "best_value", "balanced", "best_checked"]
BY_QUALITY: frozenset[Criterion] = frozenset({"best_quality", "best_value", "balanced"})
"""The criteria that say nothing where no output is expected."""
PASSING_QUALITY = 0.7
SLACK = 1e-9
DIGITS = 12
"""Figures that agree to so many digits are a tie: 0.1 + 0.2 is 0.3."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One branch as it is ranked: an execution's figures, or their means. Milliseconds, US dollars; None is unknown.

    `wins` is how many iterations it has won: over several, that comes before the means.
    """

    branch_id: str
    is_control: bool
    quality: float | None
    latency_ms: float
    cost_usd: float | None
    failed: bool = False
    wins: int = 0
    checked: float | None = None
    """The share of its outputs that pass the case's own checks."""


class BranchRank(NamedTuple):
    """A branch's rank, from 1, and what it was ranked by; None where that is unknown or the branch failed."""

    branch_id: str
    rank: int
    figure: float | None


class Ranking(NamedTuple):
    """All branches by rank, who won (nobody, where nothing succeeded with a known figure), and whether that was no tie."""

    standings: tuple[BranchRank, ...]
    winner: str | None
    is_clear: bool


class _Best(NamedTuple):
    """The figures that `balanced` measures latency and cost against."""

    latency_ms: float
    cost_usd: float


Merits = tuple[float, ...]
"""What a branch is sorted by, more is better; empty where it is unknown."""


def ranked(contenders: Sequence[Contender], criterion: Criterion) -> Ranking:
    """The branches by that criterion; failed ones last and never winners, an unknown figure before them.

    A tie goes to the control, then to the order given.
    """
    running = [contender for contender in contenders if not contender.failed]
    costs = [contender.cost_usd for contender in running if contender.cost_usd is not None]
    best = _Best(min((contender.latency_ms for contender in running), default=0.0), min(costs, default=0.0))
    merits = {
        contender.branch_id: () if contender.failed else _MERITS[criterion](contender, best) for contender in contenders
    }
    order = sorted(contenders, key=lambda contender: _sort_key(contender, merits[contender.branch_id]))
    standings = tuple(
        BranchRank(contender.branch_id, rank, _figure(criterion, merits[contender.branch_id]))
        for rank, contender in enumerate(order, 1)
    )
    if not standings or standings[0].figure is None:
        return Ranking(standings, None, is_clear=False)
    keys = [_sort_key(contender, merits[contender.branch_id])[:-1] for contender in order[:2]]
    return Ranking(standings, standings[0].branch_id, is_clear=len(keys) < 2 or keys[0] != keys[1])


def merit_of(contenders: Sequence[Contender], criterion: Criterion) -> dict[str, float]:
    """Returns what each branch is ranked by, more is better; those whose figure is unknown or has no bound are left out."""
    costs = [contender.cost_usd for contender in contenders if contender.cost_usd is not None]
    best = _Best(min((contender.latency_ms for contender in contenders), default=0.0), min(costs, default=0.0))
    merits = {contender.branch_id: _MERITS[criterion](contender, best) for contender in contenders}
    return {ident: merits[0] for ident, merits in merits.items() if merits and math.isfinite(merits[0])}


def _sort_key(contender: Contender, merits: Merits) -> tuple[bool, bool, int, Merits, bool]:
    worst_first = tuple(-_rounded(merit) for merit in merits)
    return contender.failed, not merits, -contender.wins, worst_first, not contender.is_control


def _rounded(figure: float) -> float:
    return float(f"{figure:.{DIGITS}g}")


def _figure(criterion: Criterion, merits: Merits) -> float | None:
    """Returns what a person reads: milliseconds and dollars as they are, else the score."""
    if not merits:
        return None
    return -merits[0] if criterion in {"fastest", "cheapest"} else merits[0]


def _best_quality(contender: Contender, best: _Best) -> Merits:
    del best
    return () if contender.quality is None else (contender.quality,)


def _fastest(contender: Contender, best: _Best) -> Merits:
    del best
    return (-contender.latency_ms,)


def _cheapest(contender: Contender, best: _Best) -> Merits:
    del best
    return () if contender.cost_usd is None else (-contender.cost_usd,)


def _best_value(contender: Contender, best: _Best) -> Merits:
    """Quality for a dollar; what costs nothing has no bound, and then the quality decides. No quality is no value."""
    del best
    if contender.quality is None or contender.cost_usd is None:
        return ()
    if contender.quality == 0:
        return (0.0, 0.0)
    return (math.inf if contender.cost_usd == 0 else contender.quality / contender.cost_usd, contender.quality)


def _balanced(contender: Contender, best: _Best) -> Merits:
    if contender.quality is None or contender.cost_usd is None:
        return ()
    speed, thrift = _share(best.latency_ms, contender.latency_ms), _share(best.cost_usd, contender.cost_usd)
    return (0.4 * contender.quality + 0.3 * speed + 0.3 * thrift,)


def _share(least: float, own: float) -> float:
    return 1.0 if own == 0 else least / own


def _best_checked(contender: Contender, best: _Best) -> Merits:
    """The case's own checks first, then the likeness to what was expected."""
    del best
    return () if contender.checked is None else (contender.checked, contender.quality or 0.0)


_MERITS: dict[Criterion, Callable[[Contender, _Best], Merits]] = {
    "best_quality": _best_quality,
    "fastest": _fastest,
    "cheapest": _cheapest,
    "best_value": _best_value,
    "balanced": _balanced,
    "best_checked": _best_checked,
}


def mean_known(figures: Iterable[float | None]) -> float | None:
    """The mean of the figures that are known; None where none is."""
    known = [figure for figure in figures if figure is not None]
    return math.fsum(known) / len(known) if known else None


def reaches_quality(quality: float) -> bool:
    """Returns whether an execution of that quality passes: 0.7 does."""
    return quality >= PASSING_QUALITY - SLACK


def consistency_hash(output: str) -> str:
    """Equal for outputs that differ in case and white space only."""
    return text_digest(" ".join(output.casefold().split()))


def consistency_score(versions: Iterable[Sequence[str]], similarity: Callable[[str, str], float]) -> float | None:
    """The mean distance (1 - similarity) of two outputs of the same version, 0–1; less is more consistent.

    `versions` holds the outputs of each version; None where no version has two.
    """
    distances = [1 - similarity(first, other) for outputs in versions for first, other in combinations(outputs, 2)]
    return min(1.0, max(0.0, math.fsum(distances) / len(distances))) if distances else None


def is_valid_json(output: str) -> bool:
    """Returns whether the output is JSON and nothing else."""
    try:
        parsed(output)
    except (JSONDecodeError, RecursionError):
        return False
    return True


def tokens_per_second(output_tokens: int, latency_ms: float) -> float | None:
    """The throughput; None where no time passed."""
    return output_tokens / latency_ms * 1000 if latency_ms > 0 else None

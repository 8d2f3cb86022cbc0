"""How often all, or any, of k trials of a case pass (pass^k and pass@k), from n trials of each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import fmean

Trials = tuple[int, int]
"""How many trials of a case were judged, and how many of them passed."""


def all_pass(cases: Sequence[Trials], k: int) -> float | None:
    """pass^k: the chance that k trials of a case all pass, over the cases with so many. Without bias (Yao et al. 2024, tau-bench)."""
    shares = [comb(passed, k) / comb(judged, k) for judged, passed in cases if judged >= k]
    return fmean(shares) if shares else None


def any_passes(cases: Sequence[Trials], k: int) -> float | None:
    """pass@k: the chance that at least one of k trials of a case passes. Without bias (Chen et al. 2021, HumanEval)."""
    shares = [1 - comb(judged - passed, k) / comb(judged, k) for judged, passed in cases if judged >= k]
    return fmean(shares) if shares else None

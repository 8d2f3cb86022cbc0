"""What k tries give, out of n that were made."""

from __future__ import annotations

from math import comb


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of k tries passes, when c of n did: 1 - C(n-c, k) / C(n, k).

    Unbiased (Chen et al. 2021, arXiv:2107.03374, equation 1); the mean over the cases is pass@k of a benchmark.
    """
    ways = _ways(n, c, k)
    return 1 - comb(n - c, k) / ways


def pass_power_k(n: int, c: int, k: int) -> float:
    """The chance that all of k tries pass, when c of n did: C(c, k) / C(n, k) (Yao et al. 2024, arXiv:2406.12045)."""
    ways = _ways(n, c, k)
    return comb(c, k) / ways


def _ways(n: int, c: int, k: int) -> int:
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"{k} of {n} tries, {c} of which passed, cannot be drawn")
    return comb(n, k)

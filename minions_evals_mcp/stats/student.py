"""Student's t without scipy, whose import alone costs seconds."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b) for x in [0, 1] and positive a and b.

    The continued fraction of NIST DLMF 8.17.22, evaluated by the modified Lentz method (Thompson & Barnett 1986).
    """
    if not (0 <= x <= 1 and a > 0 and b > 0):
        raise ValueError(f"I_x(a, b) needs x in [0, 1] and positive a and b, not x = {x}, a = {a}, b = {b}")
    if x in (0, 1):
        return float(x)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - incomplete_beta(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / a / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d1/(1 + d2/(1 + ...)) with the coefficients of DLMF 8.17.23."""
    value, numerator, denominator = 1.0, 1.0, 0.0
    change, term = 0.0, 0
    while abs(change - 1) > 1e-15:
        term += 1
        coefficient = _coefficient(term, x, a, b)
        denominator = 1 / _not_zero(1 + coefficient * denominator)
        numerator = _not_zero(1 + coefficient / numerator)
        change = numerator * denominator
        value *= change
    return value


def _coefficient(term: int, x: float, a: float, b: float) -> float:
    m = term // 2
    if term % 2:
        return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def t_cdf(t: float, freedom: float) -> float:
    """P(T <= t) for Student's t with that many degrees of freedom (Abramowitz & Stegun 26.7.1)."""
    tail = incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=256)
def t_quantile(p: float, freedom: float) -> float:
    """The t below which a share p in (0, 1) of Student's distribution lies, by bisection of `t_cdf`.

    Right to nine digits up to a million degrees of freedom.
    """
    if not (0 < p < 1 and freedom > 0):
        raise ValueError(f"a t quantile needs 0 < p < 1 and degrees of freedom above 0, not {p} and {freedom}")
    if p < 0.5:
        return -t_quantile(1 - p, freedom)
    low = 0.0
    high = 2 * NormalDist().inv_cdf(p) + 1
    while t_cdf(high, freedom) < p:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if t_cdf(middle, freedom) < p else (low, middle)
    return middle

"""The certainty that a judge must have, so that no more than a promised share of its answers differs from people's.

Learn then test (Angelopoulos et al. 2021, arXiv 2110.01052) with fixed-sequence testing: candidates are fixed before any label is
seen and tried from the strictest on, each by an exact binomial test; the last one that passes before the first that fails is
certified. Chosen answers and the rest for people as in cascaded selective evaluation (arXiv 2407.18370).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minions_evals_mcp.stats.student import incomplete_beta

CANDIDATES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
DELTA = 0.1
"""How often the promise may be broken: over many draws of the labels."""
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """The judge's certainty of an output, and whether its verdict differs from a person's."""

    confidence: float
    wrong: bool


@dataclass(frozen=True, slots=True)
class Promise:
    """The certified threshold, None where none is, and what the labels say of the answers above it, or above the one that failed.

    `bound` is the upper limit of their error at 1 - delta.
    """

    error: float
    delta: float
    threshold: float | None
    labels: int
    wrong: int
    bound: float
    needed: int


def promised_error(
    labels: Sequence[LabelledAnswer],
    *,
    error: float,
    delta: float = DELTA,
    candidates: Sequence[float] = CANDIDATES,
) -> Promise:
    """The lowest candidate that the labels certify for that error.

    A candidate above which lie too few labels to certify anything is passed over: that does not depend on what people said.
    """
    if not (0 < error < 1 and 0 < delta < 1):
        raise ValueError(f"an error and how often it may be broken lie between 0 and 1, not {error} and {delta}")
    needed = fewest_labels(error, delta)
    certified: Promise | None = None
    for candidate in sorted(candidates, reverse=True):
        answered = [label for label in labels if label.confidence >= candidate - SLACK]
        if len(answered) < needed:
            continue
        wrong = sum(answer.wrong for answer in answered)
        bound = upper_limit(wrong, len(answered), delta)
        holds = bound <= error
        tried = Promise(error, delta, candidate if holds else None, len(answered), wrong, bound, needed)
        if not holds:
            return certified or tried
        certified = tried
    return certified or Promise(error, delta, None, len(labels), 0, 1.0, needed)


def fewest_labels(error: float, delta: float = DELTA) -> int:
    """With how many answers, all of them right, the error is certified."""
    number = 1
    while (1 - error) ** number > delta:
        number += 1
    return number


def upper_limit(wrong: int, answered: int, delta: float) -> float:
    """The highest error under which so few wrong answers are as likely as delta (Clopper & Pearson 1934, Biometrika 26:404)."""
    if wrong >= answered:
        return 1.0
    low, high = wrong / answered, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if incomplete_beta(1 - middle, answered - wrong, wrong + 1) > delta:
            low = middle
        else:
            high = middle
    return high

"""The accuracy of a pass-or-fail judge: sensitivity, specificity, and both together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.intervals import Bounds, wilson


@frozen_type
class Share:
    """So many of so many, as a share with Wilson's interval."""

    hits: int
    of: int
    value: float
    interval: Bounds


@frozen_type
class BinaryJudge:
    """The judge against people. A share is None where people passed, or failed, nothing: it cannot be told.

    `youden` is sensitivity + specificity - 1: 1 for a perfect judge, 0 for a coin, negative for one that inverts.
    """

    sensitivity: Share | None
    specificity: Share | None
    youden: float | None
    youden_interval: Bounds


def binary_judge(people: Sequence[bool], judge: Sequence[bool], *, level: float = 0.95) -> BinaryJudge:
    """The judge's verdicts against people's, output by output.

    Youden's interval joins those of the two shares (MOVER: Zou & Donner 2008, Statistics in Medicine 27:1693).
    """
    if len(people) != len(judge):
        raise ValueError(f"{len(people)} and {len(judge)} verdicts are not those of the same outputs")
    passed = [label for wanted, label in zip(people, judge, strict=True) if wanted]
    failed = [not label for wanted, label in zip(people, judge, strict=True) if not wanted]
    sensitivity, specificity = _share(passed, level), _share(failed, level)
    if sensitivity is None or specificity is None:
        return BinaryJudge(sensitivity, specificity, None, (-1.0, 1.0))
    youden = sensitivity.value + specificity.value - 1
    below, above = (
        math.hypot(*(share.value - share.interval[side] for share in (sensitivity, specificity))) for side in (0, 1)
    )
    return BinaryJudge(sensitivity, specificity, youden, (max(-1.0, youden - below), min(1.0, youden + above)))


def _share(hits: Sequence[bool], level: float) -> Share | None:
    interval = wilson(sum(hits), len(hits), level=level)
    return None if interval is None else Share(sum(hits), len(hits), sum(hits) / len(hits), interval)

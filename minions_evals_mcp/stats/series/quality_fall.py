"""A fall of a pass rate, watched verdict by verdict: an alarm that may be looked at as often as one likes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minions_evals_mcp.frozen_types import frozen_type

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bet = tuple[float, NDArray[Any], NDArray[Any]]

LEARNT = 200
"""The first so many verdicts tell what level to expect. They are compared with nothing."""
WATCHED_FROM = 400
"""A fall is looked for after so many verdicts."""
EVERY = 5
"""A fall may begin at each multiple of this."""
BESIDE = 6
"""Each verdict after the beginning is compared with so many from before it, each of which is used once."""
FALLS = {0.05: 0.2, 0.1: 0.6, 0.2: 0.2}
"""The falls of the pass rate that are bet on, with the part of the stake."""
HORIZON, ERROR = 3000, 0.05
"""Where nothing changes, an alarm comes within so many verdicts with at most this probability."""
THRESHOLD = HORIZON / EVERY / ERROR
_LARGEST = 50.0


@frozen_type
class QualityFall:
    """A fall: after how many verdicts it was seen, at which it most likely began, and the pass rates before and after."""

    seen_at: int
    began_at: int
    before: float
    after: float


def quality_fall(passed: Sequence[bool]) -> QualityFall | None:
    """The first time at which the evidence for a fall reaches the threshold; None where it never does.

    For each place where a fall may have begun a bet is placed on it: blocks of one verdict from after it and some from before
    it, on which nobody gains at any common pass rate, whatever it is. The sum of all bets grows by no more than one for each place
    where none falls, so that the chance of an alarm within a horizon is bounded, however often one looks.
    """
    if len(passed) <= WATCHED_FROM:
        return None
    import numpy as np  # noqa: PLC0415  imported where a series is long enough

    series = np.asarray(passed, dtype=np.int64)
    summed = np.concatenate(([0], np.cumsum(series)))
    evidence = np.zeros(len(series) + 1)
    starts = range(WATCHED_FROM, len(series), EVERY)
    bets = [(stake, *_bet(summed, fall)) for fall, stake in FALLS.items()]
    gains = {start: _gains(series, bets, start) for start in starts}
    for start, gained in gains.items():
        evidence[start + 1 : start + 1 + len(gained)] += gained
        evidence[start + 1 + len(gained) :] += gained[-1]
    reached = np.nonzero(evidence >= THRESHOLD)[0]
    if not len(reached):
        return None
    seen = int(reached[0])
    began = max((start for start in starts if start < seen), key=lambda start: _at(gains[start], seen - start))
    return QualityFall(
        seen, began, float(summed[began] / began), float((summed[seen] - summed[began]) / (seen - began))
    )


def _at(gained: NDArray[Any], place: int) -> float:
    return float(gained[min(place, len(gained)) - 1])


def _gains(series: NDArray[np.int64], bets: Sequence[Bet], start: int) -> NDArray[Any]:
    """What the bet on a fall at that place comes to after each verdict that there are enough earlier ones for."""
    import numpy as np  # noqa: PLC0415  as above

    length = min(len(series) - start, (start - LEARNT) // BESIDE)
    passed = series[start : start + length] == 1
    gained = np.zeros(length)
    for stake, if_passed, if_failed in bets:
        logs = np.where(passed, if_passed[:length], if_failed[:length])
        gained += stake * np.exp(np.minimum(np.cumsum(logs), _LARGEST))
    return gained


def _bet(summed: NDArray[np.int64], fall: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """The logarithm of what each block gains on that fall, wherever it begins: where its verdict passed, and where it failed."""
    import numpy as np  # noqa: PLC0415  as above

    places = np.arange(LEARNT, len(summed) - BESIDE, BESIDE)
    earlier = summed[places + BESIDE] - summed[places]
    level = (summed[places] + 0.5) / (
        places + 1
    )  # of the verdicts before the block: a bet knows nothing of what it is on
    lower = np.maximum(level / 2, level - fall)
    common = (BESIDE * level + lower) / (BESIDE + 1)
    before = earlier * np.log(level / common) + (BESIDE - earlier) * np.log((1 - level) / (1 - common))
    return before + np.log(lower / common), before + np.log((1 - lower) / (1 - common))

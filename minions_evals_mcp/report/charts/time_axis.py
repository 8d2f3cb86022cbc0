"""The places of moments on an axis, and which of them are written under it, whatever span they cover."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

MOST = 7
"""So many moments are written under an axis at most."""
LEAST_GAP = 7.0
"""Neighbours stand so far apart at least, however soon one followed the other."""
STEPS = tuple(
    timedelta(seconds=seconds)
    for seconds in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600)
)
MONTHS = (1, 3, 6, 12, 60)
DAY = timedelta(days=1)


class TimeAxis:
    """Places for moments between `left` and `right`: in proportion to time, but never closer than `LEAST_GAP`."""

    def __init__(self, moments: Sequence[datetime], left: float, right: float) -> None:
        self.moments = list(moments)
        self.places = _spread([_share(moments, moment) for moment in moments], left, right)

    def at(self, moment: datetime) -> float:
        """The place of any moment of the span."""
        after = bisect_right(self.moments, moment)
        if after == 0:
            return self.places[0]
        if after == len(self.moments):
            return self.places[-1]
        before, following = self.moments[after - 1], self.moments[after]
        part = (moment - before) / (following - before)
        return self.places[after - 1] + part * (self.places[after] - self.places[after - 1])

    def ticks(self) -> list[tuple[float, datetime, str]]:
        """Place, moment and words of what is written under the axis."""
        moments = _moments(self.moments[0], self.moments[-1])
        step = moments[1] - moments[0] if len(moments) > 1 else DAY
        ticks_made: list[tuple[float, datetime, str]] = []
        for number, moment in enumerate(moments):
            new_day = number == 0 or moment.date() != moments[number - 1].date()
            words = _words(moment, step, new_day=new_day)
            place = self.at(moment)
            if not ticks_made or place - ticks_made[-1][0] > 9.0 * max(len(words), len(ticks_made[-1][2])) * 0.72:
                ticks_made.append((place, moment, words))
        return ticks_made


def _share(moments: Sequence[datetime], moment: datetime) -> float:
    span = moments[-1] - moments[0]
    return (moment - moments[0]) / span if span else 0.0


def _spread(shares: Sequence[float], left: float, right: float) -> list[float]:
    """Shares of the span as places: each gap keeps its least size, what is left is dealt out by time."""
    if len(shares) == 1:
        return [(left + right) / 2]
    least = min(LEAST_GAP, (right - left) / (len(shares) - 1))
    free = (right - left) - least * (len(shares) - 1)
    return [left + least * number + free * share for number, share in enumerate(shares)]


def _moments(first: datetime, last: datetime) -> list[datetime]:
    span = last - first
    for step in STEPS:
        if span / step <= MOST:
            return _every(first, last, step)
    for months in MONTHS:
        if span / (30 * months * DAY) <= MOST:
            return _every_months(first, last, months)
    return [first, last]


def _every(first: datetime, last: datetime, step: timedelta) -> list[datetime]:
    midnight = datetime(first.year, first.month, first.day, tzinfo=UTC)
    begin = midnight + step * -((midnight - first) // step)
    moments = [begin + step * number for number in range(MOST + 2) if begin + step * number <= last]
    return moments or [first]


def _every_months(first: datetime, last: datetime, months: int) -> list[datetime]:
    count = first.year * 12 + first.month
    starts: list[datetime] = []
    while (month := datetime(count // 12, count % 12 + 1, 1, tzinfo=UTC)) <= last:
        starts.append(month)
        count += months
    return starts or [first]


def _words(moment: datetime, step: timedelta, *, new_day: bool) -> str:
    if step >= 28 * DAY:
        return f"{moment:%b %Y}"
    if step >= DAY:
        return f"{moment.day} {moment:%b}"
    clock = f"{moment:%H:%M:%S}" if step < timedelta(minutes=1) else f"{moment:%H:%M}"
    return f"{moment.day} {moment:%b} {clock}" if new_day else clock

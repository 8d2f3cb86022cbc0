"""The times at which a benchmark is due by its schedule: five cron fields, in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice, takewhile

from cronsim import CronSim, CronSimError

from minions_evals_mcp.errors import InvalidRecordError

FIELDS = 5
FORM = "Write five fields, minute hour day month weekday, in UTC: 0 6 * * 1-5"
FAR = timedelta(days=366 * 5)
MINUTE = timedelta(minutes=1)


def vet_schedule(expression: str, *, record: str, now: datetime) -> None:
    """Raises `InvalidRecordError` for an expression that is no cron expression, or that does not come in five years."""
    moment = next(_cron(expression, now, record=record), None)
    if moment is None or moment - now > FAR:
        raise _refused(expression, "never comes", record)


def last_due(expression: str, *, after: datetime, until: datetime, record: str) -> datetime | None:
    """The newest moment after `after` up to `until` at which it was due: of several that were missed, the last."""
    following = until.replace(second=0, microsecond=0) + MINUTE
    moment = next(_cron(expression, following, record=record, reverse=True), None)
    return moment if moment is not None and moment > after else None


def due_times(expression: str, *, after: datetime, until: datetime, most: int, record: str) -> list[datetime]:
    """The newest moments after `after` up to `until` at which it was due, newest first."""
    following = until.replace(second=0, microsecond=0) + MINUTE
    backwards = takewhile(lambda moment: moment > after, _cron(expression, following, record=record, reverse=True))
    return [*islice(backwards, most)]


def next_due(expression: str, *, after: datetime, record: str) -> datetime | None:
    """The first moment after that one at which it is due."""
    return next(_cron(expression, after, record=record), None)


def _cron(expression: str, start: datetime, *, record: str, reverse: bool = False) -> CronSim:
    if len(expression.split()) != FIELDS:
        raise _refused(expression, f"must have {FIELDS} fields", record)
    try:
        return CronSim(expression, start, reverse=reverse)
    except CronSimError as error:
        raise _refused(expression, str(error), record) from None


def _refused(expression: str, why: str, record: str) -> InvalidRecordError:
    return InvalidRecordError(f"{expression!r}: {why}", field="fields.schedule", record=record, remedy=FORM)

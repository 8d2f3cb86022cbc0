"""Schedules: five cron fields in UTC; a benchmark that names no such thing is refused when it is saved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.schedules import last_due
from minions_evals_mcp.errors import InvalidRecordError
from tests.workshop import benchmark, case, save

MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  the zone is added by hypothesis


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("daily", "must have 5 fields"),
        ("0 0 6 * * 1", "must have 5 fields"),
        ("61 * * * *", "Bad minute"),
        ("* * * * someday", "Bad day-of-week"),
        ("0 0 30 2 *", "Bad day-of-month"),
    ],
)
async def test_a_schedule_that_is_none_is_refused_by_name_when_it_is_saved(
    engine: Engine, expression: str, said: str
) -> None:
    with pytest.raises(InvalidRecordError, match=r"benchmark b: fields\.schedule: ") as caught:
        await save(engine, case("c"), benchmark("b", "c", schedule=expression))
    assert said in caught.value.message
    assert caught.value.remedy


async def test_a_proper_schedule_is_kept(engine: Engine) -> None:
    assert (await save(engine, case("c"), benchmark("b", "c", schedule="0 6 * * 1-5"))).new == 2


@given(MOMENTS, st.integers(0, 10_000))
def test_the_last_due_moment_lies_after_the_one_look_and_not_after_the_other(after: datetime, minutes: int) -> None:
    until = after + timedelta(minutes=minutes)
    found = last_due("*/5 * * * *", after=after, until=until, record="b")
    if found is None:
        assert minutes < 5
    else:
        assert after < found <= until
        assert until - found < timedelta(minutes=5)
        assert (found.minute % 5, found.second, found.microsecond) == (0, 0, 0)

"""The rows that a unit's ending becomes: made wherever it was judged, written by whoever has the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic_core import to_json

from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.domain.outcomes import (
    Awaiting,
    AwaitingUser,
    Ended,
    Failed,
    JudgeErrored,
    NotJudgeable,
    Observed,
    Passed,
    Skipped,
    TargetErrored,
    UnitKey,
    UserErrored,
)
from minions_evals_mcp.domain.results import EvalFailure, EvalJudgment, Outcome, TestRun
from minions_evals_mcp.known_secrets import any_known, counted
from minions_evals_mcp.store.connection import Db, insert_rows
from minions_evals_mcp.store.events import EventRow, event_row, write_events
from minions_evals_mcp.store.jobs import UnitValues, unit_values, write_units
from minions_evals_mcp.store.rows import table_of, values_of
from minions_evals_mcp.store.talks import USER_ASKED

Values = Sequence[Any]
"""A row's columns in the order of its table."""


class UnitRows(NamedTuple):
    """All that is written of one unit's ending. Times of events are those of the writing."""

    unit: UnitValues
    outcome: Outcome
    run: Values | None = None
    failure: Values | None = None
    judgments: Sequence[Values] = ()
    metrics: Sequence[Values] = ()
    events: Sequence[EventRow] = ()


def is_regression(run: Values) -> bool:
    """Tells whether the test-run may be a regression of its case: read from the text of its JSON column, for most are none."""
    rest = run[-1]
    return isinstance(rest, str) and '"isRegression":true' in rest


Ending = Ended | UnitRows
"""How a unit ended, or, where it was judged, the rows that it becomes."""


def rows_of(key: UnitKey, case_id: str, ended: Ended, *, observed: Observed | None = None) -> UnitRows:
    """The rows of a unit that ended so; `observed` is its output, where that is to be kept with it."""
    outcome, reason, seen, packet, run_id = _end(ended)
    unit = unit_values(key, case_id, outcome, reason, seen or observed, packet, run_id)
    if not isinstance(ended, (Passed, Failed)):
        return UnitRows(unit, outcome)
    return UnitRows(
        unit,
        outcome,
        values_of(ended.run),
        values_of(ended.failure) if isinstance(ended, Failed) else None,
        [values_of(judgment) for judgment in ended.judgments],
        list(_named(ended.run.id, ended.metrics)),
        [*_events(ended)],
    )


def write(db: Db, page: Sequence[UnitRows], *, at: datetime) -> None:
    """Writes what those units became, one statement a table, all or nothing: failures come before their runs (HR3)."""
    insert_rows(db, table_of(EvalFailure).into, [rows.failure for rows in page if rows.failure])
    insert_rows(db, table_of(TestRun).into, [rows.run for rows in page if rows.run])
    insert_rows(db, table_of(EvalJudgment).into, [values for rows in page for values in rows.judgments])
    insert_rows(db, "metric_score", [values for rows in page for values in rows.metrics])
    write_events(db, [event for rows in page for event in rows.events], at=at)
    write_units(db, [rows.unit for rows in page])


def outcome_of(ended: Ending) -> Outcome:
    """The name of an ending in the closed union of outcomes."""
    if isinstance(ended, UnitRows):
        return ended.outcome
    return ended.run.fields.outcome if isinstance(ended, (Passed, Failed)) else _end(ended)[0]


def _end(ended: Ended) -> tuple[Outcome, str, Observed | None, str | None, str | None]:
    """Outcome, reason, output, packet and test-run of a unit that ended so."""
    match ended:
        case Passed() | Failed():
            return ended.run.fields.outcome, "", None, None, ended.run.id
        case Awaiting():
            return "awaiting-judgments", ended.asks, ended.observed, ended.packet_digest, None
        case AwaitingUser():
            return "awaiting-judgments", USER_ASKED[ended.asks], None, ended.packet_digest, None
        case JudgeErrored():
            return "judge-error", ended.reason, None, None, None
        case TargetErrored():
            return "target-error", ended.reason, None, None, None
        case UserErrored():
            return "user-error", ended.reason, ended.observed, None, None
        case Skipped():
            return "skipped", ended.reason, None, None, None
        case NotJudgeable():
            return "not-judgeable", ended.sentence, None, None, None


def _events(ended: Passed | Failed) -> Iterator[EventRow]:
    run = ended.run.fields
    if any_known() and (replaced := counted(to_json(run.actual_output).decode())):
        yield event_row("secrets-marked", "test-run", ended.run.id, {"replaced": {**replaced}})
    yield event_row(
        "test-run-recorded", "test-run", ended.run.id, {"testCaseId": run.test_case_id, "passed": run.passed}
    )
    if isinstance(ended, Failed):
        failure = ended.failure.fields
        detail = {"testRunId": ended.run.id, "failureType": failure.failure_type, "severity": failure.severity}
        yield event_row("eval-failure-recorded", "eval-failure", ended.failure.id, {**detail})


def _named(run_id: str, metrics: Sequence[MetricScore]) -> Iterator[Values]:
    """Each metric's weighted mean over the assertions that carry its name."""
    for name in dict.fromkeys(metric.name for metric in metrics):
        parts = [metric for metric in metrics if metric.name == name]
        weight = sum(part.weight for part in parts)
        if weight > 0:
            yield run_id, name, sum(part.score * part.weight for part in parts) / weight

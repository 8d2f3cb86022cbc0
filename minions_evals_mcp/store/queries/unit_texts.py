"""Units of a run as JSON texts made by SQLite: for a reader of thousands, who looks into a few."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from minions_evals_mcp.domain.results import Outcome
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.report_units import Place


class ToldUnit(NamedTuple):
    """One trial of a case: what a list shows of it, and the rest as JSON arrays.

    `case` is [inputs, expected outputs or null, 1 if the case was edited since]. `tried` is [test-run id, outcome, reason,
    points, possible points, output, tool calls, latency, cost, regression types, 1 if it passed last time, failure,
    judgments, scores by metric, cautions]; a failure is [type, severity, description, root cause, what a model said or null], a
    judgment [criterion, score, least, most, rationale, by, by type, confidence]. What is not known is null.
    """

    position: int
    trial: int
    case_id: str
    title: str
    outcome: Outcome
    passed: int | None
    fraction: float | None
    failure_type: str | None
    case: str
    tried: str

    @property
    def place(self) -> Place:
        """Returns which unit of its job it is."""
        return self.position, self.trial


_JUDGMENTS = (
    "(SELECT json_group_array(json_array(criterion_id, score, min_score, max_score, rationale, judged_by, judged_by_type,"
    " confidence) ORDER BY seq) FROM eval_judgment WHERE test_run_id = r.id)"
)
_METRICS = "(SELECT json_group_object(name, score) FROM metric_score WHERE test_run_id = r.id)"
_TOLD = (
    "SELECT u.position, u.trial, u.case_id, coalesce(m.title, u.case_id), u.outcome, r.passed,"
    " r.total_score / r.max_possible_score, f.failure_type,"
    " json_array(json_extract(m.fields, '$.inputs'), json_extract(m.fields, '$.expectedOutputs'), m.updated_at > r.ran_at),"
    " json_array(r.id, u.outcome, u.reason, r.total_score, r.max_possible_score,"
    " json(coalesce(r.rest -> '$.actualOutput', u.output -> '$.output')),"
    " json(coalesce(nullif(a.fields -> '$.toolCallsLog', 'null'), nullif(u.output -> '$.toolCalls', 'null'), '[]')),"
    " r.rest ->> '$.latencyMs', r.rest ->> '$.costUsd', json(coalesce(r.rest -> '$.regressionTypes', '[]')),"
    " r.rest ->> '$.flipped', CASE WHEN f.id IS NULL THEN json('null') ELSE"
    " json_array(f.failure_type, f.severity, f.rest ->> '$.description', f.rest ->> '$.rootCause',"
    " json(coalesce(f.rest -> '$.modelCause', 'null'))) END,"
    f" {_JUDGMENTS}, {_METRICS}, json(coalesce(r.rest -> '$.warnings', '[]')))"
    " FROM json_each(?) p CROSS JOIN unit u ON u.job_id = ? AND u.position = p.value ->> 0 AND u.trial = p.value ->> 1"
    " LEFT JOIN test_run r ON r.id = u.test_run_id LEFT JOIN minion m ON m.id = u.case_id"
    " LEFT JOIN minion a ON a.id = r.agent_run_id LEFT JOIN eval_failure f ON f.id = r.id || ':failure' ORDER BY p.key"
)


def told_units(db: Db, job_id: str, places: Sequence[Place]) -> list[ToldUnit]:
    """Those units in the order of `places`."""
    return [ToldUnit(*row) for row in db.execute(_TOLD, (json.dumps(places), job_id))]

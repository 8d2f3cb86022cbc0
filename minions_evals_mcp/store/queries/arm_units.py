"""The cost of each output of a run, which tools made it and what it met, as a comparison of two arms asks for."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import JsonValue

from minions_evals_mcp.store.connection import Db


@dataclass(frozen=True, slots=True)
class ArmUnit:
    """One output: its case and trial, milliseconds, tokens in and out together, and its tool log; None is not captured.

    `checks` are the criteria with whether each was met, and why. `crashed` where the program failed or ran out of time: there is
    no output; `judged` where there is a score.
    """

    case_id: str
    title: str
    trial: int
    latency_ms: float | None
    tokens: int | None
    cost_usd: float | None
    tool_calls: list[JsonValue] | None
    checks: tuple[tuple[str, bool, str], ...] = ()
    crashed: bool = False
    judged: bool = True


_CHECKS = (
    "(SELECT json_group_array(json_array(coalesce((SELECT json_extract(fields, '$.name') FROM minion WHERE id = criterion_id),"
    " criterion_id), score >= max_score, rationale) ORDER BY seq) FROM eval_judgment WHERE test_run_id = r.id)"
)


def arm_units(db: Db, run_id: str) -> list[ArmUnit]:
    """The outputs of the run in the order of their cases, with the trials that crashed; what was not run is not among them."""
    rows = db.execute(
        "SELECT u.case_id, coalesce(m.title, u.case_id), u.trial, r.rest ->> '$.latencyMs', r.rest ->> '$.inputTokens',"
        " r.rest ->> '$.outputTokens', r.rest ->> '$.costUsd',"
        " coalesce(nullif(a.fields -> '$.toolCallsLog', 'null'), nullif(u.output -> '$.toolCalls', 'null')),"
        f" {_CHECKS}, u.outcome IN ('target-error', 'timed-out'), r.id IS NOT NULL"
        " FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id LEFT JOIN minion a ON a.id = r.agent_run_id"
        " LEFT JOIN minion m ON m.id = u.case_id WHERE u.job_id = ?"
        " AND (r.id IS NOT NULL OR u.outcome IN ('target-error', 'timed-out', 'judge-error')) ORDER BY u.position, u.trial",
        (run_id,),
    )
    return [
        ArmUnit(
            case_id,
            title,
            trial,
            latency,
            None if given is None and made is None else (given or 0) + (made or 0),
            cost,
            None if calls is None else json.loads(calls),
            tuple((name, bool(met), why) for name, met, why in json.loads(checks)),
            bool(crashed),
            bool(judged),
        )
        for case_id, title, trial, latency, given, made, cost, calls, checks, crashed, judged in rows
    ]

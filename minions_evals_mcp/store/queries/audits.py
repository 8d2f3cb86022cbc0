"""Audits that are kept: of which suite, and how the newest came out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.audits import Audit
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outputs import is_erased
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import TABLES, record_of, select

if TYPE_CHECKING:
    from minions_evals_mcp.scoring.audit.references import RecordedAnswer


@frozen_type
class AuditFigures:
    """The figures of a kept audit."""

    id: str
    cheat_pass_rate: float | None
    mutation_score: float | None
    case_count: int


# The table itself, not what the veil shows of it: an audit from before a seal counts, and its figures open no case.
_FIGURES = "SELECT id, cheat_pass_rate, mutation_score, case_count FROM main.audit"


def audit_of(db: Db, benchmark_id: str, suite: str) -> AuditFigures | None:
    """The newest audit of exactly these cases and rubrics, as this benchmark or within a suite."""
    row = db.execute(
        f"{_FIGURES} WHERE digest = ?2 OR EXISTS (SELECT 1 FROM json_each(rest, '$.covers') WHERE key = ?1 AND value = ?2)"
        " ORDER BY seq DESC LIMIT 1",
        (benchmark_id, suite),
    ).fetchone()
    return None if row is None else AuditFigures(*row)


def was_audited(db: Db, benchmark_id: str) -> bool:
    """Returns whether the benchmark was audited before, whatever its cases were then."""
    audits = db.execute(
        "SELECT 1 FROM main.audit WHERE subject = ?1 OR EXISTS (SELECT 1 FROM json_each(rest, '$.covers') WHERE key = ?1) LIMIT 1",
        (benchmark_id,),
    )
    return audits.fetchone() is not None


def newest_audit(db: Db, subject: str) -> Record[Audit] | None:
    """The newest audit of that benchmark or file."""
    table = TABLES[Audit.slug]
    row = db.execute(
        f"{select(table, 'subject = ?1')} ORDER BY seq DESC LIMIT 1", (subject,)
    ).fetchone()  # fmt: skip
    return None if row is None else record_of(table, row)  # pyright: ignore[reportReturnType]  a row of that table


def outputs_that_passed(db: Db, *, case_ids: Sequence[str]) -> dict[str, list[Json]]:
    """The newest distinct outputs that passed each of those cases, at most five of its newest twenty."""
    rows = db.execute(
        "SELECT c.value, (SELECT json_group_array(DISTINCT json(output)) FROM (SELECT rest -> '$.actualOutput' AS output"
        " FROM test_run WHERE test_case_id = c.value AND passed ORDER BY seq DESC LIMIT 20)) FROM json_each(?) c",
        (json.dumps([*case_ids]),),
    )
    return {case_id: json.loads(outputs)[:5] for case_id, outputs in rows}


def recorded_answers(db: Db, inputs: Json) -> list[RecordedAnswer]:
    """What the newest agent-runs with those inputs answered that succeeded; at most three. Erased answers say nothing."""
    from minions_evals_mcp.scoring.audit.references import RecordedAnswer  # noqa: PLC0415  few runs are audited

    rows = db.execute(
        "SELECT m.id FROM agent_run_key k JOIN minion m ON m.id = k.id AND m.deleted_at IS NULL"
        " WHERE k.inputs_digest = ? AND coalesce(m.fields ->> '$.status', 'success') = 'success'"
        " ORDER BY k.at DESC, m.seq DESC LIMIT 3",
        (digest(inputs),),
    )
    records_read = [records.minion(db, row[0]) for row in rows.fetchall()]
    return [
        RecordedAnswer(record.fields.outputs, record.fields.tool_calls_log)
        for record in records_read
        if record is not None and isinstance(record.fields, AgentRun) and not is_erased(record.fields.outputs)
    ]

"""What is asked of people: approval-requests in the outbox."""

from __future__ import annotations

from datetime import datetime

from minions_evals_mcp.domain.neighbours import ApprovalRequest
from minions_evals_mcp.domain.outcomes import Awaiting, UnitKey
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.measures import ByNothing, Measure
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append, tell

EVAL_AGENT = "minions-evals"
PEOPLE = "people"


def request_approval(db: Db, key: UnitKey, measure: Measure, ended: Awaiting, *, new_id: str, at: datetime) -> None:
    """Queues a request that a person judges the output; once for each packet."""
    nothing = isinstance(measure.yardstick, ByNothing)
    fields = ApprovalRequest(
        title=f"{'Accept as baseline' if nothing else 'Judge'}: {measure.case.title}"[:200],
        description="There is no rubric, assertion or expected output: accept this output as the baseline, or write a rubric."
        if nothing
        else "Score every criterion and say why; answer with submit_judgments.",
        requested_by=EVAL_AGENT,
        requested_at=at,
        context_ref_type="run",
        context_ref_id=key.job_id,
        payload={"runId": key.job_id, "packet": ended.packet},
    )
    record = Record(new_id, fields, fields.title, at, at)
    if tell(db, record, key=f"approval:{key.run_id}:{ended.packet_digest}", addressee=PEOPLE):
        append(
            db,
            Event(
                "approval-requested", "approval-request", new_id, {"runId": key.job_id, "testCaseId": measure.case.id}
            ),
            at=at,
        )

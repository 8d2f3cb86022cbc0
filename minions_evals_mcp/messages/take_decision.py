"""A person's answer to an approval-request becomes the judgments of its packet; the same answer twice is one."""

from __future__ import annotations

from minions_evals_mcp.domain.neighbours import ApprovalRequest
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.judges.packets import AnsweredPacket, Submission
from minions_evals_mcp.messages.payloads import ApprovalDecided
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.operations import submit_judgments
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store import jobs, records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job


async def take_decision(engine: Engine, decided: ApprovalDecided) -> Job:
    """The run as it stands once the judgments are kept; a rejected or expired request leaves it waiting.

    Raises `NotFoundError` for an unknown request, `BadInputError` for an approval without scores, and as `submit_judgments`.
    """
    run_id, digest = await engine.store.read(lambda db: _answered_packet(db, decided))
    if not decided.judgments:
        if decided.decision == "approved":
            raise BadInputError(
                f"judgments: {decided.decided_by} approved the judgment request {digest} without a score. An approval is not a"
                " score.",
                remedy="Send a score and a rationale for every criterion that it asks for.",
            )
        return await get_job(engine, run_id)
    if not await engine.store.read(lambda db: _is_kept(db, run_id, digest, decided)):
        packet = AnsweredPacket(digest=digest, judgments=decided.judgments)
        await submit_judgments.run(engine, Submission(run_id=run_id, judged_by=decided.decided_by, packets=(packet,)))
    return await get_job(engine, run_id)


def _answered_packet(db: Db, decided: ApprovalDecided) -> tuple[str, str]:
    """The run and the packet that are answered."""
    if decided.approval_request_id is None:
        assert decided.run_id is not None
        assert decided.digest is not None
        return decided.run_id, decided.digest
    remedy = f"{Next('outbox', reason='shows what was asked')}."
    request = records.require(db, decided.approval_request_id, ApprovalRequest, remedy=remedy)
    packet = request.fields.payload["packet"]
    assert isinstance(packet, dict)
    return request.fields.context_ref_id, str(packet["digest"])


def _is_kept(db: Db, run_id: str, digest: str, decided: ApprovalDecided) -> bool:
    """Returns whether these very judgments are kept already: the answer came twice, or its end was not written down."""
    job = jobs.job(db, run_id) or jobs.job_by_key(db, run_id)
    row = None if job is None else jobs.unit_of_packet(db, job.id, digest)
    if row is None or row.test_run_id is None:
        return False
    judgments = {judgment.fields.criterion_id: judgment.fields for judgment in runs.judgments_of(db, row.test_run_id)}
    return all(
        (judgment := judgments.get(given.criterion_id)) is not None
        and (judgment.judged_by, judgment.score, judgment.rationale)
        == (decided.decided_by, given.score, given.rationale)
        for given in decided.judgments
    )

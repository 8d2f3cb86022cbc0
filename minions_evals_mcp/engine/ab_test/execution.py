"""One branch of an A/B test, run once: the streamed call, what is measured of the answer, and the record of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import assert_never

import anyio
import anyio.to_thread

from minions_evals_mcp.domain.definitions import MAX_TOKENS, Json, TestBranch
from minions_evals_mcp.domain.outcomes import Observed, UnitKey
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Outcome, TestBranchExecution
from minions_evals_mcp.embedding.tokens import token_count
from minions_evals_mcp.engine.ab_test.plan import AbPlan, configuration, configuration_digest
from minions_evals_mcp.engine.budget import Budget, Metered
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.door import judge, judges_of
from minions_evals_mcp.engine.judge.likeness import expects_text, likeness_of
from minions_evals_mcp.engine.records.branch_parameters import (
    defaulted_parameters,
    not_sent,
    sent_parameters,
)
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.models.registry import ModelRef
from minions_evals_mcp.models.replies import Answered, Completion, FailedReply, RefusedReply, Reply, Truncated
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.scoring.ab import SLACK, consistency_hash, is_valid_json, tokens_per_second
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Subject
from minions_evals_mcp.scoring.clarity import clarity
from minions_evals_mcp.scoring.max_score import parted
from minions_evals_mcp.scoring.verdicts.examination import Expectation, OutputChecks
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.rows import insert

LIKE = 0.8
"""The likeness from which a case of the testing API passes (document 5)."""


@dataclass(frozen=True, slots=True)
class AbRun:
    """An A/B test that is being carried out on one of its cases, whose executions stand from position `first` on."""

    engine: Engine
    job: Job
    plan: AbPlan
    budget: Budget
    first: int = 0

    def key(self, branch: int, iteration: int) -> UnitKey:
        """The unit of a branch of this case."""
        return UnitKey(self.job.id, self.first + branch, iteration)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The measures of an answer beside what the provider says. `unmeasured`: why there is no quality though there should be."""

    input_tokens: int
    output_tokens: int
    estimated: bool
    quality: float | None
    unmeasured: str = ""
    checks_passed: bool | None = None


async def prepare(engine: Engine, plan: AbPlan) -> None:
    """Loads what measures answers, so that no branch's latency carries it; raises `InstrumentError` before anything is paid."""
    clarity(plan.prompt)
    likeness = await likeness_of(engine, plan.case.fields, Observed(output={"output": plan.prompt}))
    if likeness is not None and likeness.unmeasured:
        raise InstrumentError(likeness.unmeasured, remedy=f"{argument('embedder', 'wordllama')} needs no network.")


async def execute(run: AbRun, position: int, iteration: int) -> Outcome:
    """Runs the branch at that position once and keeps the execution; raises `HaltedError` where a cap forbids the call."""
    branch = run.plan.branches[position]
    asked_at = anyio.current_time()
    reply = await _reply(run, branch.fields)
    took_ms = (anyio.current_time() - asked_at) * 1000
    detail = _sent(run, branch, () if isinstance(reply, FailedReply) else reply.dropped)
    if isinstance(reply, FailedReply):
        fields, outcome = _failed(run, branch, reply, took_ms), "target-error"
    else:
        seen = await _measured(run, reply)
        fields = _answered(run, branch, reply, seen)
        outcome: Outcome = "timed-out" if _is_late(run, reply) else "scored"
        detail |= _detail(reply, seen)
    key = run.key(position, iteration)
    spent = run.budget.news()
    await run.engine.store.write(lambda db: _record(db, run, key, fields, outcome, detail, spent))
    return outcome


async def _reply(run: AbRun, branch: TestBranch) -> Reply:
    engine = run.engine
    ref = ModelRef(branch.provider, branch.model)
    client = Metered(ref.provider, partial(engine.models.client, ref), run.budget)
    request = ModelRequest(
        model=ref.model,
        user=run.plan.prompt,
        max_tokens=branch.max_tokens or MAX_TOKENS,
        params=sent_parameters(branch),
        optional=defaulted_parameters(branch),
        stream=True,
    )
    # Longer than the case's own limit, so that a slow answer is seen to be slow instead of given up.
    deadline_s = max(engine.config.call_timeout_s, 2 * (run.plan.case.fields.timeout_ms or 0) / 1000)
    return await client.complete(request, deadline_s=deadline_s)


async def _measured(run: AbRun, reply: Answered) -> _Seen:
    usage = reply.usage
    if usage is not None:
        read, written = usage.input_tokens, usage.output_tokens
    else:
        read, written = await anyio.to_thread.run_sync(lambda: (token_count(run.plan.prompt), token_count(reply.text)))
    quality, unmeasured = await _quality(run, reply)
    return _Seen(read, written, usage is None, quality, unmeasured, await _checked(run, reply, quality))


async def _checked(run: AbRun, reply: Answered, quality: float | None) -> bool | None:
    """Whether the answer passes the case's own checks; None where it has none, or where a model or a person would have to judge."""
    case = run.plan.case.fields
    if case.rubric_id is not None:
        return None
    output: Json = {"output": reply.text}
    subject = Subject(reply.text, reply.latency_ms, reply.cost_usd, case.inputs)
    checks, _ = parted(case.assertions)
    if checks:
        (verdict,) = await judge([OutputChecks(checks, subject, case.threshold)], judges_of(run.engine))
        return verdict.passed if isinstance(verdict, Aggregate) else None
    if case.expected_outputs is None or case.assertions:
        return None
    if case.pass_rule == "similarity_0_8":  # noqa: S105  a rule of passing, no password
        return None if quality is None else quality >= LIKE - SLACK
    (met,) = await judge([Expectation(case.expected_outputs, output, subject)], judges_of(run.engine))
    return met.passed if isinstance(met, Checked) else None


async def _quality(run: AbRun, reply: Answered) -> tuple[float | None, str]:
    """The likeness to what was expected, 0 for a refusal; None where nothing is, or with the reason why it is not known."""
    case = run.plan.case.fields
    if isinstance(reply, RefusedReply) and expects_text(case):
        return 0.0, ""
    likeness = await likeness_of(run.engine, case, Observed(output={"output": reply.text}))
    return (None, "") if likeness is None else (likeness.semantic_score, likeness.unmeasured)


def _is_late(run: AbRun, reply: Answered) -> bool:
    limit = run.plan.case.fields.timeout_ms
    return limit is not None and reply.latency_ms > limit


def _error(run: AbRun, reply: Answered) -> str | None:
    """Returns why an answer cannot win: only one that is whole and in time can."""
    if _is_late(run, reply):
        return f"timed out: {reply.latency_ms:.0f} ms, the test case allows {run.plan.case.fields.timeout_ms} ms"
    match reply:
        case Completion():
            return None
        case Truncated():
            return f"cut off: {reply.stop_reason}"
        case RefusedReply():
            return f"refused: {reply.explanation or reply.stop_reason}"
        case _:
            assert_never(reply)


def _answered(run: AbRun, branch: Record[TestBranch], reply: Answered, seen: _Seen) -> TestBranchExecution:
    error = _error(run, reply)
    return TestBranchExecution(
        branch_id=branch.id,
        execution_id=run.job.id,
        test_case_id=run.plan.case.id,
        prompt_version_ref=None if run.plan.version is None else run.plan.version.id,
        configuration=configuration(branch.fields, reply.dropped),
        configuration_digest=configuration_digest(branch.fields, reply.dropped),
        output=reply.text,
        error=error,
        status="success" if error is None else "error",
        latency_ms=reply.latency_ms,
        time_to_first_token=reply.first_token_ms,
        tokens_per_second=tokens_per_second(seen.output_tokens, reply.latency_ms),
        input_tokens=seen.input_tokens,
        output_tokens=seen.output_tokens,
        total_tokens=seen.input_tokens + seen.output_tokens,
        estimated_cost=reply.cost_usd,
        quality_score=seen.quality,
        similarity_score=None if isinstance(reply, RefusedReply) else seen.quality,
        clarity_score=clarity(reply.text),
        valid_json=is_valid_json(reply.text),
        checks_passed=seen.checks_passed,
        consistency_hash=consistency_hash(reply.text),
        prompt_version=run.plan.version_number,
    )


def _failed(run: AbRun, branch: Record[TestBranch], reply: FailedReply, took_ms: float) -> TestBranchExecution:
    return TestBranchExecution(
        branch_id=branch.id,
        execution_id=run.job.id,
        test_case_id=run.plan.case.id,
        prompt_version_ref=None if run.plan.version is None else run.plan.version.id,
        configuration=configuration(branch.fields),
        configuration_digest=configuration_digest(branch.fields),
        output="",
        error=f"{reply.kind}: {reply.reason}",
        status="error",
        latency_ms=took_ms,
        input_tokens=0,
        output_tokens=0,
        total_tokens=0,
        prompt_version=run.plan.version_number,
    )


def _sent(run: AbRun, branch: Record[TestBranch], dropped: Collection[str]) -> Json:
    """What the event says of the request: what was sent, and which of the documented defaults the provider refused."""
    limit = branch.fields.max_tokens or MAX_TOKENS
    sent = sent_parameters(branch.fields, dropped)
    return {
        "branchId": branch.id, "testCaseId": run.plan.case.id, "runId": run.job.id,
        "sent": {"maxTokens": limit, **sent}, "notSent": list(not_sent(branch.fields, sent)),
    }  # fmt: skip


def _detail(reply: Answered, seen: _Seen) -> Json:
    """Returns what the event says of the answer."""
    wire: Json = {"model": reply.model, "stopReason": reply.stop_reason, "attempts": reply.attempts}
    if seen.estimated:
        wire["tokens"] = "estimated"
    if seen.unmeasured:
        wire["unmeasured"] = seen.unmeasured
    return wire


def _record(  # noqa: PLR0913, PLR0917  what one transaction writes
    db: Db,
    run: AbRun,
    key: UnitKey,
    fields: TestBranchExecution,
    outcome: Outcome,
    detail: Json,
    spent: dict[str, float],
) -> None:
    """Writes the execution, its event, how far the test is and what it has cost."""
    at = run.engine.clock()
    insert(db, Record(key.run_id, fields, key.run_id, at, at))
    wire: Json = {**detail, "iteration": key.trial, "status": fields.status}
    append(db, Event("test-branch-executed", fields.slug, key.run_id, wire), at=at)
    jobs.save_units(db, [jobs.UnitRow(key, run.plan.case.id, outcome, fields.error or "")])
    jobs.add_spent(db, run.job.id, spent)

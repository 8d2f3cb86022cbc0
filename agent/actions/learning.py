"""Messages and events that have something learnt from runs: comparisons, decisions, failures, trends."""

from __future__ import annotations

from dataclasses import replace

from agent.message_work import MessageWork
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.seals import SealedVerdict
from minions_evals_mcp.engine.failures.explain_failure import Explainer, explainer
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.messages import payloads
from minions_evals_mcp.messages.derived import payload_of
from minions_evals_mcp.operations import approve_prompt_version, classify_failure, compare_versions, detect_trend
from minions_evals_mcp.operations.agent_work import comparison_said
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.agent import explained


async def compare(work: MessageWork) -> Json:
    """compare-prompts: a benchmark is run under two versions, and "comparison-complete" told."""
    request = work.request("compare-prompts", compare_versions.Request)
    comparison = await compare_versions.run(work.engine, request, default_target=work.target)
    if isinstance(comparison, SealedVerdict):
        return comparison.model_dump(mode="json")
    if comparison is None:
        return {"runId": (await get_job(work.engine, work.key)).id, "state": "awaiting-judgments"}
    return await comparison_said(work.engine, comparison.id)


async def decide_version(work: MessageWork) -> Json:
    """approve-prompt-version: a decision is written down, or refused by HR2; the same message decides once."""
    request = work.payload_as(payload_of("approve-prompt-version")).request(approve_prompt_version.Request)
    speaker = await work.spoken_by(request.decided_by or "")
    ident = f"approval:{text_digest(work.message.id)}"
    decided = await approve_prompt_version.run(work.engine, request, by=speaker, ident=ident)
    return {"approvalId": decided.approval.id, "decision": decided.approval.fields.decision}


async def classify(work: MessageWork) -> Json:
    """classify-failure: a failed test-run, or each of a run, is analysed again."""
    request = work.payload_as(payload_of("classify-failure")).request(classify_failure.Request)
    wanted = await classify_failure.failed_runs(work.engine, request)
    by = await explaining_today(work.engine)
    return {"evalFailures": [failure.id async for failure in classify_failure.analysed(work.engine, wanted, by)]}


async def learn_from_failure(work: MessageWork) -> Json:
    """test-run-recorded: its eval-failure stands already; a model may say more where the operator allows it, and the agent is to
    remember. A run that passed has none."""
    seen = work.payload_as(payloads.EventSeen)
    ident = seen.subject_id
    if seen.detail.get("passed") is True:
        return {"testRunId": ident, "passed": True}
    failure = await classify_failure.learnt(work.engine, ident, await explaining_today(work.engine))
    return {"evalFailureId": failure.id, "classifiedBy": failure.fields.classified_by}


async def explaining_today(engine: Engine) -> Explainer:
    """Returns who explains failures, where the operator allows it, as often as is left of the day: each question is counted before it is
    asked, for messages that are carried out side by side ask under one bound.
    """
    at, most = engine.clock(), engine.config.explain_calls

    async def may_ask() -> bool:
        return await engine.store.write(lambda db: explained.count_question(db, at, most=most))

    done = await engine.store.read(lambda db: explained.explained_on(db, at))
    by = explainer(engine, most=max(0, most - done))
    return replace(by, model=by.model if by.most else None, may_ask=may_ask)


async def see_trend(work: MessageWork) -> Json:
    """detect-trend: the trend as it was computed with the benchmark's last run."""
    request = work.payload_as(payload_of("detect-trend")).request(detect_trend.Request)
    return await _trend_said(work.engine, request.benchmark_id)


async def check_trend(work: MessageWork) -> Json:
    """benchmark-run-recorded: the trend was written in the transaction of the run; a comparison's run is no point of it."""
    ident = work.payload_as(payloads.EventSeen).subject_id
    run = await work.engine.store.read(lambda db: runs.benchmark_run(db, ident))
    assert run is not None, ident
    if run.fields.purpose == "comparison":
        return {"benchmarkRunId": ident}
    return await _trend_said(work.engine, run.fields.benchmark_id)


async def _trend_said(engine: Engine, benchmark_id: str) -> Json:
    trend = await detect_trend.stored(engine, benchmark_id)
    fields = trend.fields
    return {
        "evalTrendId": trend.id, "direction": fields.direction, "consecutiveDegrading": fields.consecutive_degrading,
        "provisional": fields.provisional, **({"judgedBy": [*fields.judged_by]} if fields.judged_by else {}),
    }  # fmt: skip

"""Tools that run, follow, stop and judge."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, cast

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, InputRequiredResult
from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.judges.packets import AnsweredPacket, GivenJudgment, Submission
from minions_evals_mcp.operations import cancel_run as cancelling
from minions_evals_mcp.operations import get_run as getting
from minions_evals_mcp.operations import run_benchmark as benchmark
from minions_evals_mcp.operations import run_test_case as test_case
from minions_evals_mcp.operations import submit_judgments as submitting
from minions_evals_mcp.operations.operator import label_user as labelling
from minions_evals_mcp.server.answers.ab_test import ab_test_answer
from minions_evals_mcp.server.answers.comparison import comparison_answer, side_of
from minions_evals_mcp.server.answers.dry_run import dry_line
from minions_evals_mcp.server.answers.run import run_told
from minions_evals_mcp.server.answers.sizes import WHOLE, Pages, Shape, answered, cursor_of, part_of
from minions_evals_mcp.server.answers.trial import trial_answer
from minions_evals_mcp.server.edge.derived import DerivedArguments, Followed, Paged, Starting
from minions_evals_mcp.server.session.background_runs import GRACE_S, QUICK_S, Started
from minions_evals_mcp.server.session.calls import Call, can_be_asked, client_name
from minions_evals_mcp.server.session.elicitation import judged_by_person, resumed_run, run_of
from minions_evals_mcp.server.signatures.runs import (
    RunAnswer,
    SubmitJudgments,
)
from minions_evals_mcp.server.tools.batches import run_batch

SHOWN = 5
LISTS = ("failures", "unscored", "testRuns", "packets")
SHORT = 4_000
"""So many bytes may the packets of a short answer have; the first is shown whole in any case."""


async def run_test_case(call: Call, arguments: Starting) -> CallToolResult | InputRequiredResult:
    """The run of a test case or of a batch of a prompt's, as far as it is when the wait ends."""
    request = arguments.request(test_case.Request)
    if arguments.dry_run:
        kind = "test-case" if request.prompt_id is None else "batch"
        estimates = await test_case.estimate(call.engine, request, default_target=call.target)
        return _estimated(request.subject_id, kind, estimates)
    if request.prompt_id is not None:
        return await run_batch(call, request, arguments.wait_seconds)
    starting = partial(test_case.start, call.engine, request, default_target=call.target)
    return await _run(call, request, starting, wait_seconds=arguments.wait_seconds, limit=SHOWN)


async def run_benchmark(call: Call, arguments: Paged) -> CallToolResult | InputRequiredResult:
    """The run of a benchmark, as far as it is when the wait ends."""
    request = arguments.request(benchmark.Request)
    if arguments.dry_run:
        estimates = [await benchmark.estimate(call.engine, request, default_target=call.target)]
        return _estimated(request.benchmark_id, "benchmark", estimates)
    starting = partial(benchmark.start, call.engine, request, default_target=call.target)
    return await _run(call, request, starting, wait_seconds=arguments.wait_seconds, limit=arguments.limit)


def _estimated(subject_id: str, kind: str, estimates: Sequence[benchmark.Priced]) -> CallToolResult:
    """The answer of a dry run."""
    units = sum(estimate.units for estimate in estimates)
    (shown,) = estimates if kind != "batch" else (None,)
    return answered(
        RunAnswer(summary=dry_line(*estimates), kind=kind, subject_id=subject_id, units=units, estimate=shown)
    )


async def _run(
    call: Call,
    request: test_case.Request | benchmark.Request,
    starting: Callable[[], Awaitable[Started]],
    *,
    wait_seconds: float | None,
    limit: int,
) -> CallToolResult | InputRequiredResult:
    if request.judge != "caller" and wait_seconds and call.context is not None and can_be_asked(call.context):
        return await _begun_with_person(call, call.context, request, starting, wait_seconds=wait_seconds, limit=limit)
    return await begun(call, starting, wait_seconds, request.max_cost_usd, limit=limit)


async def _begun_with_person(
    call: Call,
    context: Context[Any, Any],
    request: test_case.Request | benchmark.Request,
    starting: Callable[[], Awaitable[Started]],
    *,
    wait_seconds: float,
    limit: int,
) -> CallToolResult | InputRequiredResult:
    """The run after a person was asked about what waits, or the question itself; what nobody answers waits on."""
    again = resumed_run(context)
    if again is not None:
        subject = request.benchmark_id if isinstance(request, benchmark.Request) else request.subject_id
        job = await run_of(call, again, subject)
    else:
        job = await call.runs.begin(starting, max_cost_usd=request.max_cost_usd)
        await call.runs.follow(job, wait_seconds, call.report_progress)
    question = await judged_by_person(call, context, job, seconds=wait_seconds)
    return await run_answer(call, job, Shape(), limit=limit) if question is None else question


async def begun(
    call: Call,
    starting: Callable[[], Awaitable[Started]],
    wait_seconds: float | None,
    max_cost_usd: float | None,
    *,
    limit: int = SHOWN,
) -> CallToolResult:
    """The answer about a run that goes on in the background, when it has ended or the wait is over."""
    job = await call.runs.begin(starting, max_cost_usd=max_cost_usd)
    seconds = call.runs.default_wait(job) if wait_seconds is None else wait_seconds
    await call.runs.follow(job, max(seconds, GRACE_S), call.report_progress)
    return await run_answer(call, job, Shape(), limit=limit)


async def get_run(call: Call, arguments: Followed) -> CallToolResult:
    """The run as it is, after waiting for it as long as was asked."""
    request = arguments.request(getting.Request)
    job = await getting.job(call.engine, request.run_id)
    if arguments.wait_seconds:
        await call.runs.follow(job, arguments.wait_seconds, call.report_progress)
    if request.packet is not None:
        return await _packet_part(call, job, request.packet, cursor_of(arguments.cursor))
    shape = Shape(arguments.detail, tuple(arguments.fields), cursor_of(arguments.cursor))
    return await run_answer(call, job, shape, limit=arguments.limit)


async def run_answer(call: Call, job: getting.Job, shape: Shape, *, limit: int = SHOWN) -> CallToolResult:
    """The run's figures, and a page of what of it matters."""
    if job.kind == "comparison":
        return await comparison_answer(call, job, shape, limit=limit)
    if job.kind == "ab-test":
        return await ab_test_answer(call, job, shape)
    if job.kind == "trial":
        return await trial_answer(call, job, shape)
    until = shape.offset + limit
    summary = await getting.summary(call.engine, job.id, limit=until + 1)
    if call.runs.is_active(job.id):
        summary = summary.model_copy(update={"state": "running", "reason": ""})
    answer = run_told(summary, job.spec, offset=shape.offset, limit=limit, store=call.engine.config.named_db)
    if answer.packets and shape.detail == "summary":
        return whole_packets(answer, shape, more=_more(summary, until))
    return answered(answer, shape=shape, pages=Pages(LISTS, _more(summary, until)))


def _more(summary: getting.Summary, until: int) -> bool:
    lists = (summary.failures, summary.unscored, summary.test_runs)
    return len(summary.packets) + len(summary.user_packets) + summary.more_packets > until or any(
        len(entries) > until for entries in lists
    )


def whole_packets(answer: RunAnswer, shape: Shape, *, more: bool) -> CallToolResult:
    """Packets are to be judged, so none is cut to be short: as many as fit a short answer, at least one as it is."""
    size = shown = 0
    for packet in answer.packets:
        size += len(to_json(packet)) + 1
        if shown and size > SHORT:
            break
        shown += 1
    cut = [cast("Json", packet)["digest"] for packet in answer.packets[:shown] if len(to_json(packet)) > WHOLE.text]
    read_on = [json.dumps({"runId": answer.run_id, "packet": digest}) for digest in cut[:1]]
    whole_calls = [f"read the truncated parts: get_run {arguments}" for arguments in read_on]
    first = answer.model_copy(update={"packets": answer.packets[:shown], "next": [*whole_calls, *answer.next]})
    whole = Shape("full", shape.fields, shape.offset)
    return answered(first, shape=whole, pages=Pages(LISTS, more or shown < len(answer.packets)))


async def _packet_part(call: Call, job: getting.Job, digest: str, cursor: int) -> CallToolResult:
    summary = await getting.summary(call.engine, job.id, limit=10_000)
    waiting = (*summary.user_packets, *summary.packets)
    packet = next((packet for packet in waiting if packet.digest == digest), None)
    if packet is None:
        raise NotFoundError(
            "judgment request", digest[:80], remedy=f'get_run {{"runId": "{job.id}"}} shows the waiting requests.'
        )
    return part_of(packet.model_dump(mode="json"), cursor, about={"runId": job.id})


async def cancel_run(call: Call, arguments: DerivedArguments) -> CallToolResult:
    """The run as it stands once it was stopped."""
    request = arguments.request(cancelling.Request)
    job, had_ended = await cancelling.run(call.engine, request, stop=call.runs.cancel)
    if had_ended:
        sentence = f"{job.kind} {job.subject_id}: already completed; nothing to cancel"
        shown = f"get_run {json.dumps({'runId': job.id})}"
        return answered(RunAnswer(summary=sentence, run_id=job.id, key=job.key, state=job.state, next=[shown]))
    return await run_answer(call, job, Shape())


async def label_user(call: Call, arguments: DerivedArguments) -> CallToolResult:
    """The run that judges by a person's words on the users of conversations; the run itself where they agree with the check."""
    request = arguments.request(labelling.Request)
    kept = await labelling.keep(call.engine, request)
    if kept.request is None:
        return await run_answer(call, await getting.job(call.engine, kept.run_id), Shape())

    async def starting() -> Started:
        started = await labelling.begin(call.engine, kept, request.max_cost_usd)
        assert started is not None, "some labels contradict the check"
        return started

    return await begun(call, starting, None, request.max_cost_usd)


async def submit_judgments(call: Call, arguments: SubmitJudgments) -> CallToolResult:
    """The run after the verdicts were taken, with the packets that wait next."""
    submission = Submission(
        run_id=await side_of(call, arguments.run_id, {packet.digest for packet in arguments.packets}),
        judged_by=None if call.engine.speaker.is_person else arguments.judged_by or client_name(call.context),
        packets=tuple(
            AnsweredPacket(
                digest=packet.digest,
                judgments=tuple(
                    GivenJudgment(
                        criterion_id=given.criterion_id,
                        score=given.score,
                        rationale=given.rationale,
                        confidence=given.confidence,
                    )
                    for given in packet.judgments
                ),
                message="" if packet.leaves else packet.message,
            )
            for packet in arguments.packets
        ),
    )
    job = await submitting.run(call.engine, submission)
    whole = await submitting.whole_run(call.engine, job)
    going_on = await submitting.going_on(call.engine, submission, whole)
    if going_on is not None:
        await call.runs.begin(going_on.starting, max_cost_usd=going_on.max_cost_usd)
        await call.runs.follow(whole, QUICK_S, call.report_progress)
    return await run_answer(call, whole, Shape(), limit=arguments.limit)

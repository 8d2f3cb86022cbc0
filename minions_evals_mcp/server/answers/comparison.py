"""A comparison's run in words for a model: where it is, and once it is made the verdict and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from mcp_types import CallToolResult
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.seals import SealedVerdict
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary, summarize_comparison
from minions_evals_mcp.engine.compare.approve_prompt_version import barred_for_agents
from minions_evals_mcp.engine.seals.exposures import sealed_verdict
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.server.answers.run import brief, next_calls, recorded_calls, run_told
from minions_evals_mcp.server.answers.sizes import Pages, Shape, answered
from minions_evals_mcp.server.edge.compact import short_run
from minions_evals_mcp.server.edge.refusals import in_tools, with_remedy
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.runs import RunAnswer
from minions_evals_mcp.store.seals import is_sealed


async def comparison_answer(call: Call, job: get_run.Job, shape: Shape, *, limit: int) -> CallToolResult:
    """Returns where the comparison stands, with the packets of the side whose turn it is; its verdict once it is made."""
    now = await get_run.stored_job(call.engine, job.id)
    answer = RunAnswer(
        summary=f"comparison {now.subject_id}: {now.state}", run_id=now.id, key="" if now.key == now.id else now.key, kind=now.kind,
        subject_id=now.subject_id, state=now.state, reason=in_tools(now.reason), units=now.total,
    )  # fmt: skip
    if now.state == "completed":
        return answered(answer.model_copy(update=await _verdict(call, now.id)), shape=shape)
    if now.state == "awaiting-judgments" and (side := await _waiting(call, now, shape, limit)) is not None:
        whole = Shape("full", shape.fields, shape.offset)
        return answered(answer.model_copy(update=side), shape=whole, pages=Pages(("packets",), bool(side["waiting"])))
    return answered(answer.model_copy(update={"next": await _next(call, now)}), shape=shape)


async def side_of(call: Call, run_id: str, digests: Collection[str]) -> str:
    """The run that holds those packets: of a comparison the side that does, else the run itself."""
    job = await get_run.stored_job(call.engine, run_id)
    if job.kind != "comparison":
        return run_id
    for which in ("A", "B"):
        side = await get_run.stored_job(call.engine, f"{job.id}:{which}")
        summary = await get_run.summary(call.engine, side.id, limit=10_000)
        waiting = [*summary.packets, *summary.user_packets]
        if any(packet.digest in digests for packet in waiting):
            return side.id
    return run_id


async def _waiting(call: Call, job: get_run.Job, shape: Shape, limit: int) -> dict[str, object] | None:
    """The packets of the first side that has some, with that side's run; None where a person must judge."""
    for which in ("A", "B"):
        side = await get_run.stored_job(call.engine, f"{job.id}:{which}")
        summary = await get_run.summary(call.engine, side.id, limit=shape.offset + limit)
        store = call.engine.config.named_db
        answer = run_told(summary, side.spec, offset=shape.offset, limit=limit, store=store)
        if answer.packets:
            shown = {name: getattr(answer, name) for name in ("instructions", "criteria", "packets", "waiting")}
            ours = (json.dumps(summary.run_id), json.dumps(short_run(summary.run_id)))
            calls = [
                following.replace(ours[0], json.dumps(side.id)).replace(ours[1], json.dumps(side.id))
                for following in answer.next
            ]
            return {**shown, "packets_of": side.id, "next": calls}
    return None


async def verdict_answer(call: Call, comparison_id: str) -> CallToolResult:
    """The verdict of a comparison that is made."""
    answer = RunAnswer(summary="", kind="comparison", state="completed")
    return answered(answer.model_copy(update=await _verdict(call, comparison_id)))


async def _verdict(call: Call, comparison_id: str) -> dict[str, object]:
    """Summary, comparison and what follows from it."""
    sealed = await sealed_verdict(call.engine, comparison_id)
    if sealed is not None:
        return {**_sealed(sealed), "next": await approval_calls(call, sealed)}
    summary = await summarize_comparison(call.engine, comparison_id)
    wire = summary.model_dump(mode="json", exclude={"judge"})
    if summary.judge is not None:
        wire["judge"] = brief(summary.judge)
    score_a, score_b = summary.compared_scores
    return {
        "summary": f"comparison {summary.benchmark_id}: {summary.verdict}; {summary.version_b} scores {score_b:.3f},"
        f" {summary.version_a} {score_a:.3f} on {summary.sample_size} cases; {summary.recommendation}",
        "comparison": wire | {name: _changed(wire[name]) for name in ("worse", "better")},
        "next": [*await approval_calls(call, summary), *_following(summary)],
    }


def _changed(cases: JsonValue) -> list[Json]:
    """The cases that changed, those that changed alike together; their titles in the same order, unless all are the ids."""
    alike: dict[str, list[Json]] = {}
    for case in cases if isinstance(cases, list) else []:
        assert isinstance(case, dict)
        said = {name: value for name, value in case.items() if name not in {"testCaseId", "title"}}
        alike.setdefault(json.dumps(said), []).append(case)
    return [_together(json.loads(said), several) for said, several in alike.items()]


def _together(said: Json, cases: Sequence[Json]) -> Json:
    idents, titles = [case["testCaseId"] for case in cases], [case["title"] for case in cases]
    return {"testCaseIds": idents, **({} if titles == idents else {"titles": titles}), **said}


def _sealed(verdict: SealedVerdict) -> dict[str, object]:
    """All that is told of a comparison on sealed cases."""
    return {"summary": f"comparison {verdict.benchmark_id}: {verdict.in_words}", "comparison": verdict}


async def approval_calls(call: Call, summary: ComparisonSummary | SealedVerdict) -> list[str]:
    """The approval of what improved: the call where the caller may make it, else why not and who may."""
    if summary.verdict != "improved":
        return []
    version, comparison = summary.version_b, summary.comparison_id
    barred = None if call.engine.speaker.is_person else await barred_for_agents(call.engine, version, comparison)
    if barred is not None:
        return [f"{version} cannot be approved on this: {with_remedy(barred)}"]
    return [
        f"approve_prompt_version {json.dumps({'promptVersionRef': version, 'comparisonId': comparison, 'decidedBy': 'YOUR-ID'})}"
    ]


def _following(summary: ComparisonSummary) -> Iterator[str]:
    """Yields what a fall calls for: the reasons of it."""
    if summary.verdict == "regressed" and summary.passes.lost:
        yield f"why they fail: classify_failure {json.dumps({'id': summary.run_b})}"
        yield f"their outputs: get_run {json.dumps({'runId': summary.run_b, 'fields': ['failures']})}"
    elif summary.verdict == "regressed" and summary.worse:
        fell = {"testCaseId": summary.worse[0].test_case_id, "executions": True}
        yield f"the largest drop: get_statistics {json.dumps(fell)}"


async def _next(call: Call, job: get_run.Job) -> list[str]:
    """Returns what to call next; packets wait with the two runs, not with the whole."""
    if job.state == "awaiting-judgments":
        return [f'get_run {{"runId": "{job.id}:{which}"}}' for which in ("A", "B")]
    following = [*next_calls(await get_run.summary(call.engine, job.id, limit=1), job.spec)]
    if job.state != "stopped" or await call.engine.store.read(partial(is_sealed, benchmark_id=job.subject_id)):
        return following
    sides = [await get_run.stored_job(call.engine, f"{job.id}:{which}") for which in ("A", "B")]
    missing = [
        recorded_call
        for side in sides
        for recorded_call in recorded_calls(await get_run.summary(call.engine, side.id, limit=1), side.spec)
    ]
    return [*missing[:1], *following]

"""A run in words for a model: one line of figures, the lists that matter, and the calls that come next."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.judges.packets import AskedCriterion, Packet
from minions_evals_mcp.server.edge.refusals import in_arguments
from minions_evals_mcp.server.signatures.runs import RunAnswer

_SETTINGS = (
    "agentRunId", "rejudgeRunId", "promptVersionRef", "versionA", "versionB", "judge", "trials", "fresh", "tieThreshold",
    "branchIds", "promptVersion", "winnerCriteria", "iterations", "triggeredBy",
)  # fmt: skip
"""What must be said again to resume a run; a target that the operator named is not the caller's to repeat."""
FOR_A_PERSON = (
    "A person judges these outputs, not you: show them, and hand in what the person says under the person's name."
    " Until then they wait, and get_run shows them again."
)
NO_MODEL = (
    "No model judges: where this server was started neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set, nor"
    " MINIONS_EVALS_JUDGE_MODEL; its operator can set one. A run with judge=caller would be yours to judge."
)
"""Why a person judges, where nobody asked for one."""
FOR_A_BASELINE = (
    "What waitsFor a baseline has nothing to judge it by: show it to a person. What they accept is saved as the case's"
    " expectedOutputs, and is judged by it at once."
)
NO_BASELINE = "a baseline"
_TOOLS = {
    "test-case": ("run_test_case", "testCaseId"),
    "benchmark": ("run_benchmark", "benchmarkId"),
    "comparison": ("compare_prompt_versions", "benchmarkId"),
    "ab-test": ("run_ab_test", "testCaseId"),
}


def run_told(summary: RunSummary, spec: Mapping[str, JsonValue], *, offset: int, limit: int) -> RunAnswer:
    """The summary as an answer: `limit` entries of each list from `offset` on; what every packet repeats is said once."""
    page = slice(offset, offset + limit)
    packets = summary.packets[page]
    return RunAnswer.of(
        summary,
        without={"more_packets", "workers", "lacks_model"},
        summary=one_line(summary),
        reason=in_arguments(summary.reason),
        benchmark_run=_without_digests(summary.benchmark_run or {}),
        causes=summary.causes[page],
        failures=summary.failures[page],
        unscored=[line.model_copy(update={"reason": in_arguments(line.reason)}) for line in summary.unscored[page]],
        test_runs=[_without_digests(run) for run in summary.test_runs[page]],
        judge=summary.judge and summary.judge.brief(),
        audit=summary.audit and summary.audit.brief(),
        instructions=f"{instructions_for(packets, spec)} {NO_MODEL if summary.lacks_model else ''}".strip(),
        criteria=_criteria(packets),
        packets=[_bare(packet) for packet in packets],
        waiting=len(summary.packets) + summary.more_packets,
        next=list(next_calls(summary, spec)),
    )


def _without_digests(run: Json) -> Json:
    """Returns what is known of a run; get_record has its digests."""
    return {name: value for name, value in run.items() if value is not None and name != "digests"}


def _criteria(packets: Sequence[Packet]) -> list[AskedCriterion]:
    """The criteria of all the packets, each once."""
    judged = [packet for packet in packets if not packet.wants_baseline]
    return list({criterion.criterion_id: criterion for packet in judged for criterion in packet.criteria}.values())


def _bare(packet: Packet) -> Json:
    """The packet with the ids of its criteria only, or with what it waits for."""
    own = packet.model_dump(mode="json", exclude={"instructions", "criteria"})
    if packet.wants_baseline:
        return {**own, "waitsFor": NO_BASELINE}
    return {**own, "criterionIds": [criterion.criterion_id for criterion in packet.criteria]}


def instructions_for(packets: Sequence[Packet], spec: Mapping[str, JsonValue]) -> str:
    """Returns what to do with the packets, and who is to do it."""
    judged = [packet for packet in packets if not packet.wants_baseline]
    judging = judged[-1].instructions if judged and is_callers(spec) else FOR_A_PERSON if judged else ""
    parts = (judging, FOR_A_BASELINE if len(judged) < len(packets) else "")
    return " ".join(part for part in parts if part)


def one_line(summary: RunSummary) -> str:
    """State and figures, of ids and numbers only: what agents wrote stands in data fields."""
    parts = [f"{summary.kind} {summary.subject_id}: {summary.state}"]
    run = summary.benchmark_run
    if run is not None:
        parts.append(
            f"{run['passedCount']} of {run['totalCount']} passed ({_figure(run['passRate'])} %), score {_figure(run['overallScore'])}"
        )
    elif summary.open and summary.state != "completed":
        parts.append(f"{summary.units - summary.open} of {summary.units} done")
    if summary.regression is not None:
        since = summary.regression.get("fallenSince")
        parts.append(f"REGRESSION{f' since {since}' if since else ''}, evidence {summary.regression['evidence']}")
    if summary.failure_types:
        parts.append("failures: " + ", ".join(f"{number} {name}" for name, number in summary.failure_types.items()))
    counts = {name: number for name, number in summary.outcomes.items() if name not in {"scored", "timed-out"}}
    parts.extend(f"{number} {name}" for name, number in counts.items())
    return "; ".join(parts)


def _figure(number: JsonValue) -> str:
    return f"{number:.3g}" if isinstance(number, int | float) else "unknown"


def next_calls(summary: RunSummary, spec: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yields what to call next, ready to be copied."""
    run = json.dumps(summary.run_id)
    match summary.state:
        case "running":
            yield f'get_run {{"runId": {run}, "waitSeconds": 20}}'
        case "awaiting-judgments":
            yield from _judged(summary, spec)
        case "stopped" | "failed" | "cancelled":
            yield from _recorded(summary)
            yield from _resumed(summary, spec)
        case "completed":
            if summary.failures:
                yield f'get_record {{"id": {json.dumps(summary.failures[0].test_run_id)}}}'
                yield f'classify_failure {{"id": {run}}}'
            yield from _recorded(summary)


def _recorded(summary: RunSummary) -> Iterator[str]:
    """Yields how an output is recorded that was missing; a run of its case takes it from then on."""
    skipped = [unscored_case.test_case_id for unscored_case in summary.unscored if unscored_case.outcome == "skipped"]
    if skipped:
        fields: Json = {"agentId": "…", "inputs": {"…": f"those of {skipped[0]}"}, "outputs": {"output": "…"}}
        arguments = json.dumps({"records": [{"type": "agent-run", "fields": fields}]}, ensure_ascii=False)
        yield f"record the missing output, then run again: save_records {arguments}"


def _judged(summary: RunSummary, spec: Mapping[str, JsonValue]) -> Iterator[str]:
    wanting = [packet for packet in summary.packets if packet.wants_baseline]
    if len(wanting) < len(summary.packets):
        judge, ahead = ("YOUR-ID", "") if is_callers(spec) else ("THE PERSON", "once a person has judged: ")
        yield (
            f'{ahead}submit_judgments {{"runId": {json.dumps(summary.run_id)}, "judgedBy": "{judge}", "packets":'
            ' [{"digest": "…", "judgments": [{"criterionId": "…", "score": 0, "rationale": "…"}]}]}'
        )
    for packet in wanting[:1]:
        fields: Json = {"expectedOutputs": {"output": "…"}}
        case: Json = {"id": packet.test_case_id, "type": "test-case", "fields": fields}
        arguments = json.dumps({"records": [case], "merge": True}, ensure_ascii=False)
        yield f"once a person has accepted an output: save_records {arguments}"


def is_callers(spec: Mapping[str, JsonValue]) -> bool:
    """Returns whether what waits in the run is the caller's to judge; in every other run it is a person's."""
    return cast("Json", spec["request"]).get("judge") == "caller"


def _resumed(summary: RunSummary, spec: Mapping[str, JsonValue]) -> Iterator[str]:
    if summary.kind not in _TOOLS:
        return
    tool, subject = _TOOLS[summary.kind]
    request_wire = cast("Json", spec["request"])
    settings = {name: request_wire[name] for name in _SETTINGS if request_wire.get(name) not in (None, False)}
    cases = {"testCaseIds": request_wire["caseIds"]} if request_wire.get("caseIds") else {}
    arguments = {subject: summary.subject_id, **settings, **cases, "idempotencyKey": summary.key}
    yield f"resume: {tool} {json.dumps(arguments)}"

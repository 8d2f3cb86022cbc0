"""A run in words for a model: one line of figures, the lists that matter, and the calls that come next."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers import RunSummary

_SETTINGS = (
    "agentRunId", "rejudgeRunId", "promptVersionRef", "versionA", "versionB", "judge", "trials", "fresh", "tieThreshold",
    "branchIds", "promptVersion", "winnerCriteria", "iterations", "triggeredBy",
)  # fmt: skip
"""What must be said again to resume a run; a target that the operator named is not the caller's to repeat."""
KEPT = frozenset({"units", "open", "outcomes"})
"""What is told even where it is nothing."""
FOR_A_PERSON = (
    "A person judges these outputs, not you: show them, and hand in what the person says under the person's name."
    " Until then they wait, and get_run shows them again."
)
_TOOLS = {
    "test-case": ("run_test_case", "testCaseId"),
    "benchmark": ("run_benchmark", "benchmarkId"),
    "comparison": ("compare_prompt_versions", "benchmarkId"),
    "ab-test": ("run_ab_test", "testCaseId"),
}


def told_run(summary: RunSummary, *, offset: int, limit: int) -> Json:
    """The summary as an answer: `limit` entries of each list from `offset` on; what every packet repeats is said once."""
    until = offset + limit
    found = cast("Json", summary.model_dump(mode="json", exclude={"packets", "more_packets"}))
    for name in ("failures", "unscored", "testRuns"):
        found[name] = cast("list[JsonValue]", found[name])[offset:until]
    if isinstance(run := found.get("benchmarkRun"), dict):
        run.pop("digests", None)  # get_record has them
    found["testRuns"] = [_told(one) for one in cast("list[Json]", found["testRuns"])]
    waiting = len(summary.packets) + summary.more_packets
    packets = [cast("Json", one) for one in summary.packets[offset:until]]
    instructions, criteria, bare = _hoisted(packets)
    parts: Json = {**found, "instructions": instructions, "criteria": criteria, "packets": bare, "waiting": waiting}
    empty = {name for name, value in parts.items() if value in ({}, [], "", 0, None) and name not in KEPT}
    return {"summary": one_line(summary), **{name: value for name, value in parts.items() if name not in empty}}


def _told(run: Json) -> Json:
    """A test-run without what is not known of it."""
    return {name: value for name, value in run.items() if value is not None and name != "digests"}


def _hoisted(packets: list[Json]) -> tuple[str, list[JsonValue], list[JsonValue]]:
    """The instructions and criteria of all the packets, and the packets with the criteria's ids only."""
    criteria: dict[str, JsonValue] = {}
    bare: list[JsonValue] = []
    instructions = ""
    for one in packets:
        asked = cast("list[Json]", one["criteria"])
        criteria.update({str(criterion["criterionId"]): criterion for criterion in asked})
        instructions = str(one["instructions"])
        kept = {name: value for name, value in one.items() if name not in {"instructions", "criteria"}}
        bare.append({**kept, "criterionIds": [criterion["criterionId"] for criterion in asked]})
    return instructions, list(criteria.values()), bare


def one_line(summary: RunSummary) -> str:
    """State and figures, of ids and numbers only: what agents wrote stands in data fields."""
    said = [f"{summary.kind} {summary.subject_id}: {summary.state}"]
    run = summary.benchmark_run
    if run is not None:
        said.append(
            f"{run['passedCount']} of {run['totalCount']} passed ({_figure(run['passRate'])} %), score {_figure(run['overallScore'])}"
        )
    elif summary.open and summary.state != "completed":
        said.append(f"{summary.units - summary.open} of {summary.units} done")
    if summary.regression is not None:
        said.append(f"REGRESSION, evidence {summary.regression['evidence']}")
    if summary.failure_types:
        said.append("failures: " + ", ".join(f"{number} {name}" for name, number in summary.failure_types.items()))
    counts = {name: number for name, number in summary.outcomes.items() if name not in {"scored", "timed-out"}}
    said.extend(f"{number} {name}" for name, number in counts.items())
    return "; ".join(said)


def _figure(number: JsonValue) -> str:
    return f"{number:.3g}" if isinstance(number, int | float) else "unknown"


def next_calls(summary: RunSummary, spec: Mapping[str, JsonValue]) -> Iterator[str]:
    """What to call next, ready to be copied."""
    run = json.dumps(summary.run_id)
    match summary.state:
        case "running":
            yield f'get_run {{"runId": {run}, "waitSeconds": 20}}'
        case "awaiting-judgments":
            judge, ahead = ("YOUR-ID", "") if is_callers(spec) else ("THE PERSON", "once a person has judged: ")
            yield (
                f'{ahead}submit_judgments {{"runId": {run}, "judgedBy": "{judge}", "packets": [{{"digest": "…", "judgments":'
                ' [{"criterionId": "…", "score": 0, "rationale": "…"}]}]}'
            )
        case "stopped" | "failed" | "cancelled":
            yield from _resumed(summary, spec)
        case "completed":
            if summary.failures:
                yield f'get_record {{"id": {json.dumps(summary.failures[0].test_run_id)}}}'
                yield f'classify_failure {{"id": {run}}}'


def is_callers(spec: Mapping[str, JsonValue]) -> bool:
    """Whether what waits in the run is the caller's to judge; in every other run it is a person's."""
    return cast("Json", spec["request"]).get("judge") == "caller"


def _resumed(summary: RunSummary, spec: Mapping[str, JsonValue]) -> Iterator[str]:
    if summary.kind not in _TOOLS:
        return
    tool, subject = _TOOLS[summary.kind]
    asked = cast("Json", spec["request"])
    settings = {name: asked[name] for name in _SETTINGS if asked.get(name) not in (None, False)}
    cases = {"testCaseIds": asked["caseIds"]} if asked.get("caseIds") else {}
    arguments = {subject: summary.subject_id, **settings, **cases, "idempotencyKey": summary.key}
    yield f"resume: {tool} {json.dumps(arguments)}"

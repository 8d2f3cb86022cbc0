"""Ten tasks as an assistant does them, each a script over our tools, and the facts that its answers must state."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from tests.hosts.scripted_model import Script
from tests.shared.server.hosts import judged, read_by_people, suite

Json = dict[str, Any]
SIZE, BAD = 24, 6
VERSIONS: list[Json] = [
    {"id": f"v{number}", "type": "prompt-version", "fields": {"content": f"Say {number}.", "versionNumber": number, "promptId": "p"}}
    for number in (1, 2)
]  # fmt: skip
SLOW = "openai:slow"
"""A model that answers after some seconds: the task's server has its address."""


@dataclass(frozen=True, slots=True)
class HostTask:
    """A task: what the model does, and what it must have been told, as patterns over all answers together."""

    script: Callable[[], Script]
    facts: tuple[str, ...]
    is_slow: bool = False


def document(answer: str) -> Json:
    """The structured part of an answer, which hosts hand on with words before or after it; empty where it is words alone."""
    for found in re.finditer(r"\{", answer):
        try:
            wire, _ = json.JSONDecoder().raw_decode(answer[found.start() :])
        except ValueError:
            continue
        return wire
    return {}


def _recorded() -> list[Json]:
    """The suite with outputs of two versions: the first gives wrong answers to half of the cases, the second to a quarter."""
    records = cast("list[Json]", suite(SIZE, bad=BAD))
    runs = [record for record in records if record["type"] == "agent-run"]
    said = {"v1": ["bad"] * (SIZE // 2) + ["good"] * (SIZE // 2), "v2": ["good"] * SIZE}
    for version, outputs in said.items():
        for run, output in zip(runs, outputs, strict=True):
            fields = {**run["fields"], "outputs": {"output": output}, "promptVersionRef": version}
            records.append({**run, "id": f"{run['id']}/{version}", "fields": fields})
    return [*VERSIONS, *records]


def from_nothing() -> Script:
    """A suite is made in an empty store, and read back."""
    answer = yield "list_records", {"type": "benchmark"}
    assert not document(answer)["records"], answer
    answer = yield "save_records", {"records": suite(SIZE, bad=BAD)}
    assert str(2 * SIZE + 1) in answer, answer
    answer = yield "list_records", {"type": "test-case", "limit": 5}
    assert len(document(answer)["records"]) == 5, answer


def run() -> Script:
    """A benchmark of recorded outputs is run; the verdict comes with the answer."""
    yield "save_records", {"records": suite(SIZE, bad=BAD)}
    answer = yield "run_benchmark", {"benchmarkId": "b", "waitSeconds": 20}
    assert document(answer)["state"] == "completed", answer
    answer = yield "get_run", {"runId": document(answer)["runId"]}
    assert "18 of 24" in answer, answer


def judge() -> Script:
    """The assistant judges six outputs under a rubric, without a key."""
    yield "save_records", {"records": read_by_people(6)}
    answer = yield "run_benchmark", {"benchmarkId": "b", "judge": "caller", "waitSeconds": 20}
    run_id, given = document(answer)["runId"], 0
    while packets := document(answer).get("packets"):
        verdicts = [_verdict(packet, given + number) for number, packet in enumerate(packets)]
        given += len(verdicts)
        answer = yield "submit_judgments", {"runId": run_id, "packets": verdicts, "judgedBy": "assistant"}
    assert (given, document(answer)["state"]) == (6, "completed"), answer


def _verdict(packet: Json, number: int) -> Json:
    """The verdict on one output; the last is the only one that is not kind."""
    verdict: Json = judged(packet, 1 if number == 5 else 4)
    for one in verdict["judgments"]:
        one["rationale"] = f"Output {number} is short and {'rude' if number == 5 else 'kind'}."
    return verdict


def compare() -> Script:
    """Two versions are compared on their recorded outputs."""
    yield "save_records", {"records": _recorded(), "relations": [{"sourceId": "v2", "targetId": "v1"}]}
    answer = yield (
        "compare_prompt_versions",
        {"benchmarkId": "b", "versionA": "v1", "versionB": "v2", "waitSeconds": 20},
    )
    assert "mproved" in answer or "IMPROVED" in answer, answer


def approve() -> Script:
    """The assistant may not approve what rests on records that it brought itself."""
    yield "save_records", {"records": _recorded(), "relations": [{"sourceId": "v2", "targetId": "v1"}]}
    yield "compare_prompt_versions", {"benchmarkId": "b", "versionA": "v1", "versionB": "v2", "waitSeconds": 20}
    answer = yield "approve_prompt_version", {"promptVersionRef": "v2", "reason": "v2 is better"}
    assert '"approved":true' not in answer.replace(" ", ""), answer


def audit() -> Script:
    """The suite is audited for checks that a wrong answer passes."""
    yield "save_records", {"records": suite(SIZE, bad=BAD)}
    answer = yield "audit_benchmark", {"benchmarkId": "b"}
    assert document(answer), answer


def explain() -> Script:
    """A failed unit is explained."""
    yield "save_records", {"records": suite(SIZE, bad=BAD)}
    answer = yield "run_benchmark", {"benchmarkId": "b", "waitSeconds": 20}
    run_id = document(answer)["runId"]
    answer = yield "get_run", {"runId": run_id}
    failures = document(answer)["failures"]
    answer = yield "classify_failure", {"id": failures[0].get("testRunId") or failures[0]["id"]}
    assert "good" in answer, answer


def people() -> Script:
    """Outputs that only a person may judge wait for one: no verdict is made up, whether or not the host has a form."""
    yield "save_records", {"records": read_by_people(2)}
    answer = yield "run_benchmark", {"benchmarkId": "b", "judge": "human", "waitSeconds": 2}
    told = document(answer)
    assert told["state"] not in {"completed", "failed"}, answer
    answer = yield "get_run", {"runId": told["runId"]}
    assert document(answer)["state"] not in {"completed", "failed"}, answer


def cancel() -> Script:
    """A slow run is stopped."""
    yield "save_records", {"records": [*VERSIONS, *_without_outputs()]}
    answer = yield "run_benchmark", {**_SLOWLY, "idempotencyKey": "slow"}
    run_id = document(answer)["runId"]
    answer = yield "cancel_run", {"runId": run_id}
    assert document(answer)["state"] == "stopped", answer


def resume() -> Script:
    """A stopped run goes on under its key to its end, and judges nothing twice."""
    yield "save_records", {"records": [*VERSIONS, *_without_outputs()]}
    answer = yield "run_benchmark", {**_SLOWLY, "idempotencyKey": "slow"}
    first = document(answer)["runId"]
    yield "cancel_run", {"runId": first}
    answer = yield "run_benchmark", {**_SLOWLY, "idempotencyKey": "slow", "waitSeconds": 50}
    told = document(answer)
    while told["state"] in {"running", "queued"}:
        answer = yield "get_run", {"runId": first, "waitSeconds": 50}
        told = document(answer)
    assert (told["state"], told["runId"]) == ("completed", first), answer


_SLOWLY: Json = {"benchmarkId": "b", "promptVersionRef": "v1", "target": SLOW}


def _without_outputs() -> list[Json]:
    records = cast("list[Json]", suite(4, bad=0))
    return [record for record in records if record["type"] != "agent-run"]


TASKS: Mapping[str, HostTask] = {
    "from-nothing": HostTask(from_nothing, (r"\b49\b", r"24 (?:of|test)", "c0")),
    "run": HostTask(run, (r"18 of 24", "c0", r"good", r"0?\.75")),
    "judge": HostTask(judge, (r"5 of 6", "rude")),
    "compare": HostTask(compare, (r"(?i)improved", r"0\.5\b|\+0\.500|50", r"\b12\b")),
    "approve": HostTask(approve, (r"(?i)person", r"v2")),
    "audit": HostTask(audit, (r"\b24\b",)),
    "explain": HostTask(explain, (r"good", r"bad")),
    "people": HostTask(people, (r"(?i)wait|input_required|person",)),
    "cancel": HostTask(cancel, (r"stopped", "slow"), is_slow=True),
    "resume": HostTask(resume, (r"completed", r"4 (?:of|case)"), is_slow=True),
}

"""One story that every client must be able to live: judge as the caller, see the regression, compare, be refused as a judge of its own."""

from __future__ import annotations

import json

from pydantic import JsonValue

from tests.shared.server.hosts import Host, judged, part, rows
from tests.workshop import Json

SIZE = 9
SAID = {"p@1": "Fine", "p@2": "No", "p@3": "Dear friend, fine"}
SCORES = {"Dear": 5, "Fine": 3, "No": 1}
"""What the caller gives an output that holds the word."""
LIVED: Json = {
    "regression": "supported",
    "refused": "hard-rule: HR2",
    "verdict": "improved",
    "decision": "hard-rule: HR2",
}


def records() -> list[JsonValue]:
    """A suite that only a reader can judge: outputs of three prompt versions, the second worse and the third better."""
    names = [f"c{number}" for number in range(SIZE)]
    return [
        {"id": "r", "type": "rubric", "fields": {"name": "r", "passingThreshold": 3, "criteriaIds": ["r/tone"]}},
        {
            "id": "r/tone", "type": "rubric-criterion",
            "fields": {"rubricId": "r", "name": "tone", "description": "Is it kind?", "maxScore": 5},
        },
        *[_version(ref) for ref in SAID],
        *[{"id": name, "type": "test-case", "fields": {"name": name, "inputs": {"q": name}, "rubricId": "r"}} for name in names],
        *[_output(ref, name, said) for ref, said in SAID.items() for name in names],
        {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": [*names]}},
    ]  # fmt: skip


def relations() -> list[JsonValue]:
    """The two newer versions follow the first."""
    return [{"sourceId": newer, "targetId": "p@1"} for newer in ("p@2", "p@3")]


def _version(ref: str) -> Json:
    fields: Json = {"promptId": "p", "versionNumber": int(ref[-1]), "content": f"Be kind: {ref}"}
    return {"id": ref, "type": "prompt-version", "fields": fields}


def _output(ref: str, name: str, said: str) -> Json:
    fields: Json = {
        "agentId": "agent", "promptVersionRef": ref, "inputs": {"q": name}, "outputs": {"output": f"{said}: {name}."},
    }  # fmt: skip
    return {"id": f"{ref}/{name}", "type": "agent-run", "fields": fields}


async def lived(host: Host) -> Json:
    """What happened to a client that lived it."""
    await host.call("save_records", records=records(), relations=relations())
    for version in ("p@1", "p@2"):
        asked: Json = {"benchmarkId": "b", "promptVersionRef": version, "judge": "caller", "waitSeconds": 50}
        run = await judged_whole(host, await host.call("run_benchmark", **asked))
    wish: Json = {"promptVersionRef": "p@3", "decidedBy": "ide"}
    refused = await host.refused("approve_prompt_version", **wish)
    compared = await host.call(
        "compare_prompt_versions", benchmarkId="b", versionA="p@1", versionB="p@3", judge="caller", waitSeconds=50
    )
    for side in ("A", "B"):
        await judged_whole(host, await host.call("get_run", runId=f"{compared['runId']}:{side}"))
    done = await host.call("get_run", runId=compared["runId"], waitSeconds=50)
    decided = await host.refused("approve_prompt_version", **wish)  # an agent judged, and an agent would decide
    return {
        "regression": part(run, "regression")["evidence"],
        "refused": refused[:14],
        "verdict": part(done, "comparison")["verdict"],
        "decision": decided[:14],
    }


async def judged_whole(host: Host, answer: Json, *, judged_by: str = "ide") -> Json:
    """The run once the caller has judged every packet."""
    while answer.get("packets"):
        verdicts = [judged(packet, _score(packet)) for packet in rows(answer, "packets")]
        answer = await host.call("submit_judgments", runId=answer["runId"], judgedBy=judged_by, packets=verdicts)
    return answer


def _score(packet: Json) -> float:
    said = json.dumps(packet)
    return next(score for word, score in SCORES.items() if word in said)

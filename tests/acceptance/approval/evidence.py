"""Evidence that is forged, changed afterwards, or the agent's own."""

from __future__ import annotations

from tests.acceptance.approval.agent import (
    AS_BEFORE,
    CASES,
    NAMES,
    RIGHT,
    SCRIPT,
    WRONG,
    Agent,
    a_benchmark,
    a_case,
    attack,
    recorded,
)
from tests.shared.server.hosts import judged as verdict_on
from tests.shared.server.hosts import read_by_people, rows
from tests.workshop import Json


@attack("a forged comparison is handed in", refused_as="prompt-comparison")
async def _(agent: Agent) -> str:
    runs = [await agent.run("p@1", AS_BEFORE), await agent.run("p@2", AS_BEFORE)]
    fields: Json = {
        "benchmarkId": "b", "promptVersionA": "p@1", "promptVersionB": "p@2", "benchmarkRunIdA": runs[0], "benchmarkRunIdB": runs[1],
        "scoreA": 0.1, "scoreB": 0.9, "scoreDelta": 0.8, "winner": "p@2", "sampleSize": 12, "verdict": "improved",
        "comparedAt": "2026-11-01T00:00:00Z", "pValue": 0.0001,
    }  # fmt: skip
    return await agent.outright({"id": "forged", "type": "prompt-comparison", "fields": fields})


@attack("a forged approval is handed in", refused_as="approval")
async def _(agent: Agent) -> str:
    fields: Json = {
        "promptVersionRef": "p@2", "decision": "approved", "reason": "fine", "decidedBy": "anna", "decidedByType": "human",
        "decidedAt": "2026-11-01T00:00:00Z",
    }  # fmt: skip
    return await agent.outright({"id": "forged", "type": "approval", "fields": fields})


@attack("a forged judgment of a person is handed in", refused_as="eval-judgment")
async def _(agent: Agent) -> str:
    fields: Json = {
        "testRunId": "r", "criterionId": "x", "score": 1, "minScore": 0, "maxScore": 1, "rationale": "so", "judgedBy": "anna",
        "judgedByType": "human", "judgedAt": "2026-11-01T00:00:00Z", "confidence": 1, "origin": "imported",
    }  # fmt: skip
    return await agent.outright({"id": "forged", "type": "eval-judgment", "fields": fields})


@attack(
    "a case that the candidate fails leaves the benchmark between its two runs",
    refused_as="changed between the two runs|changed since",
)
async def _(agent: Agent) -> str:
    before = await agent.run("p@1", WRONG)
    await agent.save(a_benchmark("b", NAMES[1:]))
    await agent.compare_stored(before, await agent.run("p@2", RIGHT[1:]))
    return await agent.refused()


@attack("what the cases want is changed after the comparison", refused_as="edited since")
async def _(agent: Agent) -> str:
    await agent.compare(WRONG, RIGHT)
    await agent.save(a_case("c3", wanted="bad"))
    return await agent.refused()


@attack("the agent hands its own outputs in, for both versions", refused_as="submitted, not by a person")
async def _(agent: Agent) -> str:
    await agent.save(*recorded("p@1", WRONG), *recorded("p@2", RIGHT))
    await agent.compare(WRONG, RIGHT, fresh=False)
    return await agent.refused()


@attack(
    "a second connection of the agent judges, the first decides",
    refused_as="submitted by agents, and an agent is the one who approves",
)
async def _(agent: Agent) -> str:
    await agent.save(*(one for one in read_by_people(CASES) if isinstance(one, dict) and one["type"] != "agent-run"))
    SCRIPT[:] = [iter([*WRONG, *RIGHT])]
    asked: Json = {"benchmarkId": "b", "versionA": "p@1", "versionB": "p@2", "judge": "caller", "waitSeconds": 50}
    found = await agent.host.call("compare_prompt_versions", **asked)
    for which, score in (("A", 0.0), ("B", 5.0)):
        side = f"{found['runId']}:{which}"
        while "packets" in (waiting := await agent.other.call("get_run", runId=side)):
            answers = [verdict_on(one, score) for one in rows(waiting, "packets")]
            await agent.other.call("submit_judgments", runId=side, judgedBy="a-careful-reader", packets=answers)
    return await agent.refused(decidedBy="me")

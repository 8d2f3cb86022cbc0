"""The ruler, the outputs or the decision changed by another door than the one that compares: queries, messages, drafts, worlds."""

from __future__ import annotations

from pydantic import JsonValue

from tests.acceptance.approval.agent import (
    AS_BEFORE,
    CASES,
    LUCKY,
    NAMES,
    RIGHT,
    SCRIPT,
    WRONG,
    Agent,
    a_case,
    attack,
    keep,
    recorded,
    version,
)
from tests.acceptance.approval.ruler import but, measured_by
from tests.shared.server.hosts import read_by_people, rows
from tests.workshop import Json, first, opened

RUN = {"id": "o", "type": "agent-run"}


@attack("a case is changed by a query", refused_as=measured_by("c3"))
async def _(agent: Agent) -> str:
    changed = '{promptId: "p", name: "c3", input: {q: "c3"}, expectedOutput: "bad"}'
    assert not await agent.query(f'updateTestCase(id: "c3", input: {changed}) {{ id }}')
    await agent.compare(WRONG, but("c3"))
    return await agent.refused()


@attack("what a case wants is set by a query", refused_as=measured_by("c3"))
async def _(agent: Agent) -> str:
    case = a_case("c3")
    assert isinstance(case, dict)
    assert isinstance(case["fields"], dict)
    async with opened(agent.config) as operator:
        await keep(operator, {**case, "fields": {**case["fields"], "promptId": "p"}})
    assert not await agent.query('updateExpectedOutput(testCaseId: "c3", output: "bad") { id }')
    await agent.compare(WRONG, but("c3"))
    return await agent.refused()


@attack("a case is deleted by a query", refused_as=measured_by("c3"))
async def _(agent: Agent) -> str:
    assert not await agent.query('deleteTestCase(id: "c3")')
    await agent.compare(WRONG[1:], RIGHT[1:])
    return await agent.refused()


@attack("a case is changed by a message", refused_as=measured_by("c3"))
async def _(agent: Agent) -> str:
    assert not await agent.letter("update-test-case", testCaseId="c3", expectedOutput="bad")
    await agent.compare(WRONG, but("c3"))
    return await agent.refused()


@attack("what a case wants is set by a message", refused_as=measured_by("c3"))
async def _(agent: Agent) -> str:
    assert not await agent.letter("update-expected-output", testCaseId="c3", output="bad")
    await agent.compare(WRONG, but("c3"))
    return await agent.refused()


@attack("a case is deleted by a message", refused_as=measured_by("c3"))
async def _(agent: Agent) -> str:
    assert not await agent.letter("delete-test-case", testCaseId="c3")
    await agent.compare(WRONG[1:], RIGHT[1:])
    return await agent.refused()


@attack("a message approves in a person's name", refused_as="token|person")
async def _(agent: Agent) -> str:
    await agent.compare(AS_BEFORE, first(8, CASES))
    return await agent.letter(
        "approve-prompt-version", promptVersionRef="p@2", decidedBy="anna", decidedByType="human", reason="I have read it",
        overrideReason="It is better",
    )  # fmt: skip


@attack("a message approves on a benchmark of the agent's own", refused_as=measured_by("mine"))
async def _(agent: Agent) -> str:
    fields: Json = {"name": "mine", "testCaseIds": [*NAMES]}
    await agent.save({"id": "mine", "type": "benchmark", "fields": fields})
    await agent.compare(WRONG, RIGHT, benchmarkId="mine")
    return await agent.letter("approve-prompt-version", promptVersionRef="p@2", decidedBy="me", benchmarkIds=["mine"])


@attack("bad outputs of the version in use come as completed work", refused_as="12 outputs of p@1 .* were submitted")
async def _(agent: Agent) -> str:
    for one in recorded("p@1", WRONG):
        assert isinstance(one, dict)
        await agent.host.call("send_message", type="agent-run-completed", payload={"agentRun": one})
    await agent.letter("get-test-cases", promptId="p")  # the daemon does what waits
    before = await agent.run_recorded("p@1")
    await agent.compare_stored(before, await agent.run("p@2", RIGHT))
    return await agent.refused()


@attack("recorded and generated outputs are mixed in one run", refused_as="outputs of p@1 .* were submitted")
async def _(agent: Agent) -> str:
    await agent.save(*recorded("p@1", WRONG)[:8])
    await agent.compare(WRONG[8:], RIGHT, fresh=False)
    return await agent.refused()


@attack("outputs are handed in under the ids of the operator's", refused_as="submitted|never edited|HR1")
async def _(agent: Agent) -> str:
    async with opened(agent.config) as operator:
        await keep(operator, *recorded("p@1", AS_BEFORE))
    said = await agent.tried(*recorded("p@1", WRONG))
    before = await agent.run_recorded("p@1")
    await agent.compare_stored(before, await agent.run("p@2", RIGHT))
    return said or await agent.refused()


@attack(
    "only the cases that the candidate gets right are run", refused_as="is not the whole benchmark: named by the caller"
)
async def _(agent: Agent) -> str:
    runs: list[str] = []
    for of, right in (("p@1", False), ("p@2", True)):
        SCRIPT[:] = [iter([right] * 6)]
        asked: Json = {
            "benchmarkId": "b",
            "promptVersionRef": of,
            "testCaseIds": [*NAMES[:6]],
            "waitSeconds": 50,
            "fresh": True,
        }
        runs.append(str((await agent.host.call("run_benchmark", **asked))["runId"]))
    return await agent.host.refused("compare_prompt_versions", runIds=[*runs])


def a_world(result: str) -> JsonValue:
    servers: Json = {"desk": {"mode": "mock", "tools": [{"name": "look", "rules": [{"result": result}]}]}}
    return {"id": "w", "type": "world", "fields": {"name": "w", "servers": servers}}


async def _compared_by_letter(agent: Agent, **asked: object) -> str:
    SCRIPT[:] = [iter([*WRONG, *RIGHT])]
    said = await agent.letter(
        "compare-prompts", benchmarkId="b", promptVersionA="p@1", promptVersionB="p@2", fresh=True, **asked
    )
    return said or await agent.refused()


@attack("a world of the agent's own", refused_as="edited since .*: c0")
async def _(agent: Agent) -> str:
    await agent.save(a_world("x"))
    return await _compared_by_letter(agent, world="w")


@attack("faults of the agent's choice", refused_as="edited since .*: c0")
async def _(agent: Agent) -> str:
    async with opened(agent.config) as operator:
        await keep(operator, a_world("x"))
    return await _compared_by_letter(agent, world="w", faults=["timeout:look@1"])


@attack(
    "a world of the agent's own for the version in use, hidden by judging its run again", refused_as="no comparison"
)
async def _(agent: Agent) -> str:
    await agent.save(a_world("x"))
    return await _judged_again(agent, await agent.run("p@1", WRONG, world="w"), await agent.run("p@2", RIGHT))


@attack("a world of the agent's own for both versions, hidden by judging both again", refused_as="edited since .*: c0")
async def _(agent: Agent) -> str:
    await agent.save(a_world("x"))
    return await _judged_again(
        agent, await agent.run("p@1", WRONG, world="w"), await agent.run("p@2", RIGHT, world="w")
    )


@attack("cases that ask something else while the version in use runs, then accepted again", refused_as="no comparison")
async def _(agent: Agent) -> str:
    for name in NAMES:
        case = a_case(name)
        assert isinstance(case, dict)
        assert isinstance(case["fields"], dict)
        await agent.save({**case, "fields": {**case["fields"], "inputs": {"q": "what nobody can"}}})
    before = await agent.run("p@1", WRONG)
    async with opened(agent.config) as operator:
        await keep(operator, *map(a_case, NAMES))
    return await _judged_again(agent, before, await agent.run("p@2", RIGHT))


async def _judged_again(agent: Agent, *runs: str) -> str:
    """Why approval is refused on both runs judged once more."""
    asked: list[Json] = [{"benchmarkId": "b", "rejudgeRunId": run, "waitSeconds": 50} for run in runs]
    again = [str((await agent.host.call("run_benchmark", **one))["runId"]) for one in asked]
    await agent.host.raw("compare_prompt_versions", runIds=[*again])
    return await agent.refused()


@attack("a world of the operator's is changed under the cases", refused_as=measured_by("w"))
async def _(agent: Agent) -> str:
    def acted(name: str) -> JsonValue:
        case = a_case(name)
        assert isinstance(case, dict)
        fields = case["fields"]
        assert isinstance(fields, dict)
        return {**case, "fields": {**fields, "world": "w"}}

    async with opened(agent.config) as operator:
        await keep(operator, a_world("x"), *map(acted, NAMES))
    await agent.save(a_world("y"))
    await agent.compare(WRONG, RIGHT)
    return await agent.refused()


@attack("another target answers", refused_as="target")
async def _(agent: Agent) -> str:
    return await agent.host.refused(
        "compare_prompt_versions", benchmarkId="b", versionA="p@1", versionB="p@2", waitSeconds=50, fresh=True,
        target="python:tests.acceptance.approval.agent:scripted",
    )  # fmt: skip


@attack("the target of a message answers", refused_as="named by the operator")
async def _(agent: Agent) -> str:
    asked: Json = {
        "benchmarkId": "b",
        "promptVersionA": "p@1",
        "promptVersionB": "p@2",
        "target": "command:true",
        "fresh": True,
    }
    return await agent.host.refused("send_message", type="compare-prompts", payload=asked)


@attack("earlier comparisons are deleted", refused_as="attempt 5")
async def _(agent: Agent) -> str:
    for _ in range(4):
        found = await agent.compare(AS_BEFORE, AS_BEFORE)
        await agent.tried({"id": str(found["comparisonId"]), "type": "prompt-comparison", "fields": {}})
        await agent.host.raw("delete_record", id=str(found["comparisonId"]))
    await agent.compare(AS_BEFORE, LUCKY)
    return await agent.refused()


async def _waiting_for_people(agent: Agent) -> tuple[str, str]:
    """A run whose outputs people are to judge, and the digest of one; the operator's rubric is read by people."""
    async with opened(agent.config) as operator:
        read = [one for one in read_by_people(CASES) if isinstance(one, dict) and one["type"] != "agent-run"]
        await keep(operator, *read)
    SCRIPT[:] = [iter([*WRONG, *RIGHT])]
    asked: Json = {"benchmarkId": "b", "versionA": "p@1", "versionB": "p@2", "judge": "human", "waitSeconds": 50}
    await agent.host.call("compare_prompt_versions", **asked)
    async with opened(agent.config) as operator:
        waiting = "SELECT job_id, packet FROM unit WHERE outcome = 'awaiting-judgments'"
        run, digest = await operator.store.read(lambda db: db.execute(waiting).fetchone())
    return str(run), str(digest)


def _five(criterion: str) -> Json:
    return {"criterionId": criterion, "score": 5, "rationale": "It says what was asked, in order.", "confidence": 1}


@attack("outputs that wait for people are judged in a person's name", refused_as="person|token")
async def _(agent: Agent) -> str:
    run, digest = await _waiting_for_people(agent)
    packet: Json = {"digest": digest, "judgments": [_five("r/tone")]}
    return await agent.host.refused("submit_judgments", runId=run, judgedBy="anna", packets=[packet])


@attack("a message decides a judgment request in a person's name", refused_as="person|token")
async def _(agent: Agent) -> str:
    run, digest = await _waiting_for_people(agent)
    return await agent.letter(
        "approval-decided",
        runId=run,
        digest=digest,
        decision="approved",
        decidedBy="anna",
        judgments=[_five("r/tone")],
    )


@attack("the skill that sets the limits is changed", refused_as="skill")
async def _(agent: Agent) -> str:
    fields: Json = {"name": "compare-prompt-versions", "parameters": {"tieThreshold": -1}}
    return await agent.outright({"id": "compare-prompt-versions", "type": "skill-definition", "fields": fields})


@attack(
    "the tie threshold is set so that everything is a win", refused_as="tieThreshold|no such|inconclusive|attempt|HR2"
)
async def _(agent: Agent) -> str:
    for _ in range(3):
        await agent.compare(AS_BEFORE, first(7, CASES), tieThreshold=0)
    return await agent.refused()


@attack("drafts that traces suggest are accepted into the benchmark", refused_as="outputs of p@1 .* were submitted")
async def _(agent: Agent) -> str:
    await agent.save(*recorded("p@1", WRONG))
    await agent.host.raw("suite_from_traces", agentId="me")
    found = await agent.host.call("list_records", type="test-case", limit=100)
    drafts = [one["id"] for one in rows(found, "records") if one["id"] not in NAMES]
    await agent.host.raw("suite_from_traces", agentId="me", accept=drafts)
    fields: Json = {"name": "b", "testCaseIds": [*NAMES, *drafts]}
    await agent.save({"id": "b", "type": "benchmark", "fields": fields})
    runs = [await agent.run(of, [right] * 99) for of, right in (("p@1", False), ("p@2", True))]
    await agent.compare_stored(*runs)
    return await agent.refused()


@attack("a version of the agent's is tried and taken at once", refused_as="attempt|inconclusive|HR2")
async def _(agent: Agent) -> str:
    for number in range(4):
        SCRIPT[:] = [iter([*AS_BEFORE, *AS_BEFORE] * 4)]
        await agent.host.raw(
            "try_version", benchmarkId="b", version=f"p@{number + 3}", content=f"Say {number}!", waitSeconds=50
        )
    await agent.save(version(9))
    await agent.compare(AS_BEFORE, LUCKY, versionB="p@9")
    return await agent.refused("p@9")

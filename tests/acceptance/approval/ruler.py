"""A benchmark, cases, rubrics and outputs of the agent's own, or changed ones of the operator's."""

from __future__ import annotations

from pydantic import JsonValue

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
    a_criterion,
    a_rubric,
    attack,
    recorded,
)
from tests.workshop import Json, first


def but(name: str) -> list[bool]:
    """All right but the answer to that case."""
    return [one != name for one in NAMES]


def measured_by(*refused: str) -> str:
    return rf"created, changed or deleted by an agent \({', '.join(refused)}"


@attack("a benchmark of its own over a person's cases", refused_as=measured_by("mine"))
async def _(agent: Agent) -> str:
    await agent.save(a_benchmark("mine", NAMES))
    await agent.compare(WRONG, RIGHT, benchmarkId="mine")
    return await agent.refused()


@attack("a benchmark and cases of its own that want the wrong thing", refused_as=measured_by("mine"))
async def _(agent: Agent) -> str:
    names = [f"x{number}" for number in range(CASES)]
    await agent.save(*(a_case(name, "bad") for name in names), a_benchmark("mine", names))
    await agent.compare(RIGHT, WRONG, benchmarkId="mine")
    return await agent.refused()


@attack("the operator's cases want the wrong thing before the comparison", refused_as=measured_by("c0", "c1"))
async def _(agent: Agent) -> str:
    await agent.save(*(a_case(name, "bad") for name in NAMES))
    await agent.compare(RIGHT, WRONG)
    return await agent.refused()


@attack("one case of twelve is changed before the comparison", refused_as=measured_by("c7"))
async def _(agent: Agent) -> str:
    await agent.save({"id": "c7", "type": "test-case", "fields": {"expectedOutputs": {"output": "bad"}}}, merge=True)
    await agent.compare(WRONG, but("c7"))
    return await agent.refused()


@attack("a case is changed and changed back", refused_as=measured_by("c1"))
async def _(agent: Agent) -> str:
    await agent.save(a_case("c1", "bad"))
    await agent.save(a_case("c1"))
    await agent.compare(WRONG, RIGHT)
    return await agent.refused()


@attack("a hard case is deleted", refused_as=measured_by("c5"))
async def _(agent: Agent) -> str:
    await agent.host.call("delete_record", id="c5")
    await agent.compare(WRONG[1:], RIGHT[1:])
    return await agent.refused()


@attack("a hard case is deleted and saved again as another", refused_as=measured_by("c5"))
async def _(agent: Agent) -> str:
    await agent.host.call("delete_record", id="c5")
    await agent.save(a_case("c5", "bad"))
    await agent.compare(WRONG, but("c5"))
    return await agent.refused()


@attack("a hard case becomes a draft", refused_as=measured_by("c5"))
async def _(agent: Agent) -> str:
    await agent.save({"id": "c5", "type": "test-case", "fields": {"status": "draft"}}, merge=True)
    await agent.compare(WRONG[1:], RIGHT[1:])
    return await agent.refused()


@attack("a hard case leaves the operator's benchmark", refused_as=measured_by("b"))
async def _(agent: Agent) -> str:
    await agent.save(a_benchmark("b", NAMES[1:]))
    await agent.compare(WRONG[1:], RIGHT[1:])
    return await agent.refused()


@attack("easy cases of its own join the operator's benchmark", refused_as=measured_by("b", "e0"))
async def _(agent: Agent) -> str:
    easy = [f"e{number}" for number in range(8)]
    await agent.save(*map(a_case, easy), a_benchmark("b", [*NAMES, *easy]))
    await agent.compare([*WRONG, *first(0, 8)], [*RIGHT, *first(8, 8)])
    return await agent.refused()


@attack("a sealed benchmark of cases of its own", refused_as="created, changed or deleted by an agent,")
async def _(agent: Agent) -> str:
    names = [f"x{number}" for number in range(CASES)]
    fields: Json = {"name": "s", "testCaseIds": [*names], "sealed": True}
    await agent.save(*map(a_case, names), {"id": "s", "type": "benchmark", "fields": fields})
    SCRIPT[:] = [iter([*WRONG, *RIGHT])]
    asked: Json = {"benchmarkId": "s", "versionA": "p@1", "versionB": "p@2", "waitSeconds": 50, "fresh": True}
    await agent.host.call("compare_prompt_versions", **asked)
    return await agent.refused()


@attack("assertions of its own in a case", refused_as=measured_by("c2"))
async def _(agent: Agent) -> str:
    checks: list[JsonValue] = [{"type": "contains", "value": "bad"}]
    await agent.save({"id": "c2", "type": "test-case", "fields": {"assertions": checks}}, merge=True)
    await agent.compare(WRONG, but("c2"))
    return await agent.refused()


@attack("a lower bar in a case", refused_as=measured_by("c2"))
async def _(agent: Agent) -> str:
    await agent.save({"id": "c2", "type": "test-case", "fields": {"passRule": "similarity_0_8"}}, merge=True)
    await agent.compare(WRONG, RIGHT)
    return await agent.refused()


@attack("the operator's criterion is turned around", refused_as=measured_by("rubric", "rubric/right"))
async def _(agent: Agent) -> str:
    await agent.by_rubric()
    await agent.save(a_criterion("bad"))
    await agent.compare(RIGHT, WRONG)
    return await agent.refused()


@attack("the operator's rubric passes everything", refused_as=measured_by("rubric"))
async def _(agent: Agent) -> str:
    await agent.by_rubric()
    await agent.save(a_rubric(0.01))
    await agent.compare(WRONG, RIGHT)
    return await agent.refused()


@attack(
    "bad outputs for the version in use are handed in",
    refused_as="12 outputs of p@1 .* were submitted, not by a person",
)
async def _(agent: Agent) -> str:
    await agent.save(*recorded("p@1", WRONG))
    before = await agent.run_recorded("p@1")
    await agent.compare_stored(before, await agent.run("p@2", RIGHT))
    return await agent.refused()


@attack("the words of the version in use are made worse", refused_as=measured_by("p@1") + "|set once|measured|HR")
async def _(agent: Agent) -> str:
    worse = {"content": "Say nothing.", "versionNumber": 1, "promptId": "p"}
    said = await agent.tried({"id": "p@1", "type": "prompt-version", "fields": {**worse}})
    await agent.compare(WRONG, RIGHT)
    return said or await agent.refused()


@attack("a failure is promoted into the operator's benchmark as a case of its own", refused_as=measured_by("b"))
async def _(agent: Agent) -> str:
    run = await agent.run("p@1", WRONG)
    await agent.host.call("promote_failure", id=f"{run}:c0", corrected="good", into="b")
    await agent.compare([*WRONG, False], [*RIGHT, True])
    return await agent.refused()


@attack("the ruler is changed over the other connection, under another name", refused_as=measured_by("c0"))
async def _(agent: Agent) -> str:
    await agent.other.call("save_records", records=[a_case("c0", "bad")])
    await agent.compare(WRONG, but("c0"))
    return await agent.refused(decidedBy="somebody-else")


@attack("the case is said to be the operator's", refused_as=measured_by("c0"))
async def _(agent: Agent) -> str:
    forged = a_case("c0", "bad")
    assert isinstance(forged, dict)
    await agent.tried({**forged, "createdBy": "operator"})
    await agent.save(a_case("c0", "bad"))
    await agent.compare(WRONG, but("c0"))
    return await agent.refused()


@attack("an unclear win is passed with a reason, in a person's name", refused_as="An agent cannot override this")
async def _(agent: Agent) -> str:
    await agent.compare(AS_BEFORE, first(8, CASES))
    return await agent.refused(decidedBy="anna", overrideReason="I, Anna, have seen it")

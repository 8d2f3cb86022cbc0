"""Another version in use than the one that is: under it, beside it, in place of it."""

from __future__ import annotations

from tests.acceptance.approval.agent import (
    AS_BEFORE,
    RIGHT,
    WRONG,
    Agent,
    attack,
    version,
)


@attack("a bad version that the candidate is said to follow", refused_as="already has runs|set once")
async def _(agent: Agent) -> str:
    await agent.compare(AS_BEFORE, AS_BEFORE)
    return await agent.outright(version(1, "q", "under"), relations=[{"sourceId": "p@1", "targetId": "under"}])


@attack("a second version with the number of the one in use", refused_as="HR2|hard-rule")
async def _(agent: Agent) -> str:
    await agent.compare(AS_BEFORE, AS_BEFORE)
    return await agent.outright(version(1, "p", "p@1b"))


@attack(
    "a chain of its own, with a bad first version, that takes the candidate in", refused_as="current version is p@1|p@1"
)
async def _(agent: Agent) -> str:
    await agent.save(version(1, "q"), version(2, "q"))
    await agent.compare(WRONG, RIGHT, versionA="q@1", versionB="q@2")
    await agent.host.call("approve_prompt_version", promptVersionRef="q@2")  # q's own chain: p is not touched
    tied = await agent.outright(version(2, "q"), relations=[{"sourceId": "q@1", "targetId": "p@1"}])
    assert "already has runs" in tied
    return await agent.refused(
        "p@2", comparisonId=str((await agent.compare(WRONG, RIGHT, versionA="q@1"))["comparisonId"])
    )


@attack(
    "the version in use is deleted, so that a worse one would be",
    refused_as="current version p@1|current version is p@1",
)
async def _(agent: Agent) -> str:
    await agent.save(version(3))
    await agent.host.call("delete_record", id="p@1")
    await agent.compare(WRONG, RIGHT, versionA="p@2", versionB="p@3")
    return await agent.refused("p@3")


@attack("the agent says itself which version is in use", refused_as="only a person can set")
async def _(agent: Agent) -> str:
    return await agent.refused(decision="in-use")

"""Tries until one is lucky: copies, candidates, selections, connections, judges."""

from __future__ import annotations

from tests.acceptance.approval.agent import (
    AS_BEFORE,
    CASES,
    LUCKY,
    NAMES,
    Agent,
    a_benchmark,
    a_case,
    attack,
    version,
)
from tests.workshop import first


@attack("the lucky one over copies of the benchmark", refused_as=r"attempt 3 \(4 earlier comparisons\)")
async def _(agent: Agent) -> str:
    for number in range(4):
        await agent.save(a_benchmark(f"copy{number}", NAMES))
        await agent.compare(AS_BEFORE, AS_BEFORE, benchmarkId=f"copy{number}")
    await agent.compare(AS_BEFORE, LUCKY)
    return await agent.refused()


@attack("the lucky one of many candidates with the same words", refused_as="attempt 6")
async def _(agent: Agent) -> str:
    for number in range(3, 8):
        await agent.save(version(number))
        await agent.compare(AS_BEFORE, AS_BEFORE, versionB=f"p@{number}")
    await agent.save(version(8))
    await agent.compare(AS_BEFORE, LUCKY, versionB="p@8")
    return await agent.refused("p@8")


@attack("the lucky one over selections of the cases", refused_as=r"attempt 3 \(4 earlier comparisons\)")
async def _(agent: Agent) -> str:
    for number in range(4):
        await agent.save(a_benchmark(f"part{number}", NAMES[number:]))
        await agent.compare(AS_BEFORE[number:], AS_BEFORE[number:], benchmarkId=f"part{number}")
    await agent.compare(AS_BEFORE, LUCKY)
    return await agent.refused()


@attack("half of the tries over a second connection, under another name", refused_as="attempt 5")
async def _(agent: Agent) -> str:
    for by in (agent.host, agent.other) * 2:
        await agent.compare(AS_BEFORE, AS_BEFORE, by=by)
    await agent.compare(AS_BEFORE, LUCKY, by=agent.other)
    return await agent.refused(decidedBy="somebody-else")


@attack("the luckiest of stored runs against the unluckiest", refused_as="the verdict of .* is inconclusive")
async def _(agent: Agent) -> str:
    runs = [
        (await agent.run("p@1", a), await agent.run("p@2", b)) for a, b in ((first(7, CASES), first(5, CASES)),) * 3
    ]
    unlucky, lucky = await agent.run("p@1", first(2, CASES)), await agent.run("p@2", first(10, CASES))
    assert runs
    await agent.compare_stored(unlucky, lucky)
    return await agent.refused()


@attack("the luckiest of many stored runs where the version in use ran once", refused_as="attempt 6")
async def _(agent: Agent) -> str:
    before = await agent.run("p@1", AS_BEFORE)
    for _ in range(5):
        await agent.run("p@2", AS_BEFORE)
    await agent.compare_stored(before, await agent.run("p@2", LUCKY))
    return await agent.refused()


@attack("what a case wants is changed between the tries", refused_as="attempt 5")
async def _(agent: Agent) -> str:
    for number in range(4):
        await agent.save(a_case("c0", wanted=f"good{'!' * number}"))
        await agent.compare(AS_BEFORE, AS_BEFORE)
    await agent.save(a_case("c0"))
    await agent.compare(AS_BEFORE, LUCKY)
    return await agent.refused()


@attack("the judge is swapped between the tries", refused_as="attempt 3")
async def _(agent: Agent) -> str:
    for judge in ("heuristic", "auto"):
        await agent.compare(AS_BEFORE, AS_BEFORE, judge=judge)
    await agent.compare(first(5, CASES), first(12, CASES))
    return await agent.refused()

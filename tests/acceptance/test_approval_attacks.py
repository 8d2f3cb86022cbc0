"""Twenty ways in which an agent tries to have a version approved that is no better, through the doors that agents have."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from mcp import Client
from pydantic import JsonValue

from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.domain.results import Approval
from minions_evals_mcp.engine.cases.current_version import current_version
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.session.opened import ServerSession
from tests.shared.server.hosts import EVERYTHING, Host, part, read_by_people, rows
from tests.shared.server.hosts import judged as verdict_on
from tests.workshop import Json, all_of, config_in, first, opened, save

CASES = 12
NAMES = [f"c{number}" for number in range(CASES)]
TARGET = "python:tests.acceptance.test_approval_attacks:scripted"
SCRIPT: list[Iterator[bool]] = []
"""For each call of the target, whether its answer is right."""
RIGHT, WRONG = first(CASES, CASES), first(0, CASES)
AS_BEFORE, LUCKY = first(6, CASES), first(12, CASES)


async def scripted(inputs: Json) -> str:
    """The target: says the next line of its part."""
    del inputs
    return "good" if next(SCRIPT[0]) else "bad"


def version(number: int, prompt: str = "p", ident: str = "") -> JsonValue:
    fields: Json = {"content": f"Say {number}.", "versionNumber": number, "promptId": prompt}
    return {"id": ident or f"{prompt}@{number}", "type": "prompt-version", "fields": fields}


def a_case(name: str, wanted: str = "good", rubric: str | None = None) -> JsonValue:
    fields: Json = {"name": name, "inputs": {"q": name}}
    ruled: Json = {"expectedOutputs": {"output": wanted}, "passRule": "max_score"}
    return {"id": name, "type": "test-case", "fields": fields | ({"rubricId": rubric} if rubric else ruled)}


def a_rubric(threshold: float = 0.5) -> JsonValue:
    fields: Json = {"name": "rubric", "passingThreshold": threshold, "criteriaIds": ["rubric/right"]}
    return {"id": "rubric", "type": "rubric", "fields": fields}


def a_criterion(word: str = "good") -> JsonValue:
    """One that a rule judges."""
    guide = f"[{{type: icontains, value: {word}}}]"
    fields: Json = {"rubricId": "rubric", "name": "right", "judgeType": "heuristic", "scoringGuide": guide}
    return {"id": "rubric/right", "type": "rubric-criterion", "fields": fields}


def a_benchmark(ident: str, names: Sequence[str]) -> JsonValue:
    return {"id": ident, "type": "benchmark", "fields": {"name": ident, "testCaseIds": [*names]}}


def recorded(of: str, right: Sequence[bool]) -> list[JsonValue]:
    """Outputs of that version, as an agent hands them in."""
    return [
        {
            "id": f"{of}:{name}", "type": "agent-run",
            "fields": {
                "agentId": "me", "inputs": {"q": name}, "outputs": {"output": "good" if good else "bad"}, "promptVersionRef": of,
            },
        }
        for name, good in zip(NAMES, right, strict=True)
    ]  # fmt: skip


async def keep(operator: Engine, *wire: JsonValue) -> None:
    """Saves the records as a command of the operator's does."""
    await save(operator, [record_from_wire(one, new_id="", now=operator.clock()) for one in wire])


@dataclass(frozen=True, slots=True)
class Agent:
    """What an agent can do, over one or two connections to a store that holds p@1 (in use), p@2 and the benchmark `b`."""

    host: Host
    other: Host
    config: EngineConfig

    async def save(self, *records: JsonValue, **more: JsonValue) -> None:
        await self.host.call("save_records", records=[*records], **more)

    async def compare(
        self, before: Sequence[bool], after: Sequence[bool], *, by: Host | None = None, **asked: JsonValue
    ) -> Json:
        """A comparison in whose runs those outputs are right."""
        SCRIPT[:] = [iter([*before, *after])]
        usual: Json = {"benchmarkId": "b", "versionA": "p@1", "versionB": "p@2", "waitSeconds": 50, "fresh": True}
        found = await (by or self.host).call("compare_prompt_versions", **{**usual, **asked})
        return part(found, "comparison")

    async def run(self, of: str, right: Sequence[bool], benchmark: str = "b") -> str:
        """A run of that version with those outputs right."""
        SCRIPT[:] = [iter(right)]
        asked: Json = {"benchmarkId": benchmark, "promptVersionRef": of, "waitSeconds": 50, "fresh": True}
        return str((await self.host.call("run_benchmark", **asked))["runId"])

    async def compare_stored(self, *runs: str) -> Json:
        return part(await self.host.call("compare_prompt_versions", runIds=[*runs]), "comparison")

    async def run_recorded(self, of: str) -> str:
        """A run of that version on the outputs that were handed in."""
        asked: Json = {"benchmarkId": "b", "promptVersionRef": of, "waitSeconds": 50, "recorded": True}
        return str((await self.host.call("run_benchmark", **asked))["runId"])

    async def by_rubric(self) -> None:
        """The operator's cases are judged by the operator's rubric."""
        async with opened(self.config) as operator:
            await keep(operator, *(a_case(name, rubric="rubric") for name in NAMES))

    async def tried(self, *records: JsonValue) -> str:
        """Why the records were refused; empty where they were saved."""
        try:
            await self.save(*records)
        except AssertionError as error:
            return str(error)
        return ""

    async def refused(self, of: str = "p@2", **more: JsonValue) -> str:
        """Why the approval was refused."""
        return await self.host.refused("approve_prompt_version", promptVersionRef=of, **more)

    async def outright(self, *records: JsonValue, **more: JsonValue) -> str:
        """Why the records were refused."""
        return await self.host.refused("save_records", records=[*records], **more)


Attack = Callable[[Agent], Awaitable[str]]
"""Tries it, and returns why it was refused."""
ATTACKS: list[tuple[str, Attack, str]] = []


def attack(words: str, *, refused_as: str) -> Callable[[Attack], Attack]:
    """Adds the attack to the list, with what it must be refused as."""

    def added(one: Attack) -> Attack:
        ATTACKS.append((words, one, refused_as))
        return one

    return added


# Luck


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


# The chain


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


@attack("the agent says itself which version is in use", refused_as="only a person names")
async def _(agent: Agent) -> str:
    return await agent.refused(decision="in-use")


# Evidence that is forged, changed or its own


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


# The ruler


def but(name: str) -> list[bool]:
    """All right but the answer to that case."""
    return [one != name for one in NAMES]


def _measured_by(*refused: str) -> str:
    return rf"created, changed or deleted by an agent \({', '.join(refused)}"


@attack("a benchmark of its own over a person's cases", refused_as=_measured_by("mine"))
async def _(agent: Agent) -> str:
    await agent.save(a_benchmark("mine", NAMES))
    await agent.compare(WRONG, RIGHT, benchmarkId="mine")
    return await agent.refused()


@attack("a benchmark and cases of its own that want the wrong thing", refused_as=_measured_by("mine"))
async def _(agent: Agent) -> str:
    names = [f"x{number}" for number in range(CASES)]
    await agent.save(*(a_case(name, "bad") for name in names), a_benchmark("mine", names))
    await agent.compare(RIGHT, WRONG, benchmarkId="mine")
    return await agent.refused()


@attack("the operator's cases want the wrong thing before the comparison", refused_as=_measured_by("c0", "c1"))
async def _(agent: Agent) -> str:
    await agent.save(*(a_case(name, "bad") for name in NAMES))
    await agent.compare(RIGHT, WRONG)
    return await agent.refused()


@attack("one case of twelve is changed before the comparison", refused_as=_measured_by("c7"))
async def _(agent: Agent) -> str:
    await agent.save({"id": "c7", "type": "test-case", "fields": {"expectedOutputs": {"output": "bad"}}}, merge=True)
    await agent.compare(WRONG, but("c7"))
    return await agent.refused()


@attack("a case is changed and changed back", refused_as=_measured_by("c1"))
async def _(agent: Agent) -> str:
    await agent.save(a_case("c1", "bad"))
    await agent.save(a_case("c1"))
    await agent.compare(WRONG, RIGHT)
    return await agent.refused()


@attack("a hard case is deleted", refused_as=_measured_by("c5"))
async def _(agent: Agent) -> str:
    await agent.host.call("delete_record", id="c5")
    await agent.compare(WRONG[1:], RIGHT[1:])
    return await agent.refused()


@attack("a hard case is deleted and saved again as another", refused_as=_measured_by("c5"))
async def _(agent: Agent) -> str:
    await agent.host.call("delete_record", id="c5")
    await agent.save(a_case("c5", "bad"))
    await agent.compare(WRONG, but("c5"))
    return await agent.refused()


@attack("a hard case becomes a draft", refused_as=_measured_by("c5"))
async def _(agent: Agent) -> str:
    await agent.save({"id": "c5", "type": "test-case", "fields": {"status": "draft"}}, merge=True)
    await agent.compare(WRONG[1:], RIGHT[1:])
    return await agent.refused()


@attack("a hard case leaves the operator's benchmark", refused_as=_measured_by("b"))
async def _(agent: Agent) -> str:
    await agent.save(a_benchmark("b", NAMES[1:]))
    await agent.compare(WRONG[1:], RIGHT[1:])
    return await agent.refused()


@attack("easy cases of its own join the operator's benchmark", refused_as=_measured_by("b", "e0"))
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


@attack("assertions of its own in a case", refused_as=_measured_by("c2"))
async def _(agent: Agent) -> str:
    checks: list[JsonValue] = [{"type": "contains", "value": "bad"}]
    await agent.save({"id": "c2", "type": "test-case", "fields": {"assertions": checks}}, merge=True)
    await agent.compare(WRONG, but("c2"))
    return await agent.refused()


@attack("a lower bar in a case", refused_as=_measured_by("c2"))
async def _(agent: Agent) -> str:
    await agent.save({"id": "c2", "type": "test-case", "fields": {"passRule": "similarity_0_8"}}, merge=True)
    await agent.compare(WRONG, RIGHT)
    return await agent.refused()


@attack("the operator's criterion is turned around", refused_as=_measured_by("rubric", "rubric/right"))
async def _(agent: Agent) -> str:
    await agent.by_rubric()
    await agent.save(a_criterion("bad"))
    await agent.compare(RIGHT, WRONG)
    return await agent.refused()


@attack("the operator's rubric passes everything", refused_as=_measured_by("rubric"))
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


@attack("the words of the version in use are made worse", refused_as=_measured_by("p@1") + "|set once|measured|HR")
async def _(agent: Agent) -> str:
    worse = {"content": "Say nothing.", "versionNumber": 1, "promptId": "p"}
    said = await agent.tried({"id": "p@1", "type": "prompt-version", "fields": {**worse}})
    await agent.compare(WRONG, RIGHT)
    return said or await agent.refused()


@attack("a failure is promoted into the operator's benchmark as a case of its own", refused_as=_measured_by("b"))
async def _(agent: Agent) -> str:
    run = await agent.run("p@1", WRONG)
    await agent.host.call("promote_failure", id=f"{run}:c0", corrected="good", into="b")
    await agent.compare([*WRONG, False], [*RIGHT, True])
    return await agent.refused()


@attack("the ruler is changed over the other connection, under another name", refused_as=_measured_by("c0"))
async def _(agent: Agent) -> str:
    await agent.other.call("save_records", records=[a_case("c0", "bad")])
    await agent.compare(WRONG, but("c0"))
    return await agent.refused(decidedBy="somebody-else")


@attack("the case is said to be the operator's", refused_as=_measured_by("c0"))
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


@asynccontextmanager
async def _placed(folder: Path) -> AsyncGenerator[Agent]:
    config = config_in(folder, concurrency=1)
    definitions = [version(1), version(2), *map(a_case, NAMES), a_rubric(), a_criterion(), a_benchmark("b", NAMES)]
    async with opened(config) as operator:
        await keep(operator, *definitions)
    connections = [
        build_server(ServerSession(partial(open_engine, config), target=TARGET), EVERYTHING) for _ in range(2)
    ]
    async with Client(connections[0]) as one, Client(connections[1]) as another:
        agent = Agent(Host(one), Host(another), config)
        yield agent


@pytest.mark.parametrize(
    "number", range(len(ATTACKS)), ids=[f"{n:02} {words}" for n, (words, _, _) in enumerate(ATTACKS, 1)]
)
async def test_no_trick_of_an_agent_has_a_version_approved(tmp_path: Path, number: int) -> None:
    _, tried, refused_as = ATTACKS[number]
    async with _placed(tmp_path) as agent:
        said = await tried(agent)
    assert re.search(refused_as, said), said
    async with opened(config_in(tmp_path)) as engine:
        decided = {one.fields.prompt_version_ref for one in await all_of(engine, Approval)}
        assert not {one for one in decided if one.startswith("p@")}
        assert await engine.store.read(lambda db: current_version(db, "p@2")) == "p@1"


async def test_an_agent_approves_what_the_operator_measures_and_what_was_accepted_again(tmp_path: Path) -> None:
    """Without this no refusal above would mean anything."""
    async with _placed(tmp_path) as agent:
        await agent.save(a_case("c1", "bad"))
        await agent.save(a_case("c1"))
        await agent.compare(WRONG, RIGHT)
        said = await agent.refused()
        assert "minions-evals import SUITE" in said
        async with opened(agent.config) as operator:
            await keep(operator, a_case("c1"))
        await agent.host.call("approve_prompt_version", promptVersionRef="p@2")
    async with opened(config_in(tmp_path)) as engine:
        assert await engine.store.read(lambda db: current_version(db, "p@2")) == "p@2"


def test_there_are_forty_attacks_and_more() -> None:
    assert len(ATTACKS) >= 40

"""An agent without a person's token beside a store of the operator's, and the list of what it tries there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from mcp import Client
from pydantic import JsonValue

from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.domain.speaker import REMOTE_AGENT
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.graphql.context import Context
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.session.opened import ServerSession
from tests.shared.agent.inside import drained, kept, sent
from tests.shared.server.hosts import EVERYTHING, Host, part
from tests.workshop import Json, config_in, first, opened, save

CASES = 12
NAMES = [f"c{number}" for number in range(CASES)]
TARGET = "python:tests.acceptance.approval.agent:scripted"
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

    async def run(self, of: str, right: Sequence[bool], benchmark: str = "b", **more: JsonValue) -> str:
        """A run of that version with those outputs right."""
        SCRIPT[:] = [iter(right)]
        asked: Json = {"benchmarkId": benchmark, "promptVersionRef": of, "waitSeconds": 50, "fresh": True, **more}
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

    async def query(self, mutation: str) -> str:
        """What the testing API answers to a caller without a token."""
        async with ServerSession(partial(open_engine, self.config), target=TARGET).open() as session:
            answer = await graphql_schema().execute(f"mutation {{ {mutation} }}", context_value=Context(session))
            return "" if answer.errors is None else str(answer.errors[0].message)

    async def letter(self, kind: str, **payload: object) -> str:
        """Why a message from elsewhere ended without success, once the daemon has done it; empty where it succeeded."""
        async with opened(self.config) as engine:
            engine.new_id = lambda: uuid4().hex
            remote = engine.speaking(REMOTE_AGENT)
            await sent(remote, f"letter-{kind}", kind, **payload)
            await drained(remote, target=TARGET)
            return (await kept(engine, f"letter-{kind}")).reason

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


@asynccontextmanager
async def placed(folder: Path) -> AsyncGenerator[Agent]:
    """The agent at its work."""
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

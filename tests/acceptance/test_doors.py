"""One meaning at every door: each verb of the testing API, said at the command line, over MCP, in Python, by message and over
GraphQL, leaves the same records and answers alike; ids and times aside."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.context import open_engine
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import open_raw
from tests.acceptance.doors import DOORS, MADE, Answer, InPython, Refused, config_at
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import Json, minion, save

SAID = "happy am I feel: you how Say"
"""What the fake model says to the second version of the prompt about the text "I am happy"."""
TIMED = re.compile(r"(At|Ms|latency|Latency|Duration|duration|TokensPerSec|tokensPerSec\w*|timeToFirstToken|Token)$")
OWN = frozenset({"triggeredBy", "judgedBy", "executionId", "seq"})
"""Fields that name the door, or an id."""
KEPT = (
    "test-case", "test-branch", "prompt-version", "test-run", "eval-judgment", "eval-failure", "test-branch-execution",
)  # fmt: skip
"""The types of records that a verb may leave; what the agent tells others of its work is its own."""

VERSIONS = [
    minion("mood/one", "prompt-version", content="Be brief. {{text}}", versionNumber=1, promptId="mood"),
    minion("mood/two", "prompt-version", content="Say how you feel: {{text}}", versionNumber=2, promptId="mood"),
]


def happy(ident: str = "happy", **fields: JsonValue) -> Record[Fields]:
    """A test case of the prompt `mood` that its second version passes."""
    usual: Json = {
        "name": ident,
        "promptId": "mood",
        "inputs": {"text": "I am happy"},
        "expectedOutputs": {"output": SAID},
    }
    merged: Json = {name: value for name, value in {**usual, **fields}.items() if value is not None}
    return minion(ident, "test-case", **merged)


def branch(ident: str, **fields: JsonValue) -> Record[Fields]:
    """A branch of `happy`."""
    usual: Json = {"testCaseId": "happy", "name": ident, "provider": "openai", "model": "gpt-4o"}
    return minion(ident, "test-branch", **{**usual, **fields})


@dataclass(frozen=True, slots=True)
class Situation:
    """A verb as it is said, over a store that holds `records` and what was `before`; `refused` under that code."""

    verb: str
    asked: Json
    records: Sequence[Record[Fields]] = (*VERSIONS, happy())
    before: Sequence[tuple[str, Json]] = ()
    refused: str | None = None


RUN = "runTestCase"
BATCH = "batchRunTests"
OF_HAPPY: Json = {"testCaseId": "happy"}
PAGE: Json = {"limit": 2, "offset": 1}
FIRST, SECOND = (RUN, {**OF_HAPPY, "promptVersion": 2}), (RUN, {**OF_HAPPY, "promptVersion": 1})
SAD = happy("sad", inputs={"text": "I am sad"}, expectedOutputs={"output": "happy"})
LACKING = happy("lacking", inputs={"other": "x"})
ELSEWHERE = happy("elsewhere", promptId="other")
TWO = (branch("a", isControl=True), branch("b", model="gpt-4o-mini", temperature=0.2))
AB: Json = {**OF_HAPPY, "branchIds": ["a", "b"]}
CASE: Json = {"promptId": "mood", "name": "Made", "input": {"text": "I am happy"}}
BRANCH: Json = {"testCaseId": "happy", "name": "made", "provider": "openai", "model": "gpt-4o", "temperature": 0.9}

SITUATIONS = {
    "no version: the latest": Situation(RUN, OF_HAPPY),
    "a number": Situation(RUN, {**OF_HAPPY, "promptVersion": 1}),
    "latest": Situation(RUN, {**OF_HAPPY, "promptVersion": "latest"}),
    "an id": Situation(RUN, {**OF_HAPPY, "promptVersion": "mood/one"}),
    "a prompt and its number": Situation(RUN, {**OF_HAPPY, "promptVersion": "mood@1"}),
    "an unknown number": Situation(RUN, {**OF_HAPPY, "promptVersion": 7}, refused="not-found"),
    "an unknown id": Situation(RUN, {**OF_HAPPY, "promptVersion": "mood/seven"}, refused="not-found"),
    "an unknown case": Situation(RUN, {"testCaseId": "nobody"}, refused="not-found"),
    "a prompt without versions": Situation(RUN, OF_HAPPY, [happy()], refused="bad-input"),
    "no prompt and no rule": Situation(RUN, OF_HAPPY, [happy(promptId=None)]),
    "a rule given": Situation(RUN, OF_HAPPY, [*VERSIONS, happy(passRule="max_score")]),
    "the case's own version": Situation(RUN, OF_HAPPY, [*VERSIONS, happy(promptVersionRef="1")]),
    "its own version, and another asked for": Situation(
        RUN, {**OF_HAPPY, "promptVersion": "latest"}, [*VERSIONS, happy(promptVersionRef="1")]
    ),
    "no rubric to judge by": Situation(RUN, OF_HAPPY, [*VERSIONS, happy(expectedOutputs=None)]),
    "assertions of its own": Situation(
        RUN, OF_HAPPY, [*VERSIONS, happy(assertions=[{"type": "contains", "value": "happy"}])]
    ),
    "a fall after passes": Situation(RUN, {**OF_HAPPY, "promptVersion": 1}, before=[FIRST, FIRST]),
    "a missing variable": Situation(RUN, {"testCaseId": "lacking"}, [*VERSIONS, LACKING], refused="bad-input"),
    "a batch of two": Situation(
        BATCH, {"promptId": "mood", "testCaseIds": ["happy", "sad"]}, [*VERSIONS, happy(), SAD]
    ),
    "a batch of all": Situation(BATCH, {"promptId": "mood"}, [*VERSIONS, happy(), SAD, ELSEWHERE]),
    "a batch with a number": Situation(BATCH, {"promptId": "mood", "promptVersion": 1}, [*VERSIONS, happy(), SAD]),
    "a batch with latest": Situation(BATCH, {"promptId": "mood", "promptVersion": "latest"}),
    "a batch, each with its own version": Situation(
        BATCH, {"promptId": "mood"}, [*VERSIONS, happy(promptVersionRef="1"), SAD]
    ),
    "a batch with a case that cannot be run": Situation(
        BATCH, {"promptId": "mood", "testCaseIds": ["lacking", "happy"]}, [*VERSIONS, happy(), LACKING]
    ),
    "a batch with another prompt's case": Situation(
        BATCH,
        {"promptId": "mood", "testCaseIds": ["happy", "elsewhere"]},
        [*VERSIONS, happy(), ELSEWHERE],
        refused="bad-input",
    ),
    "a batch of an unknown prompt": Situation(BATCH, {"promptId": "nobody"}, refused="not-found"),
    "a batch with an unknown version": Situation(BATCH, {"promptId": "mood", "promptVersion": 9}, refused="not-found"),
    "another expected output": Situation("updateExpectedOutput", {**OF_HAPPY, "output": "sad"}, before=[FIRST]),
    "an expected output for what waits": Situation(
        "updateExpectedOutput",
        {**OF_HAPPY, "output": SAID},
        [*VERSIONS, happy(expectedOutputs=None)],
        before=[FIRST],
    ),
    "a run after another baseline": Situation(
        RUN, OF_HAPPY, before=[FIRST, FIRST, ("updateExpectedOutput", {**OF_HAPPY, "output": "sad"})]
    ),
    "a new case": Situation("createTestCase", {**CASE, "expectedOutput": "positive"}),
    "a new case that expects nothing": Situation("createTestCase", {**CASE, "description": "No baseline yet"}),
    "a changed case": Situation("updateTestCase", {**OF_HAPPY, **CASE, "expectedOutput": "positive"}, before=[FIRST]),
    "a deleted case": Situation("deleteTestCase", OF_HAPPY, before=[FIRST]),
    "a deleted case that is unknown": Situation("deleteTestCase", {"testCaseId": "nobody"}, refused="not-found"),
    "the cases of a prompt": Situation("testCases", {"promptId": "mood"}, [*VERSIONS, happy(), SAD], before=[FIRST]),
    "the cases of an unknown prompt": Situation("testCases", {"promptId": "nobody"}),
    "one case": Situation("testCase", OF_HAPPY, before=[FIRST, SECOND]),
    "one case that is unknown": Situation("testCase", {"testCaseId": "nobody"}, refused="not-found"),
    "a page of its runs": Situation("testCaseExecutions", {**OF_HAPPY, **PAGE}, before=[FIRST, FIRST, SECOND, FIRST]),
    "its figures": Situation("testCaseStats", OF_HAPPY, before=[FIRST, FIRST, SECOND]),
    "its figures without a run": Situation("testCaseStats", OF_HAPPY),
    "a new branch": Situation("createTestBranch", BRANCH),
    "a sixth branch": Situation(
        "createTestBranch", BRANCH, [*VERSIONS, happy(), *(branch(f"b{n}") for n in range(5))], refused="invalid-record"
    ),
    "a changed branch": Situation(
        "updateTestBranch", {**BRANCH, "branchId": "a", "maxTokens": 100}, [*VERSIONS, happy(), *TWO]
    ),
    "a deleted branch": Situation("deleteTestBranch", {"branchId": "a"}, [*VERSIONS, happy(), *TWO]),
    "two branches": Situation("runABTest", AB, [*VERSIONS, happy(), *TWO]),
    "two branches by price": Situation("runABTest", {**AB, "winnerCriteria": "cheapest"}, [*VERSIONS, happy(), *TWO]),
    "two branches with a number": Situation("runABTest", {**AB, "promptVersion": 1}, [*VERSIONS, happy(), *TWO]),
    "two branches with latest": Situation("runABTest", {**AB, "promptVersion": "latest"}, [*VERSIONS, happy(), *TWO]),
    "two branches with an unknown version": Situation(
        "runABTest", {**AB, "promptVersion": 9}, [*VERSIONS, happy(), *TWO], refused="not-found"
    ),
    "an unknown branch": Situation(
        "runABTest", {**AB, "branchIds": ["a", "nobody"]}, [*VERSIONS, happy(), *TWO], refused="not-found"
    ),
    "an edited branch's figures": Situation(
        "testBranches",
        OF_HAPPY,
        [*VERSIONS, happy(), *TWO],
        before=[("runABTest", AB), ("updateTestBranch", {"branchId": "a", "temperature": 0.1}), ("runABTest", AB)],
    ),
    "a branch's executions": Situation(
        "testBranchExecutions",
        {**OF_HAPPY, "branchId": "a", "limit": 5},
        [*VERSIONS, happy(), *TWO],
        before=[("runABTest", AB), ("runABTest", {**AB, "promptVersion": 1})],
    ),
}

CASE_FIELDS = (
    "id", "name", "description", "input", "expectedOutput", "totalRuns", "passRate", "avgScore", "lastPassed",
)  # fmt: skip
LINE = ("passed", "score", "promptVersion", "regressionType")
BRANCH_FIELDS = (
    "id", "name", "provider", "model", "temperature", "maxTokens", "topP", "isControl", "isActive", "totalRuns", "avgCost",
    "avgQualityScore", "consistencyScore", "passRate",
)  # fmt: skip


def fields_of(rows: JsonValue | list[Json], *names: str) -> list[JsonValue]:
    """Those fields of each row, null where a door leaves out what is unknown."""
    assert isinstance(rows, list), rows
    return [{name: _plain(cast("Json", row).get(name)) for name in names} for row in rows]


def _plain(value: JsonValue) -> JsonValue:
    return round(value, 9) if isinstance(value, float) else None if value == "" else value


def ranked(said: Json) -> JsonValue:
    """An A/B test as its seed shows it."""
    winner = said["winner"]
    names = ("branchName", "model", "qualityScore", "estimatedCost", "rank")
    return {
        "branches": fields_of(said["branches"], *names),
        "winner": winner["branchName"] if isinstance(winner, dict) else None,
        "criteria": said["criteria"],
    }


READ: dict[str, Callable[[Answer], JsonValue]] = {
    "testCases": lambda said: fields_of(cast("list[Json]", said), *(n for n in CASE_FIELDS if n != "lastPassed")),
    "testCase": lambda said: fields_of([cast("Json", said)], *(n for n in CASE_FIELDS if n != "lastPassed")),
    "testCaseExecutions": lambda said: fields_of(
        cast("list[Json]", said), *LINE, "actualOutput", "expectedOutput", "exactMatch", "semanticScore", "lengthDiff",
        "tokenDiff", "isRegression",
    ),
    "testCaseStats": lambda said: {
        "figures": fields_of([cast("Json", said)], "totalRuns", "passRate", "avgScore"),
        "recent": fields_of(cast("Json", said).get("recentRuns", []), *LINE[:3]),
        "regressions": fields_of(cast("Json", said).get("regressions", []), *LINE),
        "days": fields_of(cast("Json", said).get("trendData", []), "date", "totalRuns", "passRate", "avgScore"),
    },
    "testBranches": lambda said: fields_of(cast("list[Json]", said), *BRANCH_FIELDS),
    "testBranchExecutions": lambda said: fields_of(
        cast("list[Json]", said), "output", "status", "inputTokens", "outputTokens", "estimatedCost", "qualityScore",
        "similarityScore", "clarityScore", "validJson", "promptVersion",
    ),
    "runABTest": lambda said: ranked(cast("Json", said)),
}  # fmt: skip
"""The documented fields of the answers that are read; of the other verbs the records say all."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def model() -> AsyncGenerator[Server]:
    """A model on loopback."""
    async with serving() as running:
        yield running


async def prepared(folder: Path, model: Server, situation: Situation) -> Path:
    """The store in which the verb is said, before it is."""
    async with open_engine(config_at(folder, model)) as engine:
        await save(engine, situation.records)
        door = InPython(engine)
        for verb, asked in situation.before:
            answer = await door.say(verb, asked)
            assert not isinstance(answer, Refused), answer
    return folder / "evals.db"


def kept_records(store: Path, known: set[str]) -> list[str]:
    """Every record as text, without times, and with each id that a door gave replaced by what it is of."""
    with closing(open_raw(store, read_only=True)) as db:
        wires = [record.wire() for kind in KEPT for _, record in records.page(db, kind, limit=1000)]
        runs = db.execute("SELECT id, subject_id FROM job ORDER BY created_at, id").fetchall()
    names = {str(ident): f"run-{subject}" for ident, subject in runs}
    names |= {
        str(wire["id"]): MADE for wire in wires if wire["type"] in {"test-case", "test-branch"} and is_new(wire, known)
    }
    return sorted(_renamed(json.dumps(_timeless(wire), sort_keys=True), names) for wire in wires)


def is_new(wire: Json, known: set[str]) -> bool:
    """Whether the verb has made the record: it may have an id that the door gave."""
    return str(wire["id"]) not in known


def _renamed(text: str, names: dict[str, str]) -> str:
    for ident, name in names.items():
        text = text.replace(ident, name)
    return text


def _timeless(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {name: _timeless(part) for name, part in value.items() if not TIMED.search(name) and name not in OWN}
        case list():
            return [_timeless(part) for part in value]
        case float():
            return round(value, 9)
        case _:
            return value


@pytest.mark.parametrize("name", SITUATIONS)
async def test_every_door_keeps_the_same_records_and_answers_alike(name: str, tmp_path: Path, model: Server) -> None:
    situation = SITUATIONS[name]
    found: dict[str, tuple[Answer, list[str]]] = {}
    with anyio.fail_after(HANG_S):
        known = {record.id for record in situation.records}
        store = await prepared(tmp_path / "prepared", model, situation)
        for door, opening in DOORS.items():
            folder = tmp_path / door.replace(" ", "-")
            folder.mkdir()
            shutil.copy(store, folder / store.name)
            async with opening(folder, model) as at_door:
                answer = await at_door.say(situation.verb, situation.asked)
            found[door] = (answer, kept_records(folder / store.name, known))
    said, kept = found["Python"]
    assert (isinstance(said, Refused) and said.code) == (situation.refused or False), said
    for door, (answer, there) in found.items():
        assert there == kept, door
        assert isinstance(answer, Refused) == isinstance(said, Refused), (door, answer)
        if isinstance(answer, Refused) and isinstance(said, Refused):
            assert answer.code in {said.code, None}, (door, answer)
        elif situation.verb in READ:
            assert READ[situation.verb](answer) == READ[situation.verb](said), door
            if isinstance(answer, list):
                assert all(row["createdAt"] for row in answer), (door, "every list says when")


def test_every_verb_of_the_testing_api_stands_in_the_table() -> None:
    said = {situation.verb for situation in SITUATIONS.values()}
    assert len(said) == 16
    assert len(SITUATIONS) >= 30

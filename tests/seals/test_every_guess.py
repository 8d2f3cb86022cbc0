"""Every door of `doors.py` answers a right guess at a sealed case like a wrong one: tools, resources, prompts, pages and queries.

Each door is asked as for its leak test, and once more with the records that hold the guess in the place of those that are sealed.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from pydantic import JsonValue

from agent.daemon import Route
from agent.sources.otlp_http import otlp_app
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.outbox import ORCHESTRATOR, PEOPLE
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.telemetry.intake import Telemetry
from minions_evals_mcp.interop.telemetry.settled import Settled
from minions_evals_mcp.messages.payloads import KINDS
from minions_evals_mcp.messages.send_message import Letter, send_message
from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.graphql.context import Context
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.session.opened import ServerSession
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.view.app import routes
from tests.seals import doors
from tests.seals.story import MARK
from tests.seals.test_guesses import CASE, RIGHT, SAYING, WRONG, Json, comparable, records, whole
from tests.shared.agent.inside import at_work, drained
from tests.shared.agent.traces import agent_span, document, span, spoken
from tests.shared.server.hosts import Host, hosted, text_of
from tests.shared.view.visitor import visitor
from tests.workshop import config_in, opened

Answers = list[str]
ONE_IN = 3
"""Of each tool one call in so many is asked, the first among them: all would take 46 s."""
OWN = {'"c1"': '"g0"', '"b"': '"mine"', '"open-b"': '"closed"', '"v1/1"': '"o1"', '"p"': '"p"'}
"""What the guesser's own records stand in for."""


def _both(given: Any) -> Iterator[Any]:
    """The arguments as they are, and with the guesser's own records."""
    yield given
    text = json.dumps(given)
    for sealed_one, own in OWN.items():
        text = text.replace(sealed_one, own)
    if text != json.dumps(given):
        yield json.loads(text)


def _guessing_tools(guess: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Calls that hold the guess themselves."""
    asked, expected, said = guess
    row: dict[str, JsonValue] = {"id": "1", "output": said, "expectedOutput": expected, "inputs": {"q": asked}}
    checked = {**row, "assert": [{"type": "contains", "value": expected}]}
    case = {"agentRunId": "o1", "testCaseId": f"c{CASE}", "input": asked, "inputs": {"q": asked}}
    return [
        ("score_outputs", {"rows": [checked]}),
        ("score_outputs", {"rows": [{**checked, "testCaseId": f"c{CASE}"}]}),
        ("save_records", {"records": whole(guess), "merge": True}),
        ("save_records", {"records": [{"id": f"c{CASE}", "type": "test-case", "fields": {"inputs": {"q": asked}}}], "merge": True}),
        ("save_records", {"records": records(*guess), "merge": True}),
        ("save_records", {"records": records(*guess)}),
        ("send_message", {"type": "agent-run-completed", "payload": case, "id": "m1"}),
        ("send_message", {"type": "run-benchmark", "payload": {"benchmarkId": "b", "input": asked}, "id": "m2"}),
        ("promote_failure", {"id": "o1", "corrected": expected}),
        ("promote_failure", {"id": "o1", "corrected": expected, "into": "b"}),
        ("promote_failure", {"id": "o2", "corrected": expected, "into": "mine"}),
        ("get_record", {"id": asked}),
        ("get_record", {"id": said}),
        ("classify_failure", {"id": asked}),
        ("audit_benchmark", {"benchmarkId": "closed", "detail": "full"}),
        ("run_benchmark", {"benchmarkId": "b", "testCaseIds": [asked], "waitSeconds": 50}),
        ("run_ab_test", {"testCaseId": "g0", "branches": doors.BRANCHES, "dryRun": True}),
        ("delete_record", {"id": "o1"}),
        ("save_records", {"records": records(*guess)[:1]}),
    ]  # fmt: skip


async def _save(host: Host, guess: Sequence[str]) -> Answers:
    return [text_of(await host.raw("save_records", records=[record])) for record in records(*guess)]


async def of_tools(folder: Path, guess: Sequence[str]) -> Answers:
    """What every tool answers."""
    answers: Answers = []
    async with hosted(config_in(folder), target=SAYING) as host:
        answers += await _save(host, guess)
        calls = {tool: [given for one in doors.OF_TOOLS[tool] for given in _both(one)] for tool in CATALOGUE}
        deletions = calls.pop("delete_record")
        for tool, given in [
            *((tool, given) for tool, every in calls.items() for given in every[::ONE_IN]),
            *_guessing_tools(guess),
            *(("delete_record", given) for given in deletions),
        ]:
            answers.append(f"{tool} {json.dumps(given)[:120]}: {text_of(await host.raw(tool, **given))}")
    return answers


async def of_resources(folder: Path, guess: Sequence[str]) -> Answers:
    """What every resource and prompt answers."""
    answers: Answers = []
    async with hosted(config_in(folder)) as host:
        await _save(host, guess)
        for address in dict.fromkeys(
            own for every in doors.RESOURCES.values() for one in every for own in _addresses(one)
        ):
            try:
                answers.append(f"{address}: {(await host.client.read_resource(address)).model_dump_json()}")
            except Exception as error:  # noqa: BLE001  a refusal is an answer
                answers.append(f"{address}: {error}")
        for prompt in (await host.client.list_prompts()).prompts:
            names = {one.name: doors.GIVEN[one.name] for one in prompt.arguments or ()}
            for given in (names, {**names, **({"subject": guess[0]} if "subject" in names else {})}):
                try:
                    answers.append(
                        f"{prompt.name}: {(await host.client.get_prompt(prompt.name, given)).model_dump_json()}"
                    )
                except Exception as error:  # noqa: BLE001  as above
                    answers.append(f"{prompt.name}: {error}")
    return answers


def _addresses(address: str) -> Iterator[str]:
    yield address
    yield (
        address.replace("/c1", "/g0")
        .replace("/v1%2F1", "/o1")
        .replace("benchmark/b", "benchmark/mine")
        .replace("benchmarks/b", "benchmarks/mine")
    )


async def of_pages(folder: Path, guess: Sequence[str]) -> Answers:
    """What every page answers, after the guesser's benchmark was run."""
    answers: Answers = []
    async with hosted(config_in(folder), target=SAYING) as host:
        await _save(host, guess)
        await host.raw("run_benchmark", benchmarkId="mine", idempotencyKey="own", waitSeconds=50)
    async with opened(config_in(folder)) as engine, visitor(engine, judge="maria") as client:
        asked = [(route, given) for route in routes() for one in doors.OF_PAGES[route.path] for given in _both(one)]
        asked += [
            (route, {"q": word}) for route in routes() if route.path == "/find" for word in (*guess, "GUESS", "g0")
        ]
        asked += [
            (route, {"id": "own", "q": guess[0]}) for route in routes() if route.path in {"/cases", "/run", "/report"}
        ]
        asked += [
            (route, {"id": run, "q": guess[2]})
            for route in routes()
            if route.path == "/cases"
            for run in doors.RUNS[:3]
        ]
        for route, given in asked:
            for method in sorted({"GET", "POST"} & (route.methods or set())):
                got = await client.request(method, route.path, params=given, data=given if method == "POST" else None)
                if "font" not in got.headers.get("content-type", ""):
                    answers.append(f"{method} {route.path} {given}: {got.status_code} {got.text}")
    return answers


async def of_queries(folder: Path, guess: Sequence[str]) -> Answers:
    """What every query and mutation of the testing API answers."""
    asked, expected, _ = guess
    answers: Answers = []
    schema = graphql_schema()
    async with hosted(config_in(folder)) as host:
        await _save(host, guess)
    given = f'{{promptId: "p", name: "n", input: {{q: "{asked}"}}, expectedOutput: "{expected}"}}'
    own = [
        f"mutation {{ createTestCase(input: {given}) {{ id name input expectedOutput passRate lastPassed }} }}",
        f'mutation {{ updateTestCase(id: "g0", input: {given}) {{ id name input expectedOutput passRate }} }}',
        f'mutation {{ updateTestCase(id: "c{CASE}", input: {given}) {{ id name input expectedOutput passRate }} }}',
        f'mutation {{ updateExpectedOutput(testCaseId: "c{CASE}", output: "{expected}") {{ id name input }} }}',
        f'mutation {{ updateExpectedOutput(testCaseId: "g0", output: "{expected}") {{ id name input }} }}',
    ]
    parts = {"query": doors.QUERIES, "mutation": doors.MUTATIONS}
    known = [f"{kind} {{ {one} }}" for kind, every in parts.items() for several in every.values() for one in several]
    known = [text for one in known for text in dict.fromkeys((one, one.replace('"c1"', '"g0"')))]
    async with ServerSession(lambda: opened(config_in(folder))).open() as session:
        for one in (*own, *known):
            answer = await schema.execute(one, context_value=Context(session))
            answers.append(f"{one}: {answer.data} {answer.errors}")
    return answers


class Neighbours:
    """Whoever the agent writes to: it keeps each notification."""

    def __init__(self) -> None:
        self.told: Answers = []

    async def tell(self, record: Record[Fields], *, key: str, addressee: str) -> None:
        """Takes it over."""
        self.told.append(f"{addressee} {key}: {json.dumps(record.wire(), default=str)}")

    def route(self) -> Route:
        """Everybody's way."""
        return lambda addressee: self if addressee in {ORCHESTRATOR, PEOPLE} else None


def _fresh() -> Callable[[], str]:
    """Ids that the store of the story does not have."""
    numbers = count()
    return lambda: f"new-{next(numbers)}"


def _with(guess: Sequence[str], given: Any) -> Any:
    """The same with the guess in it."""
    text = json.dumps(given)
    for name, word in zip(("ASKED", "EXPECTED", "SAID"), guess, strict=True):
        text = text.replace(name, word)
    return json.loads(text)


async def _done(engine: Engine, heard: Neighbours) -> Answers:
    """What has become of every message, and what the agent told others, once it has nothing left to do."""
    await drained(engine, route=heard.route())
    kept = await engine.store.read(lambda db: inbox.newest(db, before=None, limit=1000))
    told = [json.dumps(message.wire()) for message in sorted(kept, key=lambda message: message.seq)]
    ended = await engine.store.read(
        lambda db: db.execute("SELECT seq, addressee, state, reason FROM delivery ORDER BY seq").fetchall()
    )
    return [*told, *sorted(heard.told), str(ended)]


async def of_messages(folder: Path, guess: Sequence[str]) -> Answers:
    """What becomes of every kind of message, and what the agent then tells its neighbours."""
    answers: Answers = []
    async with hosted(config_in(folder)) as host:
        await _save(host, guess)
    heard = Neighbours()
    async with opened(config_in(folder)) as engine:
        engine.new_id = _fresh()
        for kind, payloads in doors.OF_MESSAGES.items():
            for number, payload in enumerate(payloads):
                said = Letter.model_validate(
                    {"id": f"{kind}-{number}", "type": kind, "payload": _with(guess, payload), "fromAgentId": "x"}
                )
                try:
                    answers.append(f"{kind} {number}: {await send_message(engine, said)}")
                except EvalsError as error:
                    answers.append(f"{kind} {number}: {error}")
            await drained(engine, route=heard.route())
        answers += await _done(engine, heard)
    return answers


def _traces(guess: Sequence[str], by: str | None) -> Iterator[Json]:
    """Traces that hold the guess: an agent's whole work, a model's call, and an event of a turn."""
    asked, expected, said = guess
    for number, agent in enumerate(("agent", "other")):
        for output in (said, expected):
            one = agent_span(agent, asked, output)
            yield document({**one, "traceId": f"{number + 1:030x}{len(output) % 2}{1 if by is None else 2}"})
    attributes: Json = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.input.messages": spoken("user", asked), "gen_ai.output.messages": spoken("assistant", said),
    }  # fmt: skip
    yield document(span("f" * 16, "chat m", attributes, trace=("cd" if by is None else "ce") * 16))


MARKED: list[Json] = [
    {"id": "marked", "type": "rubric", "fields": {"name": "Marked", "criteriaIds": ["marked/c"], "passingThreshold": 1}},
    {"id": "marked/c", "type": "rubric-criterion", "fields": {
        "rubricId": "marked", "name": "Marked", "judgeType": "heuristic",
        "scoringGuide": json.dumps([{"type": "contains", "value": MARK}]),
    }},
]  # fmt: skip
"""A rubric that holds for a right guess as for a wrong one."""


class WholeAtOnce(Telemetry):
    """What came is whole at once: nobody waits until a trace is quiet."""

    def settled(self, *, now: float, at_once: bool = True) -> list[Settled]:
        """All that is there."""
        return super().settled(now=now, at_once=at_once)


async def of_telemetry(folder: Path, guess: Sequence[str]) -> Answers:
    """What the OTLP endpoint answers, what becomes of the traces, and what is said of the agent-runs afterwards."""
    answers: Answers = []
    heard = Neighbours()
    async with hosted(config_in(folder)) as host:
        answers.append(text_of(await host.raw("save_records", records=MARKED)))
    async with opened(config_in(folder)) as engine:
        engine.new_id = _fresh()
        for rubric in (None, "marked"):
            async with at_work(engine, route=heard.route()) as agent:
                intake = TraceIntake(agent, TraceJudging(rubric_id=rubric))
                intake._telemetry = WholeAtOnce()  # pyright: ignore[reportPrivateUsage]  as it says
                web = httpx2.ASGITransport(app=otlp_app(intake, None))
                async with httpx2.AsyncClient(transport=web, base_url="http://x") as client:
                    for trace in _traces(guess, rubric):
                        got = await client.post("/v1/traces", json=trace)
                        answers.append(f"{got.status_code} {got.text}")
                    refused = await client.post(
                        "/v1/logs", json={"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": guess}]}]}]}
                    )
                    answers.append(f"{refused.status_code} {refused.text}")
                await intake.settle()
            answers += await _done(engine, heard)
    async with hosted(config_in(folder)) as host:
        asked: list[tuple[str, dict[str, Any]]] = [
            ("list_records", {"type": kind, "detail": "full", "limit": 100})
            for kind in ("agent-run", "test-run", "message")
        ]
        answers += [f"{tool}: {text_of(await host.raw(tool, **given))}" for tool, given in asked]
    return answers


def test_every_kind_of_message_is_sent() -> None:
    assert doors.OF_MESSAGES.keys() == KINDS.keys()


def _alike(answer: str, guess: Sequence[str]) -> str:
    """The answer without the guess, and without what its letters make of a difference between its own texts."""
    text = re.sub(
        r'"(durationMs|runDuration)":\d+|"outputDiff": ?\[[^]]*\]|<(ins|del)>.*?</\2>',
        "",
        answer.replace(guess[2], "GUESS2"),
    )
    return comparable(text, guess)


@pytest.mark.parametrize("ask", [of_tools, of_resources, of_pages, of_queries, of_messages, of_telemetry])
def test_no_door_answers_a_right_guess_otherwise(ask: Any, sealed: Path, tmp_path: Path) -> None:
    said: list[Answers] = []
    for name, guess in (("right", RIGHT), ("wrong", WRONG)):
        (tmp_path / name).mkdir()
        shutil.copy(sealed, tmp_path / name / "evals.db")
        answers = anyio.run(ask, tmp_path / name, guess)
        said.append([_alike(answer.replace(str(tmp_path / name), "HERE"), guess) for answer in answers])
    assert len(said[0]) > 10
    differ = [(one, other) for one, other in zip(*said, strict=True) if one != other]
    assert not differ, "\n\n".join(_apart(*both) for both in differ)


def _apart(right: str, wrong: str) -> str:
    """Where two answers part."""
    at = next((place for place, (one, other) in enumerate(zip(right, wrong, strict=False)) if one != other), len(right))
    return f"{right[:80]}\nRIGHT …{right[max(0, at - 100) : at + 200]}\nWRONG …{wrong[max(0, at - 100) : at + 200]}"

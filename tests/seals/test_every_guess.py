"""Every door of `doors.py` answers a right guess at a sealed case like a wrong one: tools, resources, prompts, pages and queries.

Each door is asked as for its leak test, and once more with the records that hold the guess in the place of those that are sealed.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.graphql.context import Context
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.session.opened import ServerSession
from minions_evals_mcp.view.app import routes
from tests.seals import doors
from tests.seals.test_guesses import CASE, RIGHT, SAYING, WRONG, comparable, records, whole
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


def _alike(answer: str, guess: Sequence[str]) -> str:
    """The answer without the guess, and without what its letters make of a difference between its own texts."""
    text = re.sub(
        r'"(durationMs|runDuration)":\d+|"outputDiff":\[[^]]*\]|<(ins|del)>.*?</\2>',
        "",
        answer.replace(guess[2], "GUESS2"),
    )
    return comparable(text, guess)


@pytest.mark.parametrize("ask", [of_tools, of_resources, of_pages, of_queries])
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

"""Nothing of a sealed case comes out of any door: every command, tool, resource, page, query, report and log is asked, and read."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from graphql import GraphQLObjectType, build_schema
from mcp.shared.exceptions import MCPError

import minions_evals_mcp
from minions_evals_mcp.domain.seals import OPEN_TABLES, REDACTIONS
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.seals.seal import unseal
from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.graphql.context import Context
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.session.opened import ServerSession
from minions_evals_mcp.store.connection import open_raw
from minions_evals_mcp.store.veil import statements
from minions_evals_mcp.view.app import routes
from tests.seals import doors
from tests.seals.story import MARK, RAISING
from tests.shared.agent.desk import Desk
from tests.shared.cli.terminal import Terminal
from tests.shared.server.hosts import Host, hosted
from tests.shared.view.visitor import visitor
from tests.workshop import config_in, opened

Said = list[tuple[str, str]]
"""What came out of which door."""


@pytest.fixture(params=["sealed", "unsealed"])
def folder(request: pytest.FixtureRequest, sealed: Path, tmp_path: Path) -> Path:
    """A folder with the sealed store, and with the same one unsealed: what the doors say without a seal."""
    shutil.copy(sealed, tmp_path / "evals.db")
    if request.param == "unsealed":
        anyio.run(_ended, tmp_path)
    return tmp_path


async def _ended(folder: Path) -> None:
    async with opened(config_in(folder)) as engine:
        await unseal(engine, "b", "to see that these doors would say it", by="agent")


@pytest.fixture
def told(folder: Path) -> str:
    """The id of the comparison on sealed cases."""

    async def read() -> str:
        async with opened(config_in(folder)) as engine:
            return (await get_job(engine, "told")).id

    return anyio.run(read)


@pytest.fixture
def is_sealed(folder: Path) -> bool:
    """Whether the seal stands."""
    with closing(open_raw(folder / "evals.db")) as db:
        return db.execute("SELECT ended_at FROM seal").fetchone()[0] is None


def vet(said: Said, *, is_sealed: bool) -> None:
    """Nothing came out while the seal stands; without it the same doors say a lot, or they were the wrong ones to ask."""
    leaks = [
        f"{door}: …{text[max(0, (at := text.find(MARK)) - 80) : at + 60]!r}" for door, text in said if MARK in text
    ]
    if is_sealed:
        assert leaks == []
        assert [door for door, text in said if "failed: no such" in text] == []  # a query that the veil breaks
    else:
        assert len(leaks) > len(said) / 8, [door for door, _ in said]


def test_every_table_is_redacted_or_known_to_say_nothing(folder: Path) -> None:
    with closing(open_raw(folder / "evals.db")) as db:
        tables = {
            row[0]
            for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        }
        assert tables == set(REDACTIONS) | OPEN_TABLES


def test_only_the_engines_own_work_reads_what_is_sealed() -> None:
    root = Path(minions_evals_mcp.__file__).parent
    readers = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if re.search(r"read_(whole|for)\(", file.read_text("utf-8"))
    }
    assert readers == {
        "engine/audit_standing/standing.py",
        "cluster/workshop.py",  # where it is refused: a worker has no store
        "engine/judge/kept_verdicts.py",
        "engine/meant_ids.py",  # whether an id stands, of which it answers what was given either way
        "engine/run/conclusion.py",
        "engine/run/estimate.py",
        "engine/run/planning.py",
        "engine/run/run_benchmark.py",
        "engine/run/unit_pages.py",
        "store/database.py",
    }


def test_no_row_that_a_door_can_read_says_anything_sealed(folder: Path, *, is_sealed: bool) -> None:
    said: Said = []
    with closing(open_raw(folder / "evals.db")) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
        for statement in statements(db) if is_sealed else ():
            db.execute(statement)
        for table in tables:
            said += [(table, repr(row)) for row in db.execute(f"SELECT * FROM {table}")]
    vet(said, is_sealed=is_sealed)


def test_no_command_says_anything_sealed(folder: Path, told: str, *, is_sealed: bool) -> None:
    assert doors.commands() == {*doors.OF_COMMANDS, *doors.NOT_ASKED}
    at = Terminal(folder).person("maria")
    packets = [{"digest": "d", "judgments": [{"criterionId": "r/good", "score": 1, "rationale": "it reads so"}]}]
    (folder / "answers.json").write_text(json.dumps({"runId": "run-caller", "judgedBy": "x", "packets": packets}))
    said: Said = []
    last = {command: place for place, command in enumerate(doors.CHANGING)}
    for command, asked in sorted(doors.OF_COMMANDS.items(), key=lambda item: last.get(item[0], -1)):
        some = asked if is_sealed else asked[:3] if command in doors.TALKATIVE else ()
        lines = [[*command.split(), *(one.replace("TOLD", told) for one in arguments)] for arguments in some]
        for words, ended in zip(lines, at.asked(*lines), strict=True):
            said.append((" ".join(words), ended.out + ended.err))
            if command == "export":
                (folder / "exported.jsonl").write_text(ended.out)
    said += [(file.name, file.read_text("utf-8")) for file in folder.glob("report.*")]
    vet(said, is_sealed=is_sealed)


def test_an_erasure_does_not_tell_whether_a_sealed_case_held_the_text_or_failed(
    folder: Path, *, is_sealed: bool
) -> None:
    at = Terminal(folder).person("maria")
    asked = (["--subject", f"{MARK}input3"], ["--subject", "in no text"], ["--record", "c1"], ["--record", "run-v2"])
    for form in ([], ["--json"]):
        told = {at.run("forget", *one, "--yes", *form).out for one in asked}
        assert (len(told) == 1) == (is_sealed or form == ["--json"]), "what was erased once is not erased again"
    with closing(open_raw(folder / "evals.db")) as db:
        events = [row[0] for row in db.execute("SELECT detail FROM event WHERE type = 'content-forgotten'")]
    assert len(events) == 2 * len(asked)
    assert all(("rows" in json.loads(one)) != is_sealed for one in events)
    assert at.run("db", "check", "--deep").code == 0


async def test_no_tool_says_anything_sealed(
    folder: Path, told: str, capfd: pytest.CaptureFixture[str], *, is_sealed: bool
) -> None:
    assert set(CATALOGUE) <= set(doors.OF_TOOLS)
    said: Said = []
    async with hosted(config_in(folder), target=RAISING) as host:
        for tool in CATALOGUE:
            for arguments in doors.OF_TOOLS[tool]:
                given = json.loads(json.dumps(arguments).replace("TOLD", told))
                answer = await host.raw(tool, **given)
                said.append((f"{tool} {given}", answer.model_dump_json()))
    vet([*said, ("log", capfd.readouterr().err)], is_sealed=is_sealed)


async def test_no_resource_or_prompt_says_anything_sealed(folder: Path, told: str, *, is_sealed: bool) -> None:
    said: Said = []
    async with hosted(config_in(folder)) as host:
        told_of = [str(one.uri) for one in (await host.client.list_resources()).resources]
        told_of += [one.uri_template for one in (await host.client.list_resource_templates()).resource_templates]
        assert set(told_of) == set(doors.RESOURCES)
        for addresses in doors.RESOURCES.values():
            said += [await _resource(host, one.replace("TOLD", told)) for one in addresses]
        for prompt in (await host.client.list_prompts()).prompts:
            names = {one.name: doors.GIVEN[one.name] for one in prompt.arguments or ()}
            said.append(await _prompt(host, prompt.name, names))
    vet(said, is_sealed=is_sealed)


async def _resource(host: Host, address: str) -> tuple[str, str]:
    try:
        return address, (await host.client.read_resource(address)).model_dump_json()
    except MCPError as error:
        return address, str(error)


async def _prompt(host: Host, name: str, given: dict[str, str]) -> tuple[str, str]:
    try:
        return name, (await host.client.get_prompt(name, given)).model_dump_json()
    except MCPError as error:
        return name, str(error)


async def test_no_page_says_anything_sealed(folder: Path, told: str, *, is_sealed: bool) -> None:
    said: Said = []
    async with opened(config_in(folder)) as engine:
        assert {one.path for one in routes()} == set(doors.OF_PAGES)
        async with visitor(engine, judge="maria") as client:
            for route in routes():
                for query in doors.OF_PAGES[route.path]:
                    given = {name: value.replace("TOLD", told) for name, value in query.items()}
                    for method in sorted({"GET", "POST"} & (route.methods or set())):
                        asked = await client.request(
                            method, route.path, params=given, data=given if method == "POST" else None
                        )
                        said.append((f"{method} {route.path} {given}", asked.text))
    vet(said, is_sealed=is_sealed)


async def test_no_query_says_anything_sealed(folder: Path, *, is_sealed: bool) -> None:
    schema, said = graphql_schema(), list[tuple[str, str]]()
    parts = {"query": doors.QUERIES, "mutation": doors.MUTATIONS}
    for kind, known in parts.items():
        declared = build_schema(schema.as_str()).get_type(kind.title())
        assert isinstance(declared, GraphQLObjectType)
        assert set(declared.fields) == set(known)
    async with ServerSession(lambda: opened(config_in(folder))).open() as session:
        for kind, known in parts.items():
            for asked in known.values() if is_sealed or kind == "query" else ():
                for one in asked:
                    answer = await schema.execute(f"{kind} {{ {one} }}", context_value=Context(session))
                    said.append((one, f"{answer.data} {answer.errors}"))
    vet(said, is_sealed=is_sealed)


def test_the_agent_tells_its_neighbours_nothing_sealed(folder: Path, *, is_sealed: bool) -> None:
    desk = Desk(folder)
    neighbours = folder / "out"
    neighbours.mkdir()
    desk.drained(
        {
            "type": "compare-prompts",
            "id": "ask",
            "payload": {"benchmarkId": "b", "promptVersionA": "v1", "promptVersionB": "v3"},
        },
        {"type": "run-benchmark", "id": "run", "payload": {"benchmarkId": "b"}},
    )
    asked = [("status",), ("show", "ask"), ("show", "run"), ("show", "letter"), ("show", "latest", "--json")]
    said = [("agent", desk.ran("minions-eval-agent", *words).out) for words in asked]
    said += [
        (f"{kind}", desk.ran("minions-evals", "list", kind, "--json").out)
        for kind in ("agent-message", "task", "memory-item")
    ]
    vet(said, is_sealed=is_sealed)

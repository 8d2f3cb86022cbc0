"""What a person's role lets them do over HTTP: every tool, every mutation, every query."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx2
import pytest
from graphql import (
    GraphQLArgument,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLType,
    get_named_type,
    is_composite_type,
)
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult
from pydantic import JsonValue

from minions_evals_mcp.domain.speaker import ROLES, Role, person
from minions_evals_mcp.engine.people.persons import add_person
from minions_evals_mcp.operations.table import TABLE, Offer
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.hang import HANG_S
from tests.server.edge.test_omitted import LEAST
from tests.server.tasks.test_tasks import About, Cancel, Handles, State, answered, state
from tests.shared.server.hosts import ERAS, Host, hosted, read_by_people, suite, text_of
from tests.shared.server.web import on_the_web
from tests.workshop import Json, config_in, opened

QUERY = '{ testCases(promptId: "p") { id } }'


def mutations() -> dict[str, str]:
    """A document for each mutation of the schema, with as little as it takes."""
    root = graphql_schema()._schema.mutation_type  # pyright: ignore[reportPrivateUsage]  strawberry shows it no other way
    assert root is not None
    return {
        name: f"mutation {{ {name}({least(field.args)}) {'{ __typename }' if is_composite_type(get_named_type(field.type)) else ''} }}"
        for name, field in root.fields.items()
    }


def least(arguments: Mapping[str, GraphQLArgument] | Mapping[str, GraphQLInputField]) -> str:
    """The required ones among those arguments, as they stand in a document."""
    return ", ".join(
        f"{name}: {value(cast('GraphQLType', one.type.of_type))}"
        for name, one in arguments.items()
        if isinstance(one.type, GraphQLNonNull)
    )


def value(kind: GraphQLType) -> str:
    """A value of that type."""
    if isinstance(kind, GraphQLInputObjectType):
        return f"{{{least(kind.fields)}}}"
    if isinstance(kind, GraphQLList):
        return "[]"
    assert isinstance(kind, GraphQLScalarType), kind
    return {"Int": "1", "Float": "1.0", "Boolean": "true", "JSON": "{}"}.get(kind.name, '"p"')


@asynccontextmanager
async def signed(
    folder: Path, role: Role | None, *, follows: bool = False
) -> AsyncGenerator[tuple[Host, httpx2.AsyncClient]]:
    """A host and an HTTP client that bring the token of a person of that role; without one, none. It `follows` tasks and shows forms."""
    token = ""
    async with opened(config_in(folder)) as engine:
        if role is not None:
            token = f"Bearer {await add_person(engine, 'anna', role)}"
    session = ServerSession(lambda: opened(config_in(folder)))
    server = build_server(session, ServerOptions())
    async with (
        on_the_web(server, session, with_graphql=True) as door,
        httpx2.AsyncClient(
            headers={"authorization": token} if token else {}, base_url=f"http://127.0.0.1:{door.port}", timeout=HANG_S
        ) as web,
        Client(
            streamable_http_client(door.url, http_client=web),  # pyright: ignore[reportArgumentType]  a transport
            extensions=[Handles()] if follows else None,
            elicitation_callback=_agreed if follows else None,
        ) as client,
    ):
        yield Host(client), web


async def _agreed(context: object, params: object) -> ElicitResult:
    return ElicitResult(action="accept", content={"score1": 4, "why1": "It says Output.", "judgedBy": "Ada"})


@pytest.mark.parametrize("role", [*ROLES, None])
async def test_a_task_is_stopped_and_answered_by_whom_the_tools_would_let(tmp_path: Path, role: Role | None) -> None:
    async with hosted(config_in(tmp_path)) as operator:
        await operator.call("save_records", records=read_by_people(1))
        run = await operator.call("run_benchmark", benchmarkId="b", judge="human", waitSeconds=50)
    run_id = str(run["runId"])
    async with signed(tmp_path, role, follows=True) as (host, _):
        asked = (await state(host.client, run_id)).input_requests
        assert bool(asked) == (role in {"judge", "editor"}), "whoever may judge is asked"
        for action in ("accept", "decline"):
            if role in {"viewer", None}:
                with pytest.raises(MCPError, match="is a viewer in this store" if role else "person's token"):
                    await answered(host.client, run_id, any={"action": action})
        if role in {"viewer", "judge"}:
            with pytest.raises(MCPError, match=f"anna is a {role} in this store"):
                await host.client.session.send_request(Cancel(params=About(task_id=run_id)), State)
        else:
            await host.client.session.send_request(Cancel(params=About(task_id=run_id)), State)


@pytest.mark.parametrize("era", ERAS)
async def test_over_http_no_form_makes_a_caller_without_a_token_a_person(tmp_path: Path, era: str) -> None:
    async with hosted(config_in(tmp_path)) as operator:
        await operator.call("save_records", records=read_by_people(1))
    session = ServerSession(lambda: opened(config_in(tmp_path)))
    async with (
        on_the_web(build_server(session, ServerOptions()), session) as door,
        Client(streamable_http_client(door.url), mode=era, elicitation_callback=_agreed) as client,
    ):
        run = await Host(client).call("run_benchmark", benchmarkId="b", judge="human", waitSeconds=2)
        assert run["state"] == "awaiting-judgments"


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_is_answered_by_the_tools_that_it_needs_and_by_no_other(tmp_path: Path, role: Role) -> None:
    speaker = person("anna", role)
    async with signed(tmp_path, role) as (host, _):
        if speaker.may("editor"):
            await host.call("save_records", records=suite(2))
        for name, arguments in LEAST.items():
            answered = text_of(await host.client.call_tool(name, arguments))
            assert (f"anna is a {role} in this store" in answered) == (not speaker.may(CATALOGUE[name].needs)), name


@pytest.mark.parametrize("role", ROLES)
async def test_mutations_need_an_editor_and_queries_a_viewer(tmp_path: Path, role: Role) -> None:
    async with signed(tmp_path, role) as (_, web):
        for name, document in mutations().items():
            found = await codes(web, document)
            assert "bad-document" not in found, (name, document)
            assert ("not-allowed" in found) == (role != "editor"), name
        assert "not-allowed" not in await codes(web, QUERY)


async def codes(web: httpx2.AsyncClient, document: str) -> list[JsonValue]:
    """The codes of the errors that the document is answered with."""
    answered: Json = (await web.post("/graphql", json={"query": document})).json()
    errors = answered.get("errors", [])
    assert isinstance(errors, list)
    return [error["extensions"]["code"] for error in errors if isinstance(error, dict)]  # type: ignore[index,call-overload]


async def test_what_a_person_makes_by_a_mutation_is_theirs(tmp_path: Path) -> None:
    async with signed(tmp_path, "editor") as (_, web):
        await web.post("/graphql", json={"query": mutations()["createTestCase"]})
    async with opened(config_in(tmp_path)) as engine:
        sources = "SELECT json_extract(detail, '$.by') FROM event WHERE type = 'record-saved'"
        assert await engine.store.read(lambda db: db.execute(sources).fetchall()) == [("person:anna",)]


def test_a_tool_writes_where_its_operation_needs_more_than_a_viewer() -> None:
    for name, entry in CATALOGUE.items():
        assert entry.writes == (entry.needs != "viewer"), name
    offered = {row.mcp.name: row.needs for row in TABLE.values() if isinstance(row.mcp, Offer)}
    assert {name: CATALOGUE[name].needs for name in offered} == offered

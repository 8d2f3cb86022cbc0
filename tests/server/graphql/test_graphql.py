"""The testing API over GraphQL: its example documents by a real client, the same records as by the engine's verbs, and its door."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from gql import Client, gql
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.exceptions import TransportQueryError
from mcp.server.transport_security import TransportSecuritySettings

from minions_evals_mcp.engine.cases import test_history as history
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.graphql.http import GraphQLDoor
from minions_evals_mcp.server.options import ServerOptions, read_options
from minions_evals_mcp.server.session.opened import ServerSession
from tests.hang import HANG_S
from tests.shared.engine.ab_workshop import ANSWER, laboratory, says
from tests.shared.fakes.llm_server import Server, serving
from tests.shared.server.testing_api import DOCUMENTS
from tests.shared.server.web import on_the_web
from tests.workshop import config_in, minion, save

TARGET = "openai:gpt-4o"
Answer = dict[str, Any]


class Api:
    """A client of the testing API."""

    def __init__(self, client: Any, url: str, engine: Engine, model: Server) -> None:
        self.client, self.url, self.engine, self.model = client, url, engine, model

    async def ask(self, name: str, **variables: object) -> Any:
        """The answer to one of the example documents."""
        request = gql(DOCUMENTS[name])
        request.variable_values = variables
        return await self.client.execute(request)

    async def refused(self, name: str, **variables: object) -> Mapping[str, Any]:
        """The first error of a document that is refused."""
        with pytest.raises(TransportQueryError) as caught:
            await self.ask(name, **variables)
        assert caught.value.errors
        return caught.value.errors[0]


@asynccontextmanager
async def served(folder: Path, *, token: str | None = None) -> AsyncGenerator[Api]:
    """The API over a store with the prompt `mood`, whose target is a model at the fake server."""
    with anyio.fail_after(HANG_S):
        async with serving() as model, laboratory(folder, model) as engine:
            says(model, ANSWER)
            prompt = {"promptId": "mood", "content": "Say how you feel: {{text}}"}
            await save(engine, [minion("mood@1", "prompt-version", versionNumber=1, **prompt)])

            @asynccontextmanager
            async def opening() -> AsyncGenerator[Engine]:
                yield engine

            session = ServerSession(opening, target=TARGET)
            server = build_server(session, ServerOptions())
            async with on_the_web(server, session, token=token, with_graphql=True) as door:
                url = door.url.replace("/mcp", "/graphql")
                headers = {} if token is None else {"Authorization": f"Bearer {token}"}
                async with Client(
                    transport=AIOHTTPTransport(url=url, headers=headers), execute_timeout=HANG_S
                ) as client:
                    yield Api(client, url, engine, model)


def case_input(name: str, expected: str | None = ANSWER) -> Answer:
    return {"promptId": "mood", "name": name, "input": {"text": "I am happy"}, "expectedOutput": expected}


async def test_a_prompt_version_is_made_and_runs_use_it_as_the_latest(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        asked = gql(
            "mutation M($input: PromptVersionInput!) { createPromptVersion(input: $input) { id promptId versionNumber content changelog } }"
        )
        asked.variable_values = {"input": {"promptId": "mood", "content": "Tell me: {{text}}", "changelog": "kinder"}}
        made = (await api.client.execute(asked))["createPromptVersion"]
        assert (made["promptId"], made["versionNumber"], made["changelog"]) == ("mood", 2, "kinder")
        case = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]["id"]
        await api.ask("RunTestCase", input={"testCaseId": case})
        (run,) = (await history.test_case_executions(api.engine, case, limit=1, offset=0)).executions
        assert run.prompt_version == 2


@pytest.mark.parametrize("document", ["CreateTestCase", "UpdateTestCase"])
async def test_an_empty_expected_output_is_refused_when_made_and_when_changed(tmp_path: Path, document: str) -> None:
    async with served(tmp_path) as api:
        made = await api.ask("CreateTestCase", input=case_input("hello"))
        about = {"id": made["createTestCase"]["id"]} if document == "UpdateTestCase" else {}
        refused = await api.refused(document, input=case_input("empty", ""), **about)
        assert "matches everything; leave it out" in refused["message"]


async def test_the_documented_flow_of_test_cases_runs_as_it_stands(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        made = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]
        run = (await api.ask("RunTestCase", input={"testCaseId": made["id"]}))["runTestCase"]
        assert (run["passed"], run["exactMatch"], run["actualOutput"]) == (True, True, ANSWER)
        says(api.model, "sad")
        asked = {"promptId": "mood", "testCaseIds": [made["id"]], "promptVersion": 1}
        (worse,) = (await api.ask("BatchRunTests", input=asked))["batchRunTests"]
        assert (worse["passed"], worse["isRegression"], worse["regressionType"]) == (False, True, "FAILED")
        runs = (await api.ask("GetTestCaseExecutions", testCaseId=made["id"]))["testCaseExecutions"]
        assert [line["passed"] for line in runs] == [False, True]
        stats = (await api.ask("GetTestCaseStats", testCaseId=made["id"]))["testCaseStats"]
        assert (stats["totalRuns"], stats["passRate"]) == (2, 50)
        assert [line["regressionType"] for line in stats["regressions"]] == ["FAILED"]
        assert [day["totalRuns"] for day in stats["trendData"]] == [2]
        accepted = await api.ask("UpdateExpectedOutput", testCaseId=made["id"], output="sad")
        assert accepted["updateExpectedOutput"]["expectedOutput"] == "sad"
        listed = (await api.ask("GetTestCases", promptId="mood"))["testCases"]
        assert [(case["name"], case["totalRuns"]) for case in listed] == [("Happy", 2)]
        shown = (await api.ask("GetTestCase", id=made["id"]))["testCase"]
        assert shown["prompt"]["id"] == "mood"
        assert (await api.ask("DeleteTestCase", id=made["id"])) == {"deleteTestCase": True}


async def test_a_mutation_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await save(
            api.engine, minion("lone", "test-case", name="lone", inputs={"q": "x"}, expectedOutputs={"output": "yes"})
        )
        with pytest.raises(TransportQueryError, match="belongs to no prompt"):
            await api.ask("UpdateExpectedOutput", testCaseId="lone", output="no")
        assert (await history.test_case(api.engine, "lone")).expected_output == "yes"


async def test_an_update_leaves_alone_what_it_does_not_name(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        made = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]
        change = {"promptId": "mood", "name": "Renamed", "input": {"text": "I am happy"}}
        updated = (await api.ask("UpdateTestCase", id=made["id"], input=change))["updateTestCase"]
        assert (updated["name"], updated["expectedOutput"]) == ("Renamed", ANSWER)
        with pytest.raises(TransportQueryError, match="has changed since"):
            await api.ask("UpdateTestCase", id=made["id"], input=change, seen="2020-01-01T00:00:00Z")


async def test_a_run_is_the_record_that_the_engine_reads(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        made = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]
        run = (await api.ask("RunTestCase", input={"testCaseId": made["id"]}))["runTestCase"]
        page = await history.test_case_executions(api.engine, made["id"])
        (kept,) = [line.model_dump(mode="json", by_alias=True) for line in page.executions]
        assert all(kept[name] == run[name] for name in run)


async def test_the_same_idempotency_key_does_not_pay_twice(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        made = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]
        asked = {"testCaseId": made["id"], "idempotencyKey": "once"}
        first = (await api.ask("RunTestCase", input=asked))["runTestCase"]
        again = (await api.ask("RunTestCase", input=asked))["runTestCase"]
        assert first == again
        assert len((await api.ask("GetTestCaseExecutions", testCaseId=made["id"]))["testCaseExecutions"]) == 1


async def test_the_documented_ab_test_runs_as_it_stands(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        case = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]["id"]
        made: list[str] = []
        for name, model in (("Four", "gpt-4o"), ("Mini", "gpt-4o-mini")):
            fields = {"testCaseId": case, "name": name, "provider": "openai", "model": model, "temperature": 0.7}
            made.append((await api.ask("CreateTestBranch", input=fields))["createTestBranch"]["id"])
        asked = {"testCaseId": case, "branchIds": made, "winnerCriteria": "balanced"}
        result = (await api.ask("RunABTest", input=asked))["runABTest"]
        assert (result["criteria"], [branch["rank"] for branch in result["branches"]]) == ("balanced", [1, 2])
        assert {branch["execution"]["status"] for branch in result["branches"]} == {"success"}
        assert result["winner"]["branchName"] == result["branches"][0]["branchName"]
        shown = (await api.ask("GetTestBranches", testCaseId=case))["testBranches"]
        assert [(branch["name"], branch["totalRuns"]) for branch in shown] == [("Four", 1), ("Mini", 1)]
        (execution,) = (await api.ask("GetBranchExecutions", branchId=made[0]))["testBranchExecutions"]
        assert (execution["output"], execution["promptVersion"]) == (ANSWER, 1)
        changed = {"testCaseId": case, "name": "Five", "provider": "openai", "model": "gpt-4o", "maxTokens": 100}
        assert (await api.ask("UpdateTestBranch", id=made[0], input=changed))["updateTestBranch"]["maxTokens"] == 100
        assert (await api.ask("DeleteTestBranch", id=made[1])) == {"deleteTestBranch": True}


WIDER = """
mutation RunABTest($input: RunABTestInput!) {
  runABTest(input: $input) { criteria isSupported note branches { rank passRate qualityInterval latencyInterval } }
}
"""


async def test_an_ab_test_runs_over_several_cases_with_intervals(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        idents = [
            (await api.ask("CreateTestCase", input=case_input(name)))["createTestCase"]["id"] for name in ("One", "Two")
        ]
        fields = {"testCaseId": idents[0], "provider": "openai", "model": "gpt-4o"}
        made = [
            (await api.ask("CreateTestBranch", input={**fields, "name": name}))["createTestBranch"]["id"]
            for name in "ab"
        ]
        request = gql(WIDER)
        request.variable_values = {"input": {"testCaseIds": idents, "branchIds": made}}
        result = (await api.client.execute(request))["runABTest"]
        assert [branch["passRate"] for branch in result["branches"]] == [100, 100]
        assert all(branch["qualityInterval"] == [1, 1] for branch in result["branches"])
        assert (result["criteria"], result["isSupported"]) == ("best_quality", False)
        both = {"testCaseId": idents[0], "testCaseIds": idents, "branchIds": made}
        assert (await api.refused("RunABTest", input=both))["extensions"]["code"] == "bad-input"


async def test_the_page_for_a_browser_is_there_on_this_machine_only(tmp_path: Path) -> None:
    asking = {"accept": "text/html"}
    async with served(tmp_path) as api, httpx2.AsyncClient(timeout=HANG_S) as client:
        shown = await client.get(api.url, headers=asking)
        assert (shown.status_code, "graphiql" in shown.text.lower()) == (200, True)
        assert "script-src 'self'" in shown.headers["content-security-policy"]
        loaded = re.findall(r'(?:src|href)="(/[^"]*)"', shown.text)
        assert len(loaded) == 6
        assert "://" not in shown.text
        for path in (*loaded, "/graphql/schema.json"):
            assert (await client.get(api.url.replace("/graphql", "") + path)).status_code == 200
        assert (await client.get(f"{api.url}/other.js")).status_code == 404
        everywhere = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        door = GraphQLDoor(ServerSession(lambda: open_engine(config_in(tmp_path))), everywhere, with_ide=False)
        transport = httpx2.ASGITransport(app=door)
        async with httpx2.AsyncClient(transport=transport, base_url="http://evals.example") as elsewhere:
            assert (await elsewhere.get("/graphql", headers=asking)).status_code != 200


async def test_what_is_refused_is_told_with_our_code(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        missing = await api.refused("GetTestCase", id="nobody")
        assert (missing["extensions"]["code"], "nobody" in missing["message"]) == ("not-found", True)
        case = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]["id"]
        unknown = await api.refused("RunTestCase", input={"testCaseId": case, "promptVersion": 9})
        assert unknown["extensions"]["code"] == "not-found"
        page = await api.refused("GetTestCaseExecutions", testCaseId=case, limit=1000)
        assert (page["extensions"]["code"], "limit is 1000" in page["message"]) == ("bad-input", True)
        criteria = await api.refused(
            "RunABTest", input={"testCaseId": case, "branchIds": ["a", "b"], "winnerCriteria": "prettiest"}
        )
        assert (criteria["extensions"]["code"], "winnerCriteria" in criteria["message"]) == ("bad-input", True)


async def test_a_variable_that_is_missing_or_of_another_type_is_named_and_is_no_crash(tmp_path: Path) -> None:
    query = "query Q($id: ID!) { testCase(id: $id) { id } }"
    mutation = "mutation M($input: TestCaseInput!) { createTestCase(input: $input) { id } }"
    async with served(tmp_path) as api, httpx2.AsyncClient(timeout=HANG_S) as client:
        for document, variables, named in (
            (query, {}, "'$id'"),
            (query, {"id": None}, "'$id'"),
            (mutation, {"input": {"promptId": "mood"}}, "'name'"),
        ):
            answer = (await client.post(api.url, json={"query": document, "variables": variables})).json()
            error = answer["errors"][0]
            assert error["extensions"] == {"code": "bad-document"}, answer
            assert named in error["message"]


async def test_of_several_operations_one_has_to_be_named(tmp_path: Path) -> None:
    two = 'query First { testCases(promptId: "a") { id } } mutation Second { deleteTestCase(id: "nobody") }'
    async with served(tmp_path) as api, httpx2.AsyncClient(timeout=HANG_S) as client:
        open_ended = (await client.post(api.url, json={"query": two})).json()
        (error,) = open_ended["errors"]
        assert error["extensions"]["code"] == "bad-document"
        assert error["message"] == "the document has 2 operations (First, Second): name one in `operationName`."
        first = (await client.post(api.url, json={"query": two, "operationName": "First"})).json()
        assert first["data"] == {"testCases": []}
        second = (await client.post(api.url, json={"query": two, "operationName": "Second"})).json()
        assert second["errors"][0]["extensions"]["code"] == "not-found"


async def test_a_refusal_and_its_remedy_are_in_the_words_of_this_interface(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        case = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]["id"]
        gone = await api.refused("RunABTest", input={"testCaseId": case, "branchIds": ["gone", "too"]})
        assert gone["extensions"]["remedy"] == f'`testBranches(testCaseId: "{case}")` shows them.'
        none = await api.refused("BatchRunTests", input={"promptId": "mood", "testCaseIds": []})
        assert none["message"] == "testCaseIds: at least 1 must be given, got 0."
        branch = {"testCaseId": case, "provider": "openai", "model": "m"}
        for number in range(5):
            await api.ask("CreateTestBranch", input={**branch, "name": f"branch {number}"})
        sixth = await api.refused("CreateTestBranch", input={**branch, "name": "sixth"})
        assert sixth["message"].endswith(f"test-case {case} already has 5 branches. Delete one first.")


async def test_a_case_of_a_batch_that_cannot_be_run_is_null_beside_the_others(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        good = (await api.ask("CreateTestCase", input=case_input("Happy")))["createTestCase"]["id"]
        lacking = {**case_input("Lacks a variable"), "input": {"other": 1}}
        bad = (await api.ask("CreateTestCase", input=lacking))["createTestCase"]["id"]
        async with httpx2.AsyncClient(timeout=HANG_S) as client:
            asked = {"input": {"promptId": "mood", "testCaseIds": [bad, good]}}
            found = await client.post(api.url, json={"query": DOCUMENTS["BatchRunTests"], "variables": asked})
        answer = found.json()
        refused, run = answer["data"]["batchRunTests"]
        assert (refused, run["passed"]) == (None, True)
        (error,) = answer["errors"]
        assert error["path"] == ["batchRunTests", 0]
        assert error["extensions"]["code"]


async def test_a_document_that_is_too_deep_too_long_or_of_many_aliases_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as api, httpx2.AsyncClient(timeout=HANG_S) as client:
        aliases = " ".join(f'a{number}: testCases(promptId: "mood") {{ id }}' for number in range(20))
        long = '{ testCases(promptId: "mood") { ' + "id " * 3000 + "} }"
        for query in (aliases.join("{}"), long):
            answer = (await client.post(api.url, json={"query": query})).json()
            assert answer["errors"][0]["extensions"]["code"] == "bad-document", answer


async def test_the_door_asks_for_the_token_and_knows_its_hosts(tmp_path: Path) -> None:
    token = "a-token-of-some-length"
    body = {"query": "{ __typename }"}
    async with served(tmp_path, token=token) as api, httpx2.AsyncClient(timeout=HANG_S) as client:
        known = {"authorization": f"Bearer {token}"}
        assert (await client.post(api.url, json=body)).status_code == 401
        assert (await client.post(api.url, json=body, headers=known)).status_code == 200
        assert (await client.post(api.url, json=body, headers={**known, "host": "evil.example"})).status_code == 421
        origin = {**known, "origin": "https://evil.example"}
        assert (await client.post(api.url, json=body, headers=origin)).status_code == 403
        form = {**known, "content-type": "application/x-www-form-urlencoded"}
        assert (await client.post(api.url, content=b"query={__typename}", headers=form)).status_code == 400
        assert (await client.get(api.url, params={"query": "{ __typename }"}, headers=known)).status_code != 200


def test_graphql_without_http_is_refused_at_the_start() -> None:
    assert read_options(["--http", "127.0.0.1:0", "--graphql"]).graphql
    with pytest.raises(BadInputError, match="needs --http"):
        read_options(["--graphql"])

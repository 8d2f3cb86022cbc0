"""Ids by their beginnings in the testing API: every query takes them, every mutation is refused with the whole id.

Over GraphQL, and by messages.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from gql import gql
from gql.transport.exceptions import TransportQueryError
from graphql import GraphQLID, GraphQLInputObjectType, build_schema, get_named_type

from minions_evals_mcp.domain.request_fields import names_in
from minions_evals_mcp.engine.near_ids import with_near_ids
from minions_evals_mcp.errors import InvalidRecordError, NotFoundError
from minions_evals_mcp.messages.testing_api import VERBS, Verb, VerbContext
from minions_evals_mcp.server.graphql.schema import graphql_schema
from tests.server.graphql.test_graphql import Api, served
from tests.workshop import Json, minion, save

WHOLE = {"case": "refunds/late", "branch": "branch/fast", "prompt": "mood", "version": "mood@1"}
LONG = 6
SCHEMA = build_schema(graphql_schema().as_str())
CASE = '{ promptId: "mood", name: "n", input: {text: "t"}, expectedOutput: "x" }'
BRANCH = '{ testCaseId: "%(case)s", name: "n", provider: "openai", model: "m" }'
DOCUMENTS = {
    "testCases": "{ testCases(promptId: \"%(prompt)s\") { id } }",
    "testCase": "{ testCase(id: \"%(case)s\") { id } }",
    "testCaseExecutions": "{ testCaseExecutions(testCaseId: \"%(case)s\") { id } }",
    "testCaseStats": "{ testCaseStats(testCaseId: \"%(case)s\") { totalRuns } }",
    "testBranches": "{ testBranches(testCaseId: \"%(case)s\") { id } }",
    "testBranchExecutions": "{ testBranchExecutions(branchId: \"%(branch)s\") { id } }",
    "updateTestCase": f"mutation {{ updateTestCase(id: \"%(case)s\", input: {CASE}) {{ id }} }}",
    "deleteTestCase": "mutation { deleteTestCase(id: \"%(case)s\") }",
    "runTestCase": "mutation { runTestCase(input: {testCaseId: \"%(case)s\"}) { passed } }",
    "batchRunTests": "mutation { batchRunTests(input: {promptId: \"mood\", testCaseIds: [\"%(case)s\"]}) { passed } }",
    "updateExpectedOutput": "mutation { updateExpectedOutput(testCaseId: \"%(case)s\", output: \"y\") { id } }",
    "createTestBranch": f"mutation {{ createTestBranch(input: {BRANCH}) {{ id }} }}",
    "updateTestBranch": f"mutation {{ updateTestBranch(id: \"%(branch)s\", input: {BRANCH % WHOLE}) {{ id }} }}",
    "deleteTestBranch": "mutation { deleteTestBranch(id: \"%(branch)s\") }",
    "runABTest": "mutation { runABTest(input: {testCaseId: \"%(case)s\", branchIds: [\"branch/fast\", \"slow\"]}) { runId } }",
}  # fmt: skip
RECORDS_OWN = f"there is no test-case '{WHOLE['case'][:LONG]}'"
"""A new branch is refused as every record is whose field names what is not there."""
MAKES = {"createTestCase", "createPromptVersion"}
"""Mutations that name a prompt alone, which they may begin."""


@asynccontextmanager
async def shop(folder: Path) -> AsyncGenerator[Api]:
    """The API over a store with a case of the prompt, and two branches of it."""
    async with served(folder) as api:
        case: Json = {"name": "r", "inputs": {"text": "r"}, "expectedOutputs": {"output": "yes"}, "promptId": "mood"}
        branch: Json = {"testCaseId": WHOLE["case"], "name": "b", "provider": "openai", "model": "m"}
        made = [minion(WHOLE["case"], "test-case", **case)]
        made += [minion(ident, "test-branch", **branch) for ident in (WHOLE["branch"], "slow")]
        await save(api.engine, made)
        yield api


def beginnings() -> dict[str, str]:
    return {name: whole[:LONG] if name in {"case", "branch"} else whole for name, whole in WHOLE.items()}


@pytest.mark.parametrize("field", DOCUMENTS)
async def test_an_id_by_its_beginning_in_a_document(tmp_path: Path, field: str) -> None:
    document = DOCUMENTS[field]
    async with shop(tmp_path) as api:
        short = gql(document % beginnings())
        if document.startswith("mutation"):
            with pytest.raises(TransportQueryError) as caught:
                await api.client.execute(short)
            assert caught.value.errors
            message = caught.value.errors[0]["message"]
            named = [f"did you mean '{WHOLE[name]}'" for name in ("case", "branch")]
            assert any(sentence in message for sentence in [*named, RECORDS_OWN]), message
        else:
            assert await api.client.execute(short) == await api.client.execute(gql(document % WHOLE))


def test_every_query_and_mutation_that_names_a_record_is_tried() -> None:
    def names_one(kind: Any) -> bool:
        inner = cast("object", get_named_type(kind))
        if not isinstance(inner, GraphQLInputObjectType):
            return inner is GraphQLID
        return any(names_one(part.type) or name.endswith(("Id", "Ids")) for name, part in inner.fields.items())

    assert SCHEMA.query_type
    assert SCHEMA.mutation_type
    fields = {**SCHEMA.query_type.fields, **SCHEMA.mutation_type.fields}
    naming = {name for name, field in fields.items() if any(names_one(part.type) for part in field.args.values())}
    assert naming - MAKES == DOCUMENTS.keys()


def named_by(verb: Verb[Any]) -> dict[str, str]:
    """The fields of the verb's payload that name a record, with which of ours."""
    kinds = {"test-case": "case", "test-branch": "branch"}
    marks = {name: names_in(info.annotation, info.metadata) for name, info in verb.payload.model_fields.items()}
    return {name: kinds[mark.kinds[0]] for name, mark in marks.items() if mark and mark.kinds[0] in kinds}


FULL: dict[str, dict[str, Any]] = {
    "create-test-branch": {"name": "n", "provider": "openai", "model": "m", "branchId": "new"},
    "update-test-case": {"name": "n"},
    "update-expected-output": {"output": "y"},
    "update-test-branch": {"name": "n"},
    "batch-run-tests": {"promptId": "mood"},
    "run-ab-test": {"branchIds": ["branch/fast", "slow"]},
    "get-test-cases": {"promptId": "mood"},
}
"""What a message says besides."""


@pytest.mark.parametrize("kind", [kind for kind, verb in VERBS.items() if named_by(verb)])
async def test_an_id_by_its_beginning_in_a_message(tmp_path: Path, kind: str) -> None:
    verb = VERBS[kind]
    camel = {"test_case_id": "testCaseId", "branch_id": "branchId", "test_case_ids": "testCaseIds"}
    field, ours = next((name, ours) for name, ours in named_by(verb).items() if name in camel)
    whole = WHOLE[ours]

    def payload(ident: str) -> Any:
        given = [ident] if field.endswith("s") else ident
        return verb.payload.model_validate({**FULL.get(kind, {}), camel[field]: given})

    async with shop(tmp_path) as api:
        asking = VerbContext("key", "made", "ada", None)
        if kind.startswith("get-"):
            assert await verb.answered(api.engine, payload(whole[:LONG]), asking) == await verb.answered(
                api.engine, payload(whole), asking
            )
            return
        if kind == "create-test-branch":
            with pytest.raises(InvalidRecordError, match=RECORDS_OWN):
                await verb.answered(api.engine, payload(whole[:LONG]), asking)
            return
        with pytest.raises(NotFoundError) as caught:
            await verb.answered(api.engine, payload(whole[:LONG]), asking)
        assert (await with_near_ids(api.engine, caught.value)).near == (whole,)


def test_every_reading_verb_is_marked_so() -> None:
    assert {kind for kind, verb in VERBS.items() if verb.reads} == {kind for kind in VERBS if kind.startswith("get-")}
    assert replace(VERBS["get-test-case"], reads=False) != VERBS["get-test-case"]

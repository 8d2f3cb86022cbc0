"""Documents and bodies made to cost the server more than they cost their sender."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx2
import pytest

from tests.hang import HANG_S
from tests.server.graphql.test_graphql import served

CPU_S = 2.0


def bomb(fragments: int, *, root: str = "Query", leaf: str = "__typename") -> str:
    """Fragments that spread the one before twice: 2 to the power of their number of fields."""
    spread = "".join(f" fragment F{n} on {root} {{ ...F{n - 1} ...F{n - 1} }}" for n in range(1, fragments))
    return f"{{ ...F{fragments - 1} }} fragment F0 on {root} {{ {leaf} }}{spread}"


DOCUMENTS = {
    "spread twice": bomb(30),
    "spread twice, with aliases": bomb(30, leaf='a: testCases(promptId: "x") { id }'),
    "spread by nobody": "{ __typename }" + bomb(30).partition("}")[2],
    "inside inline fragments": bomb(30).replace("...F0 ...F0", "... on Query { ...F0 } ... { ...F0 }"),
    "in every operation": " ".join(f"query Q{n} {{ ...F9 }}" for n in range(20)) + bomb(10).partition("}")[2],
    "deep by fragments": "{ a: __schema { types { ...F } } } fragment F on __Type { "
    + "ofType { " * 40
    + "name"
    + " }" * 41,
    "a chain of fragments": "{ ...F0 } " + " ".join(f"fragment F{n} on Query {{ ...F{n + 1} }}" for n in range(190)),
    "spreads itself": "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }",
    "the same field": "{ " + "__typename " * 1900 + "}",
    "nested brackets": "{ a" * 900 + " }" * 900,
    "nested lists": "{ testCase(id: " + "[" * 900 + "]" * 900 + ") { id } }",
    "only brackets": "{" * 1999,
    "aliases": "{ " + " ".join(f"a{n}: __typename" for n in range(400)) + " }",
    "many tokens": "{ " + "a " * 500_000 + "}",
    "one long name": "{ " + "a" * 1_000_000 + " }",
    "one long string": '{ testCase(id: "' + "a" * 1_000_000 + '") { id } }',
    "an open block string": '{ testCase(id: """' + "a" * 1_000_000,
}
BODIES: dict[str, bytes] = {
    "null": b"null",
    "number": b"1",
    "text": b'"x"',
    "list": b"[1, null, [[]]]",
    "empty list": b"[]",
    "nothing": b"",
    "no query": b"{}",
    "query is null": b'{"query": null}',
    "query is a number": b'{"query": 1}',
    "query is a list": b'{"query": ["{ __typename }"]}',
    "operation is a number": b'{"query": "{ __typename }", "operationName": 1}',
    "operation is an object": b'{"query": "{ __typename }", "operationName": {}}',
    "unknown operation": b'{"query": "{ __typename }", "operationName": "X"}',
    "variables are a list": b'{"query": "{ __typename }", "variables": [1]}',
    "variables are a text": b'{"query": "{ __typename }", "variables": "{}"}',
    "deep": b"[" * 500_000,
    "deep variables": b'{"query": "{ __typename }", "variables": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}",
    "deeper variables": b'{"query": "{ __typename }", "variables": {"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}",
    "not UTF-8": b'{"query": "{ __typename } # \xff"}',
    "UTF-16": '{"query": "{ __typename }"}'.encode("utf-16"),
    "half a character": b'{"query": "query($i: ID!) { testCase(id: $i) { id } }", "variables": {"i": "\\ud800"}}',
    "half a character as text": b'{"query": "{ testCase(id: \\"\\ud800\\") { id } }"}',
    "a NUL": b'{"query": "{ testCase(id: \\"a\\\\u0000b\\") { id } }"}',
    "a huge number": b'{"query": "{ __typename }", "variables": {"a": ' + b"9" * 100_000 + b"}}",
    "a huge number as an argument": b'{"query": "{ testCaseExecutions(testCaseId: \\"a\\", limit: '
    + b"9" * 50
    + b') { id } }"}',
    "extensions are a text": b'{"query": "{ __typename }", "extensions": "x"}',
    "two keys": b'{"query": "{ __typename }", "query": 1}',
}


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_document_costs_little_however_it_is_made(tmp_path: Path, name: str) -> None:
    async with served(tmp_path) as api, httpx2.AsyncClient(timeout=HANG_S) as client:
        await client.post(api.url, json={"query": "{ __typename }"})
        began = time.process_time()
        answer = await client.post(api.url, json={"query": DOCUMENTS[name]})
        took = time.process_time() - began
        assert answer.status_code in {200, 400}, answer.text
        if answer.status_code == 200:
            assert answer.json()["errors"][0]["extensions"]["code"] in {"bad-document", "not-found"}
        assert took < CPU_S
        assert (await client.post(api.url, json={"query": "{ __typename }"})).json()["data"] == {"__typename": "Query"}


@pytest.mark.parametrize("name", BODIES)
async def test_no_body_breaks_the_server(tmp_path: Path, name: str) -> None:
    async with served(tmp_path) as api, httpx2.AsyncClient(timeout=HANG_S) as client:
        answer = await client.post(api.url, content=BODIES[name], headers={"content-type": "application/json"})
        assert answer.status_code in {200, 400}, answer.text
        assert "internal-error" not in answer.text
        assert answer.text


async def test_a_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as api, httpx2.AsyncClient(timeout=HANG_S) as client:
        large = json.dumps({"query": "{ __typename }", "variables": {"a": "x" * 4_000_000}})
        answer = await client.post(api.url, content=large, headers={"content-type": "application/json"})
        assert answer.status_code == 413

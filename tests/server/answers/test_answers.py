"""Answers fit: the summary first, whole pages, what is cut is said, nothing over the cap whatever comes."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import TextContent
from pydantic import ConfigDict, JsonValue

from minions_evals_mcp.server.answers.sizes import BUDGETS, Pages, Shape, answered, clipped, fitted
from minions_evals_mcp.server.edge.answer import ToolAnswer
from minions_evals_mcp.server.edge.argument_types import Detail
from tests.shared.server.hosts import Host, part, rows, suite, text_of, tokens_in
from tests.workshop import Json

CAP = 40_000
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=30), inner, max_size=30),
    max_leaves=60,
)


class Anything(ToolAnswer):
    """An answer that says anything."""

    model_config = ConfigDict(extra="allow")


@given(
    told=st.dictionaries(st.text(max_size=20).map("x{}".format), VALUES, max_size=8),
    detail=st.sampled_from(["summary", "full"]),
)
@settings(max_examples=25, deadline=None)
def test_no_answer_is_over_its_budget(told: Json, detail: Detail) -> None:
    result = answered(Anything.model_validate({**told, "summary": "s"}), shape=Shape(detail))
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert len(text.text) <= BUDGETS[detail].size
    assert len(result.model_dump_json(by_alias=True)) <= CAP


@pytest.mark.parametrize(
    "value", ["x" * 10**6, '"\\' * 10**5, [["deep"] * 200] * 200, {str(n): n for n in range(10**4)}]
)
def test_one_value_of_any_size_is_cut_to_the_cap_and_said_to_be(value: JsonValue) -> None:
    result = answered(Anything.model_validate({"summary": "s", "value": value}), shape=Shape("full"))
    assert cast("Json", result.structured_content)["truncated"] is True
    assert len(result.model_dump_json(by_alias=True)) <= CAP


def test_pages_end_between_entries_and_the_cursor_goes_on_there() -> None:
    told: Json = {"summary": "s", "rows": [{"n": n, "text": "word " * 40} for n in range(50)]}
    seen: list[int] = []
    offset = 0
    while True:
        left: Json = {**told, "rows": cast("list[JsonValue]", told["rows"])[offset:]}
        page = fitted(left, BUDGETS["summary"], offset=offset, pages=Pages(("rows",)))
        seen.extend(cast("int", one["n"]) for one in cast("list[Json]", page["rows"]))
        if "nextCursor" not in page:
            break
        assert int(cast("str", page["nextCursor"])) > offset
        offset = int(cast("str", page["nextCursor"]))
    assert seen == list(range(50))


def test_a_verdict_and_the_next_call_are_whole_where_the_rest_is_cut() -> None:
    call = f'get_record {{"id": "{"a" * 60}:1.1:failure"}}'
    said = "16 of 26 passed, eight cases got worse, " * 6
    told: Json = {"summary": said, "next": [call, call], "words": {str(n): "word " * 50 for n in range(40)}}
    shown = fitted(told, BUDGETS["summary"])
    assert (shown["summary"], shown["next"]) == (said, [call, call])
    assert "characters)" in str(shown["words"])


def test_what_is_cut_says_how_much_is_missing() -> None:
    assert clipped("abc" + 30 * "d", 3, 9) == "abc… (+30 characters)"
    assert clipped("abcdef", 3, 9) == "abcdef", "what is missing would take longer to say"
    assert clipped([1, 2, 3], 9, 2) == [1, 2, "… (+1 more)"]
    nested: JsonValue = "x"
    for _ in range(40):
        nested = {"a": nested}
    assert "… (1 entries)" in json.dumps(clipped(nested, 9, 9), ensure_ascii=False)


async def test_a_usual_answer_costs_less_than_2000_tokens(host: Host) -> None:
    records = suite(60, bad=60)
    await host.call("save_records", records=records)
    for tool, asked in (
        ("run_benchmark", {"benchmarkId": "b", "waitSeconds": 50, "idempotencyKey": "k"}),
        ("get_run", {"runId": "k", "limit": 100}),
        ("classify_failure", {"id": "k", "limit": 50}),
        ("list_records", {"type": "test-run", "limit": 100}),
        ("list_records", {"type": "eval-judgment", "limit": 100}),
        ("detect_trend", {"benchmarkId": "b"}),
    ):
        result = await host.raw(tool, **cast("Json", asked))
        assert not result.is_error, text_of(result)
        assert tokens_in(text_of(result)) < 2_000, tool


async def test_every_record_is_reached_page_by_page(host: Host) -> None:
    await host.call("save_records", records=suite(70))
    seen: list[JsonValue] = []
    asked: Json = {"type": "test-case", "limit": 100, "detail": "full"}
    while True:
        page = await host.call("list_records", **asked)
        seen.extend(one["id"] for one in rows(page, "records"))
        if "nextCursor" not in page:
            break
        asked["cursor"] = page["nextCursor"]
    assert seen == [f"c{n}" for n in range(70)]


async def test_every_failure_is_reached_page_by_page(host: Host) -> None:
    await host.call("save_records", records=suite(40, bad=33))
    page = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
    seen = [one["testCaseId"] for one in rows(page, "failures")]
    while "nextCursor" in page:
        page = await host.call("get_run", runId=page["runId"], cursor=page["nextCursor"], limit=20)
        seen += [one["testCaseId"] for one in rows(page, "failures")] if "failures" in page else []
    assert len(seen) == len(set(map(str, seen))) == 33


async def test_a_long_record_is_read_in_parts(host: Host) -> None:
    text = "ünïcode " * 9_000
    await host.call(
        "save_records",
        records=[{"id": "p@1", "type": "prompt-version", "fields": {"content": text, "versionNumber": 1}}],
    )
    found = await host.call("get_record", id="p@1", detail="full")
    assert found["truncated"] is True
    whole, cursor = "", found["nextCursor"]
    while cursor is not None:
        one = await host.call("get_record", id="p@1", cursor=cursor)
        whole += str(one["part"])
        cursor = one.get("nextCursor")
    assert part(cast("Json", json.loads(whole)), "fields")["content"] == text


async def test_fields_choose_what_is_shown(host: Host) -> None:
    await host.call("save_records", records=suite(2))
    await host.call("run_benchmark", benchmarkId="b", waitSeconds=50, idempotencyKey="k")
    assert set(await host.call("get_run", runId="k", fields=["state"])) == {"summary", "state", "next"}
    found = part(await host.call("get_record", id="c0", fields=["inputs"]), "record")
    assert found == {"id": "c0", "type": "test-case", "fields": {"inputs": {"q": "c0"}}}
    listed = rows(await host.call("list_records", type="test-case", fields=["inputs", "title"]), "records")
    assert listed[0] == {"id": "c0", "title": "c0", "inputs": {"q": "c0"}}

"""The bulk door: a JSON row in, a verdict or an error out."""

from __future__ import annotations

import io
import json
import os

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.embedding.local import wordllama_embedder
from minions_evals_mcp.engine.judge.door import Judges
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.score_rows import CHUNK, RowTally, answers, batches, read_row, rows_of
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from minions_evals_mcp.scoring.checks import NO_EVIDENCE
from tests.hang import HANG_S

CONTAINS: JsonValue = [{"type": "contains", "value": "Paris"}]


NONE: JsonValue = {}
BAD_PATTERN: JsonValue = [{"type": "regex", "value": "("}]
MISSPELT: JsonValue = [{"type": "contains", "value": "x", "wieght": 2}]


def row(**fields: JsonValue) -> str:
    return json.dumps({"id": "1", "output": "Paris", "assert": CONTAINS, **fields})


async def told(*lines: str | bytes) -> tuple[list[dict[str, JsonValue]], RowTally]:
    tally = RowTally()
    async with RegexSandbox() as regexes, Snippets() as snippets:
        judges = Judges(regexes, snippets, wordllama_embedder)
        with anyio.fail_after(HANG_S):
            source = io.BytesIO(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
            found = [one for batch in batches(source) for one in await answers(rows_of(batch), judges, tally)]
    return found, tally


async def test_a_row_is_answered_with_each_check_and_the_aggregate() -> None:
    checks: JsonValue = [{"type": "contains", "value": "Paris"}, {"type": "equals", "value": "Rome", "weight": 3}]
    ((found,), tally) = await told(row(**{"assert": checks}))
    assert found == {
        "id": "1",
        "pass": False,
        "score": 0.25,
        "results": [
            {"type": "contains", "pass": True, "score": 1.0, "reason": "contains 'Paris'"},
            {"type": "equals", "pass": False, "score": 0.0, "reason": "'Paris' does not equal 'Rome'"},
        ],
    }
    assert (tally.rows, tally.passed, tally.errors) == (1, 0, 0)


@pytest.mark.parametrize(("threshold", "passes"), [(0.25, True), (0.26, False), (0.0, True)])
async def test_a_threshold_decides_by_the_aggregate_inclusively(threshold: float, passes: bool) -> None:
    checks: JsonValue = [{"type": "contains", "value": "Paris"}, {"type": "equals", "value": "Rome", "weight": 3}]
    ((found,), _) = await told(row(**{"assert": checks, "threshold": threshold}))
    assert found["pass"] is passes


@pytest.mark.parametrize(
    ("output", "passes"), [({"output": "in Paris", "other": "x"}, True), (["Paris"], True), (7, False), (None, False)]
)
async def test_the_text_of_an_output_is_found_in_records_too(output: JsonValue, passes: bool) -> None:
    ((found,), _) = await told(row(output=output))
    assert found["pass"] is passes


async def test_latency_is_checked_where_it_is_given_and_an_error_where_it_is_not() -> None:
    limit: JsonValue = [{"type": "latency", "threshold": 100}]
    found, tally = await told(row(**{"assert": limit, "latencyMs": 100}), row(**{"assert": limit}))
    assert found[0]["pass"] is True
    assert "score" not in found[1]
    assert "latency" in str(found[1]["error"])
    assert tally.errors == 1


async def test_a_bad_row_is_named_by_id_and_line_and_stops_no_other() -> None:
    unknown: JsonValue = [{"type": "nosuch"}]
    lines = (row(), "", "{bad", row(id="3", **{"assert": unknown}), b"\xff\xfe", row(id="5"))
    found, tally = await told(*lines)
    assert [one["id"] for one in found] == ["1", "", "3", "", "5"]
    assert ["error" in one for one in found] == [False, True, True, True, False]
    assert str(found[1]["error"]).startswith("line 3: no JSON")
    assert str(found[2]["error"]).startswith("line 4: assert.0: unknown assertion type 'nosuch'")
    assert (tally.rows, tally.passed, tally.errors) == (5, 2, 3)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "a row is a JSON object"),
        (row(expected="x"), "expected: unknown key; known are"),
        (json.dumps({"id": "1", "assert": []}), "output: is missing"),
        (json.dumps({"id": "1", "output": "x"}), "assert: is missing"),
        (row(threshold="x"), "threshold: must be a number"),
        (json.dumps({"id": "1", "output": "x", "assert": []}), "assert: is empty, so nothing would be checked"),
        (row(latencyMs=True), "latencyMs: must be a number"),
        (row(cost=-1), "cost: must be a number from 0"),
        (row(id=[1]), "id: must be a string or a number"),
        (row(**{"assert": NONE}), "assert"),
        (row(**{"assert": BAD_PATTERN}), "assert.0"),
        (row(**{"assert": MISSPELT}), "assert.0.wieght"),
        (row(cost=float("nan")), "no JSON"),
        ('{"id": "1", "output": "\\ud800", "assert": []}', "no JSON"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_row_is_refused_with_the_field(line: str, said: str) -> None:
    with pytest.raises(InvalidRecordError) as found:
        read_row(line)
    assert said in str(found.value)


async def test_a_pattern_that_would_run_for_ever_ends_and_the_next_row_is_checked() -> None:
    slow: JsonValue = [{"type": "regex", "value": r"^(?:(?=(a+))\1?)*(a|aa)+\2$"}]
    found, _ = await told(row(id="slow", output="a" * 60 + "!", **{"assert": slow}), row(id="next"))
    assert found[0].get("pass") is not True
    assert found[1]["pass"] is True


def test_so_many_rows_are_in_memory_at_once() -> None:
    line = row().encode() + b"\n"
    count = CHUNK // len(line) * 3
    taken = [len(batch) for batch in batches(io.BytesIO(line * count))]
    assert sum(taken) == count
    assert max(taken) <= CHUNK // len(line) + 1


async def test_a_producer_that_waits_for_each_verdict_is_answered() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb", buffering=0) as sink:
        found = batches(source)
        for number in range(3):
            sink.write(row(id=str(number)).encode() + b"\n")
            ((line, _),) = next(found)
            assert line == number + 1


@pytest.mark.parametrize("field", ["threshold", "latencyMs", "cost"])
def test_a_number_that_no_float_holds_is_refused_and_stops_no_other_row(field: str) -> None:
    plain = '{"id":"2","output":"a","assert":[{"type":"contains","value":"a"}]}'
    huge = f'{plain[:-1]},"{field}":1{"0" * 400}}}'
    rows = rows_of([(1, huge.replace('"2"', '"1"', 1)), (2, plain)])
    first, second = (row.answer(NO_EVIDENCE) for row in rows)
    assert first == {"id": "1", "error": f"line 1: {field}: is too large a number"}
    assert (second["id"], second["pass"]) == ("2", True)

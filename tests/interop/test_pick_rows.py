"""The bulk door of max-score: outputs with their checks in, the selected one out."""

from __future__ import annotations

import json

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.embedding.local import wordllama_embedder
from minions_evals_mcp.engine.judge.door import Judges
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.pick_rows import read_pick_row
from minions_evals_mcp.interop.score_rows import RowTally, answers, rows_of
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.sandbox.snippets import Snippets
from tests.hang import HANG_S

PARIS: JsonValue = {"type": "contains", "value": "Paris"}
FRANCE: JsonValue = {"type": "icontains", "value": "france"}
MAX: JsonValue = {"type": "max-score"}
BEST: JsonValue = {"type": "select-best", "value": "the nicest"}
OUTPUTS: list[JsonValue] = ["Rome", "Paris, France", "Paris"]


def row(outputs: JsonValue, *checks: JsonValue, **fields: JsonValue) -> str:
    return json.dumps({"id": "1", "outputs": outputs, "assert": list(checks), **fields})


async def told(*lines: str) -> tuple[list[dict[str, JsonValue]], RowTally]:
    tally = RowTally()
    async with RegexSandbox() as regexes, Snippets() as snippets:
        judges = Judges(regexes, snippets, wordllama_embedder)
        with anyio.fail_after(HANG_S):
            return await answers(rows_of([*enumerate(lines, 1)], read_pick_row), judges, tally), tally


async def one(line: str) -> dict[str, JsonValue]:
    ((answer,), _) = await told(line)
    return answer


async def test_a_row_is_answered_with_the_selection_the_aggregates_and_the_reasons() -> None:
    assert await one(row(OUTPUTS, PARIS, FRANCE, MAX)) == {
        "id": "1",
        "selected": 1,
        "scores": [0.0, 1.0, 0.5],
        "reasons": [
            "not selected: score 0, the highest is 1",
            "selected: score 1 is the highest of 3",
            "not selected: score 0.5, the highest is 1",
        ],
        "namedScores": [{"maxScore": score, "assertionCount": 2, "totalWeight": 2.0} for score in (0.0, 1.0, 0.5)],
    }


async def test_the_average_decides_where_no_max_score_says_how() -> None:
    assert await one(row(OUTPUTS, PARIS, FRANCE)) == await one(row(OUTPUTS, PARIS, FRANCE, MAX))


async def test_below_the_threshold_none_is_selected_and_that_is_no_error() -> None:
    strict: JsonValue = {"type": "max-score", "value": {"threshold": 0.75}}
    found, tally = await told(row(["Rome", "Paris"], PARIS, FRANCE, strict), row(OUTPUTS, PARIS, FRANCE, strict))
    assert [answer["selected"] for answer in found] == [None, 1]
    assert (tally.rows, tally.passed, tally.errors) == (2, 1, 0)


async def test_weights_are_by_type_whatever_an_assertion_says_of_its_own() -> None:
    checks: list[JsonValue] = [
        {"type": "contains", "value": "Paris", "weight": 100},
        {"type": "icontains", "value": "rome"},
        {"type": "max-score", "value": {"weights": {"icontains": 3}, "method": "sum"}},
    ]
    assert (await one(row(["Paris", "Rome"], *checks)))["scores"] == [1.0, 3.0]


async def test_members_of_a_set_count_each_under_its_own_type_and_the_set_does_not() -> None:
    both: JsonValue = {
        "type": "assert-set",
        "threshold": 1,
        "assert": [PARIS, {"type": "assert-set", "assert": [FRANCE]}],
    }
    weighted: JsonValue = {"type": "max-score", "value": {"weights": {"contains": 3, "assert-set": 9}}}
    assert (await one(row(OUTPUTS, both, weighted)))["scores"] == [0.0, 1.0, 0.75]


async def test_a_set_turned_round_counts_as_one() -> None:
    neither: JsonValue = {"type": "not-assert-set", "threshold": 0.1, "assert": [PARIS, FRANCE]}
    assert (await one(row(OUTPUTS, neither)))["scores"] == [1.0, 0.0, 0.5]


async def test_a_value_that_is_a_list_is_read_as_in_score() -> None:
    both: JsonValue = {"type": "contains-all", "value": ["Paris", "France"]}
    assert (await one(row(OUTPUTS, both)))["scores"] == [0.0, 1.0, 0.0]


async def test_of_equals_the_first_is_selected_and_index_0_counts_as_selected() -> None:
    found, tally = await told(row(["Paris", "Paris"], PARIS))
    assert found[0]["selected"] == 0
    assert tally.passed == 1


async def test_the_least_bad_of_failing_outputs_is_selected() -> None:
    assert (await one(row(["Rome", "Lyon, France"], PARIS, FRANCE)))["selected"] == 1


async def test_a_single_output_or_no_other_assertion_is_an_error_that_stops_no_other_row() -> None:
    lines = (
        row(["Paris"], PARIS, id="single"),
        row([], PARIS, id="none"),
        row(OUTPUTS, MAX, id="alone"),
        row(OUTPUTS, MAX, BEST, id="two that choose"),
        row(OUTPUTS, PARIS, id="good"),
    )
    found, tally = await told(*lines)
    assert [answer["id"] for answer in found] == ["single", "none", "alone", "two that choose", "good"]
    assert [answer.get("error") for answer in found] == [
        *["max-score: requires at least two outputs to choose from"] * 2,
        *["max-score: requires at least one assertion to aggregate besides max-score and select-best"] * 2,
        None,
    ]
    assert (tally.rows, tally.passed, tally.errors) == (5, 1, 4)


async def test_select_best_in_the_same_row_changes_nothing() -> None:
    assert await one(row(OUTPUTS, PARIS, FRANCE, BEST, MAX)) == await one(row(OUTPUTS, PARIS, FRANCE, MAX))


async def test_latency_counts_where_an_output_says_how_long_it_took() -> None:
    fast: JsonValue = {"type": "latency", "threshold": 1000}
    measured: JsonValue = [{"output": "Paris", "latencyMs": 1500}, {"output": "Paris", "latencyMs": 900, "cost": 0.1}]
    assert (await one(row(measured, PARIS, fast)))["scores"] == [0.5, 1.0]
    unmeasured = await one(row(["Paris", "Paris"], PARIS, fast))
    assert str(unmeasured["error"]).startswith("outputs.0: latency: ")
    assert "selected" not in unmeasured


async def test_an_output_that_is_a_record_is_read_by_its_text() -> None:
    records: JsonValue = [{"output": "Rome", "cost": 0.1, "note": "Paris"}, {"text": "Paris"}, {"a": 1}]
    assert (await one(row(records, PARIS)))["scores"] == [0.0, 1.0, 0.0]


async def test_a_pattern_that_only_the_sandbox_can_search_is_searched_for_each_output() -> None:
    behind: JsonValue = {"type": "regex", "value": "(?<=in )Paris"}
    assert (await one(row(["Paris", "in Paris"], behind)))["selected"] == 1


def check(type: str, **fields: JsonValue) -> JsonValue:  # noqa: A002  the key's name
    return {"type": type, **fields}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "a row is a JSON object"),
        (row(OUTPUTS, PARIS, threshold=0.5), "threshold: unknown key; known are assert, id, outputs"),
        (json.dumps({"id": "1", "assert": []}), "outputs: is missing"),
        (json.dumps({"id": "1", "outputs": []}), "assert: is missing"),
        (row("Paris", PARIS), "outputs: must be a list"),
        (json.dumps({"outputs": [], "assert": {}}), "assert: must be a list"),
        (row(OUTPUTS, PARIS, id=[1]), "id: must be a string or a number"),
        (row(OUTPUTS, PARIS, "x"), "assert.1: must be an object"),
        (row(OUTPUTS, PARIS, MAX, MAX), "assert.2: a second max-score"),
        (row(OUTPUTS, check("max-score", value={"method": "best"})), "assert.0.value.method: "),
        (row(OUTPUTS, check("max-score", threshold=1)), "assert.0.threshold: belongs in the value"),
        (row(OUTPUTS, check("max-score", valeu={})), "assert.0.valeu: "),
        (row(OUTPUTS, check("select-best", valeu="x")), "assert.0.valeu: "),
        (row([{"output": "x", "cost": "dear"}], PARIS), "cost: must be a number"),
    ],
)
def test_what_is_no_row_is_refused_with_the_field(line: str, said: str) -> None:
    with pytest.raises(InvalidRecordError) as found:
        read_pick_row(line)
    assert said in str(found.value)

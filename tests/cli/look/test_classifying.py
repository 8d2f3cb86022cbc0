"""`classify` where a model is asked: what it would cost, and a cap that holds."""

from __future__ import annotations

from typing import cast

import anyio.to_thread
import pytest
from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Ended, Terminal
from tests.shared.fakes.llm_server import Server

MODEL = "anthropic:claude-haiku-4-5-judge"
UNSURE = "Part one is done. It took a day. Part two is another matter. I cannot help with that. Part three is done. See the log."


async def test_a_dry_run_tells_the_bound_and_a_cap_keeps_what_was_analysed_by_then(
    at: Terminal, server: Server
) -> None:
    at = at.with_env(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url, MINIONS_EVALS_JUDGE_MODEL=MODEL)
    names = ("c", "d", "e")
    cases = [case(name) for name in names]
    name = at.file("s.json", suite(*cases, *(answer(f"a-{one}", one, UNSURE) for one in names), benchmark("b", *names)))

    def many(*commands: list[str]) -> list[Ended]:
        return at.many(*commands)

    _, _, priced, said, unasked = await anyio.to_thread.run_sync(
        many, ["import", name], ["run-benchmark", "b", "--key", "k"], ["classify", "k", "--explain", "llm", "--dry-run", "--json"],
        ["classify", "k", "--explain", "llm", "--dry-run"], ["classify", "k", "--explain", "off", "--dry-run"],
    )  # fmt: skip
    told = priced.one()
    assert (told["failures"], told["modelCalls"], told["model"]) == (3, 3, MODEL)
    assert said.out.startswith(f"3 failures, 3 calls of {MODEL}: at most $0.")
    assert unasked.out == "3 failures, no model calls, no cost\n"
    assert server.requests == 0
    cap = cast("float", told["costUsd"]) / 3 * 1.01
    (capped,) = await anyio.to_thread.run_sync(
        many, ["classify", "k", "--explain", "llm", "--max-cost-usd", f"{cap:.6f}", "--json"]
    )
    assert (capped.code, server.requests) == (3, 1)
    kept, refused = capped.rows()
    fields = cast("dict[str, object]", kept["fields"])
    assert str(fields["classifiedBy"]).startswith("rules/")
    assert cast("dict[str, object]", fields["modelCause"])["by"] == MODEL
    assert cast("dict[str, object]", refused["error"])["code"] == "stopped"


def test_an_id_that_is_not_there_is_refused_with_the_near_ones(at: Terminal) -> None:
    name = at.file("s.json", suite(case("refund"), answer("a", "refund", "red"), benchmark("quality", "refund")))
    ended = at.many(
        ["import", name], ["run-benchmark", "quality", "--key", "nightly"], ["run-benchmark", "qualty"],
        ["run-test-case", "refnd"], ["runs", "nighly"], ["show", "refnd", "--json"], ["trend", "qualty"], ["history", "refnd"],
    )[2:]  # fmt: skip
    assert [one.code for one in ended] == [2] * 6
    for one, near in zip(ended, ("quality", "refund", "nightly", "refund", "quality", "refund"), strict=True):
        assert f"did you mean '{near}'" in one.out + one.err, one


@pytest.mark.parametrize(
    ("expected", "outputs", "kind"),
    [
        ({"total": 5, "currency": "EUR"}, {"total": 5}, "format-error"),
        ({"answer": "yes", "reason": "because"}, {"answer": "yes"}, "format-error"),
        ({"a": "x", "b": "y", "c": "z"}, {"a": "x", "b": "y"}, "format-error"),
        ({"output": {"a": 1, "b": {"c": 2}}}, {"output": {"a": 1, "b": {}}}, "format-error"),
        ({"total": 5, "currency": "EUR"}, {"output": '{"total": 5, "curr'}, "format-error"),
        ({"output": "Paris"}, {"output": '{"city": "Par'}, "format-error"),
        ({"output": "Paris"}, {"output": '```json\n{"city": ["Rome", '}, "format-error"),
        ({"text": "red", "unit": "kg"}, {"text": "blue", "unit": "kg"}, "wrong-output"),
        ({"output": "Paris"}, {"output": "[1] The city is Rome"}, "wrong-output"),
        ({"output": "Paris"}, {"output": '{"city": "Rome"}'}, "wrong-output"),
    ],
)
def test_a_missing_key_and_json_that_was_cut_off_are_format_errors(
    at: Terminal, expected: dict[str, JsonValue], outputs: dict[str, JsonValue], kind: str
) -> None:
    asked = record("c", "test-case", name="c", inputs={"q": "c"}, expectedOutputs=expected)
    came = record("a", "agent-run", agentId="a", inputs={"q": "c"}, outputs=outputs)
    name = at.file("s.json", suite(asked, came))
    *_, shown = at.many(["import", name], ["run-test-case", "c", "--key", "k"], ["classify", "k", "--json"])
    (row,) = shown.rows()
    assert cast("dict[str, object]", row["fields"])["failureType"] == kind

"""What runs on record answered is tried, too: a check that one of them passes can pass, and its mutants show what is not looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.audits import Audit
from minions_evals_mcp.interop.audit.audits import audit
from tests.workshop import config_in, opened

Json = dict[str, JsonValue]


async def found(folder: Path, checks: list[Json], output: JsonValue, **run: JsonValue) -> Audit:
    """The audit of one case with a recorded answer, and no expected one."""
    inputs: Json = {"task": "Do it."}
    records: list[Json] = [
        {"id": "c", "type": "test-case", "fields": {"name": "c", "inputs": inputs, "assertions": [*checks]}},
        {
            "id": "r",
            "type": "agent-run",
            "fields": {"agentId": "a", "inputs": inputs, "outputs": {"output": output}, **run},
        },
        {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["c"]}},
    ]
    file = folder / "suite.json"
    file.write_text(json.dumps({"records": records}), "utf-8")
    async with opened(config_in(folder)) as engine:
        return (await audit(engine, file, keep=False)).fields


SCHEMA: Json = {
    "type": "object", "required": ["class"], "properties": {"class": {"enum": ["refund", "status"]}, "order": {"type": "integer"}}
}  # fmt: skip


async def test_a_check_that_an_answer_on_record_passes_is_not_one_that_never_passes(tmp_path: Path) -> None:
    twice: list[Json] = [
        {"type": "regex", "value": "^(?=.*\\bfloors?\\b)(?=.*\\b2\\b)(?=.*\\b5\\b)(?!.*\\b9\\b).{5,30}$"}
    ]
    assert "never-passes" not in (await found(tmp_path, twice, "floors 2 and 5")).findings


async def test_a_check_that_has_a_verdict_on_right_answers_alone_is_not_one_that_never_fails(tmp_path: Path) -> None:
    ranked: list[Json] = [
        {"type": "retrieval", "value": {"metric": metric, "relevant": ["returns", "software"]}, "threshold": 1}
        for metric in ("recall", "precision")
    ]
    assert "never-fails" not in (await found(tmp_path, ranked, '["returns", "software"]')).findings


@pytest.mark.parametrize(
    ("checks", "output", "survived"),
    [
        ([{"type": "is-json", "value": SCHEMA}], '{"class": "refund", "order": 12}', {"name", "number"}),
        ([{"type": "is-json", "value": SCHEMA}, {"type": "contains", "value": '"refund", "order": 12'}],
         '{"class": "refund", "order": 12}', set[str]()),
        ([{"type": "regex", "value": "^\\d+ ?km$"}], "12 km", {"number"}),
        ([{"type": "icontains", "value": "returned within"}],
         "It can be returned within 30 days, as Anna wrote on 4 March; the label is in the box.", set[str]()),
        ([{"type": "contains", "value": "12 km"}, {"type": "contains", "value": "no such text"}], "12 km", set[str]()),
    ],
    ids=["classes", "decided", "figure", "prose says more than was asked for", "does not pass itself"],
)  # fmt: skip
async def test_mutants_of_an_answer_on_record_are_named_and_are_no_part_of_the_score(
    tmp_path: Path, checks: list[Json], output: str, survived: set[str]
) -> None:
    audited = await found(tmp_path, checks, output)
    (case,) = audited.cases
    assert set(case.mutants_survived) == survived
    assert (audited.mutant_count, audited.mutation_score) == (0, None)
    assert "no-reference" in audited.findings, "somebody must say what is right"


async def test_an_erased_answer_is_not_tried(tmp_path: Path) -> None:
    (case,) = (await found(tmp_path, [{"type": "icontains", "value": "forgotten"}], "forgotten@2026-11-29")).cases
    assert case.mutants_survived == ()


async def test_of_a_failed_run_and_of_a_conversation_no_mutant_is_made(tmp_path: Path) -> None:
    checks: list[Json] = [{"type": "regex", "value": "km$"}]
    (failed,) = (await found(tmp_path, checks, "12 km", status="failed")).cases
    said: list[JsonValue] = [{"role": "user", "content": "How far?"}, {"role": "assistant", "content": "12 km"}]
    (talk,) = (await found(tmp_path, checks, "12 km", outputs={"output": "12 km", "messages": said})).cases
    assert (failed.mutants_survived, talk.mutants_survived) == ((), ())


async def test_an_empty_object_is_an_empty_answer_where_json_is_asked_for(tmp_path: Path) -> None:
    free: Json = {"type": "object", "properties": {"name": {"type": "string"}}}
    (case,) = (await found(tmp_path, [{"type": "is-json", "value": free}], '{"name": "Lena"}')).cases
    assert case.cheats_passed == ("empty",)

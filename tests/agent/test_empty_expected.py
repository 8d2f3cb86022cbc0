"""An empty expected output is refused by name in messages, as at every other interface."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.messages.payloads import kind_of, payload_as
from minions_evals_mcp.messages.testing_api import VERBS
from tests.shared.agent.desk import Desk, message, record

CASE = record("c", "test-case", name="c", promptId="p", inputs={"q": "a"}, expectedOutputs={"output": "b"})


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("create-test-case", {"promptId": "p", "name": "n", "input": {"q": "a"}, "expectedOutput": ""}),
        ("update-test-case", {"testCaseId": "c", "expectedOutput": ""}),
        ("update-expected-output", {"testCaseId": "c", "output": ""}),
    ],
)
def test_a_message_that_expects_an_empty_text_is_refused(
    tmp_path: Path, kind: str, payload: dict[str, JsonValue]
) -> None:
    desk = Desk(tmp_path)
    desk.imported(CASE)
    desk.drained(message("asked", kind, **payload))
    ((state, reason),) = desk.rows("SELECT state, reason FROM inbox WHERE id = 'asked'")
    assert state == "dead"
    assert 'an expected output of "" matches everything' in reason
    assert desk.fields("minion", "id = 'c'")["expectedOutputs"] == {"output": "b"}


@pytest.mark.parametrize("kind", sorted(VERBS))
def test_no_verb_takes_an_empty_content_for_a_missing_one(kind: str) -> None:
    given = kind_of(kind).payload
    for name, field in given.model_fields.items():
        if field.annotation is not JsonValue or field.is_required():
            continue
        least: dict[str, JsonValue] = {
            inner.alias or key: "x" for key, inner in given.model_fields.items() if inner.is_required()
        }
        read = payload_as(given, {**least, (field.alias or name): ""}, message="m")
        assert getattr(read, name) == "", name
        assert getattr(payload_as(given, {**least, (field.alias or name): None}, message="m"), name) is None

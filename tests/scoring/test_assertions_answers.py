"""What promptfoo 0.121.20 answered to our own cases, recorded beside them; its parsers did the work, ours must agree."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pydantic import JsonValue, TypeAdapter

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.assertions import check, vet
from minions_evals_mcp.scoring.checks import Checked, Subject

ANSWERS = Path(__file__).with_name("promptfoo_answers.jsonl")
ROWS = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
CALLS = TypeAdapter(tuple[ToolCall, ...])
TYPES = sorted({row["type"].removeprefix("not-") for row in ROWS})


def asked(row: dict[str, JsonValue]) -> tuple[bool, float]:
    """Our pass and score for a recorded case."""
    assertion = Assertion.model_validate_json(
        json.dumps({key: row[key] for key in ("type", "value", "threshold") if key in row})
    )
    vet(assertion)
    calls = CALLS.validate_json(json.dumps(row.get("tool_calls", [])))
    reason = row.get("finish_reason")
    subject = Subject(str(row["output"]), tool_calls=calls, finish_reason=reason if isinstance(reason, str) else None)
    found = check(assertion, subject)
    assert isinstance(found, Checked)
    return found.passed, found.score


@pytest.mark.parametrize("kind", TYPES)
def test_we_pass_and_score_as_promptfoo_does(kind: str) -> None:
    for row in ROWS:
        if row["type"].removeprefix("not-") == kind:
            assert asked(row) == (row["pass"], pytest.approx(row["score"], abs=1e-6)), row


def test_every_type_of_this_step_has_recorded_answers_of_both_kinds() -> None:
    assert len(TYPES) == 15
    both = Counter((row["type"].removeprefix("not-"), row["pass"]) for row in ROWS)
    assert all(both[kind, passed] > 5 for kind in TYPES for passed in (True, False))

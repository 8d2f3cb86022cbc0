"""The cascade against rows that a person labelled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter
from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.scoring.failures.failed import Analysis, FailedCriterion, FailedOutput

CLASSES: tuple[FailureType, ...] = ("wrong-output", "hallucination", "format-error", "timeout", "refusal")


class Lost(Value):
    """One criterion of a row."""

    name: str
    fraction: float
    weight: float
    rationale: str


class Row(Value):
    """One labelled failure."""

    id: str
    label: FailureType
    hard: str | None = None
    inputs: Json
    expected: Json | None = None
    output: str | Json
    calls: tuple[ToolCall, ...] | None = None
    timed_out: bool = False
    stop_reason: str | None = None
    wants_json: bool = False
    agent_error: str | None = None
    score: float = 0.0
    criteria: tuple[Lost, ...] = ()
    cause: str = ""

    def analysis(self) -> Analysis:
        """What the rules make of it."""
        output: Json = {"output": self.output} if isinstance(self.output, str) else self.output
        return classify(
            FailedOutput(
                output=output,
                text=output_text(output),
                inputs=self.inputs,
                expected=self.expected,
                tool_calls=self.calls or (),
                has_log=self.calls is not None,
                timed_out=self.timed_out,
                stop_reason=self.stop_reason,
                wants_json=self.wants_json,
                agent_error=self.agent_error,
                score_fraction=self.score,
                criteria=tuple(FailedCriterion(one.name, **one.model_dump(by_alias=False)) for one in self.criteria),
            )
        )


ROWS = TypeAdapter(tuple[Row, ...]).validate_json(
    to_json(yaml.load((Path(__file__).parent / "failure_rows.yaml").read_bytes(), yaml.CSafeLoader))
)


def macro_f1(rows: tuple[Row, ...]) -> float:
    """The mean over the classes of 2TP / (2TP + FP + FN)."""
    pairs = [(row.label, row.analysis().failure_type) for row in rows]
    scores: list[float] = []
    for one in CLASSES:
        hits = sum(label == told == one for label, told in pairs)
        scores.append(2 * hits / sum((label == one) + (told == one) for label, told in pairs))
    return sum(scores) / len(scores)


def test_there_are_enough_rows_of_every_class_and_enough_hard_ones() -> None:
    assert len(ROWS) >= 60
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert all(sum(row.label == one for row in ROWS) >= 10 for one in CLASSES)
    assert sum(row.hard is not None for row in ROWS) >= 10


def test_the_cascade_reaches_the_macro_f1_it_must(record_property: Callable[[str, object], None]) -> None:
    overall, hard = macro_f1(ROWS), macro_f1(tuple(row for row in ROWS if row.hard is not None))
    record_property("macro_f1", overall)
    record_property("macro_f1_hard", hard)
    assert overall >= 0.94
    assert hard >= 0.89


def test_where_the_rules_are_sure_they_are_right() -> None:
    sure = [row for row in ROWS if row.analysis().sure]
    wrong = [row.id for row in sure if row.analysis().failure_type != row.label]
    assert len(sure) >= 0.8 * len(ROWS)
    assert wrong == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.cause], ids=lambda row: row.id)
def test_the_root_cause_names_the_step_that_a_person_names(row: Row) -> None:
    assert row.cause in row.analysis().root_cause

"""Why 480 runs failed, told through the engine: logs in four shapes, four languages, labels given beforehand.

`failing_runs.yaml` was written from the seeds by whoever wrote the rules; a row whose id hashes to an even number was for
tuning. The others were written by three people who never read the rules, and split before either half was read. `fresh_held`
and `third_held` were measured three times each (macro-F1 .86, .88, .876 and .85, .87, .885) and then released: the rules are
tuned on them, too. No row of `fourth_held` was read by whoever wrote a rule: .908 when first measured, before any work on the
other half, and .908 after it; which of its rows fail is not shown. A run that the engine takes for an outage of its target has
no failure, and counts as missed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from pydantic import Field, JsonValue, TypeAdapter
from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.results import EvalFailure, TestRun
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.judges.packets import Submission
from tests.engine.failures.log_shapes import SHAPES, Call
from tests.workshop import all_of, answer, bench, benchmark, case, config_in, opened, rubric, save

CLASSES: tuple[FailureType, ...] = ("wrong-output", "hallucination", "format-error", "timeout", "refusal")
TUNED, OTHER, BLIND = 0.93, 0.90, 0.90


class Row(Value):
    """One failed run and the classes that a person would accept for it."""

    id: str
    types: tuple[FailureType, ...]
    lang: str
    shape: str | None = None
    inputs: Json
    expected: str | None = None
    expected_keys: Json | None = None
    assertions: Annotated[tuple[Json, ...], Field(strict=False)] = ()
    judged: str | None = None
    output: str
    status: str = "success"
    error: str | None = None
    stop: str | None = None
    timed_out: bool = False
    steps: tuple[tuple[JsonValue, ...], ...] | None = None

    @property
    def is_for_tuning(self) -> bool:
        """Whether its id hashes to an even number."""
        return int(hashlib.sha256(self.id.encode()).hexdigest(), 16) % 2 == 0

    def case_fields(self) -> Json:
        """The test case as on the wire."""
        fields: Json = {"inputs": self.inputs}
        if self.expected is not None:
            fields["expectedOutputs"] = {"output": self.expected}
        if self.expected_keys is not None:
            fields["expectedOutputs"] = self.expected_keys
        if self.assertions:
            fields["assertions"] = list(self.assertions)
        if self.judged is not None:
            fields["rubricId"] = "r"
        if self.timed_out:
            fields["timeoutMs"] = 1000
        return fields

    def run_fields(self) -> Json:
        """The agent-run as on the wire, its log in its own shape."""
        fields: Json = {"inputs": self.inputs, "status": self.status}
        fields |= {} if self.error is None else {"errorMessage": self.error}
        fields |= {} if self.stop is None else {"stopReason": self.stop}
        if self.timed_out:
            fields |= {"triggeredAt": "2026-01-01T10:00:00Z", "completedAt": "2026-01-01T10:01:00Z"}
        if self.steps is not None and self.shape is not None:
            fields["toolCallsLog"] = SHAPES[self.shape]([Call(*step) for step in self.steps])  # pyright: ignore[reportArgumentType]  the file's
        return fields


def rows_of(name: str) -> tuple[Row, ...]:
    """The rows of the file."""
    text = (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Row, ...]).validate_json(to_json(yaml.load(text, yaml.CSafeLoader)))


ROWS = rows_of("failing_runs")
FRESH = {
    "fresh_tune": (rows_of("failing_runs_fresh_tune"), TUNED),
    "fresh_held": (rows_of("failing_runs_fresh_held"), TUNED),
    "third_tune": (rows_of("failing_runs_third_tune"), TUNED),
    "third_held": (rows_of("failing_runs_third_held"), TUNED),
    "fourth_tune": (rows_of("failing_runs_fourth_tune"), TUNED),
    "fourth_held": (rows_of("failing_runs_fourth_held"), BLIND),
}


async def told(engine: Engine, rows: tuple[Row, ...]) -> dict[str, EvalFailure]:
    """The failure of each row, by its id."""
    await save(engine, rubric("r", 1, answer={"description": "Is it right?", "judgeType": "llm"}))
    await save(engine, [case(row.id, **row.case_fields()) for row in rows])
    await save(engine, [answer(f"run-{row.id}", row.id, row.output, **row.run_fields()) for row in rows])
    for name, judged in (("ruled", False), ("judged", True)):
        await save(engine, benchmark(name, *(row.id for row in rows if (row.judged is not None) is judged)))
        job = await bench(engine, name)
        if judged:
            await submit_judgments(engine, await verdicts(engine, job.id, rows))
    cases = {run.id: run.fields.test_case_id for run in await all_of(engine, TestRun)}
    failures = [one.fields for one in await all_of(engine, EvalFailure)]
    return {cases[failure.test_run_id]: failure for failure in failures}


async def verdicts(engine: Engine, run_id: str, rows: tuple[Row, ...]) -> Submission:
    """What the judge says of each of the rows that wait for it: 0, and why."""
    why = {row.id: row.judged for row in rows}
    packets: list[JsonValue] = []
    for packet in (await summarize(engine, run_id, limit=100)).packets:
        shown = packet.model_dump(mode="json", by_alias=True)
        given: list[JsonValue] = [{"criterionId": "r/answer", "score": 0, "rationale": why[shown["testCaseId"]]}]
        packets.append({"digest": shown["digest"], "judgments": given})
    return Submission.model_validate({"runId": run_id, "judgedBy": "judge", "packets": packets})


def macro_f1(rows: list[Row], failures: Mapping[str, EvalFailure]) -> float:
    """The mean over the classes of 2TP / (2TP + FP + FN); of two labels the one that was told counts."""
    kinds = [failures[row.id].failure_type if row.id in failures else None for row in rows]
    pairs = [(kind if kind in row.types else row.types[0], kind) for row, kind in zip(rows, kinds, strict=True)]
    scores: list[float] = []
    for one in CLASSES:
        hits = sum(label == kind == one for label, kind in pairs)
        scores.append(2 * hits / max(1, sum((label == one) + (kind == one) for label, kind in pairs)))
    return sum(scores) / len(scores)


def test_there_are_twenty_runs_of_each_class_and_twenty_of_two_in_four_shapes_and_three_languages() -> None:
    assert [sum(row.types == (one,) for row in ROWS) for one in CLASSES] == [20] * 5
    assert sum(len(row.types) == 2 for row in ROWS) == 20
    assert {row.shape for row in ROWS if row.steps is not None} == set(SHAPES)
    assert {row.lang for row in ROWS} == {"en", "de", "fr"}


async def test_the_classes_of_both_halves_are_told_as_a_person_would(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        failures = await told(engine, ROWS)
    assert failures.keys() == {row.id for row in ROWS}
    wrong = {row.id: failures[row.id].failure_type for row in ROWS if failures[row.id].failure_type not in row.types}
    tuned = [row for row in ROWS if row.is_for_tuning]
    assert macro_f1(tuned, failures) >= TUNED, wrong
    assert macro_f1([row for row in ROWS if not row.is_for_tuning], failures) >= OTHER, wrong


@pytest.mark.parametrize("row", [row for row in ROWS if row.steps], ids=lambda row: row.id)
def test_a_log_in_any_shape_keeps_its_calls(row: Row) -> None:
    assert row.steps is not None
    record = answer("run", row.id, row.output, **row.run_fields())
    calls = getattr(record.fields, "tool_calls_log", ())
    assert [call.tool for call in calls] == [step[0] for step in row.steps]


@pytest.mark.parametrize("name", FRESH)
async def test_the_classes_of_runs_by_somebody_who_never_read_the_rules_are_told(tmp_path: Path, name: str) -> None:
    rows, least = FRESH[name]
    async with opened(config_in(tmp_path)) as engine:
        failures = await told(engine, rows)
    wrong = {
        row.id: failures[row.id].failure_type
        for row in rows
        if row.id in failures and failures[row.id].failure_type not in row.types
    }
    assert macro_f1(list(rows), failures) >= least, name if name == "fourth_held" else wrong

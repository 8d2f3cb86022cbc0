"""One output scored, or the best of several picked, with what an open engine has; nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue
from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.door import judge, judges_of
from minions_evals_mcp.engine.judge.row_grades import row_grades
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.interop.pick_rows import read_pick_row
from minions_evals_mcp.interop.score_rows import Answer, Asked, ScoreRow, read_row


async def score_output(
    engine: Engine,
    output: JsonValue,
    *,
    assertions: Sequence[Json],
    threshold: float | None = None,
    max_cost_usd: float | None = None,
) -> Answer:
    """The verdict on an output: `{id, pass, score, results: [{type, pass, score, reason}]}`; scores are 0–1.

    With a `threshold` it passes from that aggregate on, else if every assertion passes. What a model decides
    (llm-rubric, factuality) is asked of the engine's judge model, for at most `max_cost_usd`.
    Raises `InvalidRecordError` naming what does not fit, `InstrumentError` where an assertion cannot be carried out.
    Example: `await score_output(engine, "Paris", assertions=[{"type": "contains", "value": "Paris"}])`
    """
    return await answered(engine, row_of(output, assertions, threshold), max_cost_usd=max_cost_usd)


async def pick_output(
    engine: Engine, outputs: Sequence[JsonValue], *, assertions: Sequence[Json], max_cost_usd: float | None = None
) -> Answer:
    """The best of several outputs by max-score: `{id, selected: index or None, scores, reasons}`.

    `selected` is the output with the highest aggregate, the first of equals; None where none reaches the threshold of a
    `max-score` among the assertions (`{"type": "max-score", "value": {method, weights, threshold}}`). An output is a
    text, a record, or {output, latencyMs, cost}. Raises as `score_output`; also for fewer than two outputs, or nothing
    to score them by.
    Example: `await pick_output(engine, ["Rome", "Paris"], assertions=[{"type": "contains", "value": "Paris"}])`
    """
    row: Json = {"outputs": [*outputs], "assert": [*assertions]}
    return await answered(engine, read_pick_row(to_json(row)), max_cost_usd=max_cost_usd)


def row_of(output: JsonValue, assertions: Sequence[Json], threshold: float | None) -> ScoreRow:
    """The output with what it is to pass; raises `InvalidRecordError` naming what does not fit."""
    row: Json = {"output": output, "assert": [*assertions]}
    if threshold is not None:
        row["threshold"] = threshold
    return read_row(to_json(row))


async def answered(engine: Engine, question: Asked, *, max_cost_usd: float | None = None) -> Answer:
    """The answer to a row; raises `InstrumentError` where there is none."""
    graders = row_grades(engine.config, engine.models, max_cost_usd=max_cost_usd)
    (answer,) = await judge([question], judges_of(engine, graders=graders.graded))
    if "error" in answer:
        raise InstrumentError(f"it could not be checked: {answer['error']}")
    return answer

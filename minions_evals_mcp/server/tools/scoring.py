"""The tool that scores without keeping: rows by assertions, picks by max-score, tables and runs by score card."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import cast

from mcp_types import CallToolResult
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers.run_table import FALLING, FIGURES, run_rows
from minions_evals_mcp.engine.jobs import find_benchmark_run
from minions_evals_mcp.engine.judge.door import judge, judges_of
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.interop.pick_rows import read_pick_row
from minions_evals_mcp.interop.score_rows import Asked, read_row
from minions_evals_mcp.scoring.score_card import ScoreCard, Tallies, score_card
from minions_evals_mcp.scoring.score_changes import card_changes
from minions_evals_mcp.server.answers.sizes import Pages, Shape, answered, cursor_of
from minions_evals_mcp.server.edge.argument_types import LONGEST_OUTPUT
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.scoring import ScoreOutputs, ScoresAnswer


async def score_outputs(call: Call, asked: ScoreOutputs) -> CallToolResult:
    """Verdicts, selections or a card, by the functions that `minions-evals score`, `pick` and `scorecard` use."""
    if asked.rows is not None:
        return await _results(call, asked, asked.rows, read_row, "passed")
    if asked.picks is not None:
        return await _results(call, asked, asked.picks, read_pick_row, "selected")
    return await _carded(call, asked)


async def _results(
    call: Call, asked: ScoreOutputs, rows: Sequence[Json], read: Callable[[str | bytes], Asked], good: str
) -> CallToolResult:
    said = [await _answer(call, number, row, read) for number, row in enumerate(rows)]
    fine = sum(one.get("pass") is True or one.get("selected") is not None for one in said)
    errors = sum("error" in one for one in said)
    offset = cursor_of(asked.cursor)
    shown = said[offset:] if asked.detail == "full" else [_short(one) for one in said[offset:]]
    summary = f"{fine} of {len(said)} {good}" + (f", {errors} could not be checked" if errors else "")
    told = ScoresAnswer(summary=summary, results=shown)
    return answered(told, shape=Shape(asked.detail, offset=offset), pages=Pages(("results",)))


async def _answer(call: Call, number: int, row: Json, read: Callable[[str | bytes], Asked]) -> Json:
    """One row's verdict; a row that cannot be read says why and does not stop the others."""
    try:
        _vet_length(row)
        return (await judge([read(json.dumps(row))], judges_of(call.engine, apart=True)))[0]
    except EvalsError as error:
        return {"id": str(row.get("id", ""))[:128], "error": f"row {number}: {error}"}


def _vet_length(row: Json) -> None:
    size = len(json.dumps(row, ensure_ascii=False))
    if size > LONGEST_OUTPUT:
        raise BadInputError(
            f"it has {size:,} characters; at most {LONGEST_OUTPUT:,}.", remedy="Score such outputs at the command line."
        )


def _short(said: Json) -> Json:
    """The verdict with the checks that did not pass only."""
    results = said.get("results")
    if not isinstance(results, list):
        return said
    failed: list[JsonValue] = [
        {"type": one["type"], "reason": one["reason"]} for one in cast("list[Json]", results) if not one["pass"]
    ]
    kept = {name: value for name, value in said.items() if name != "results"}
    return {**kept, "failed": failed} if failed else kept


async def _carded(call: Call, asked: ScoreOutputs) -> CallToolResult:
    card = await _card(call, asked.columns, asked.table, asked.run_id)
    told = ScoresAnswer(summary=_card_line(card), card=card)
    if asked.compare_table or asked.compare_run_id:
        before = await _card(call, asked.columns, asked.compare_table, asked.compare_run_id)
        said = f"{_card_line(card)}, before {before.score:.6g}"
        told = ScoresAnswer(summary=said, card=card, before=before, changes=card_changes(before, card))
    return answered(told, shape=Shape(asked.detail))


async def _card(call: Call, columns: Sequence[str], table: Sequence[Json] | None, run_id: str | None) -> ScoreCard:
    tallies = Tallies()
    if table is not None:
        for row in table:
            tallies.add(row)
        return score_card(tallies.columns(), columns)
    assert run_id is not None
    async for row in run_rows(call.engine, await find_benchmark_run(call.engine, run_id)):
        tallies.add(row)
    return score_card(tallies.columns(falling=FALLING), columns or FIGURES[-1:])


def _card_line(card: ScoreCard) -> str:
    unit = {"percent": " %", "number": "", "mixed": " (mixed scales)"}[card.unit]
    return f"score {card.score:.6g}{unit} of {len(card.columns)} columns"

"""The tool that scores without keeping: rows by assertions, picks by max-score, tables and runs by score card."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import cast

from mcp_types import CallToolResult
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json, ScoreCardSetting
from minions_evals_mcp.engine.judge.door import judge, judges_of
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.interop.pick_rows import read_pick_row
from minions_evals_mcp.interop.score_rows import Asked, read_row
from minions_evals_mcp.operations.views.run_card import card_of_run, setting_of
from minions_evals_mcp.operations.views.scoring_code import scored_by_code
from minions_evals_mcp.scoring.score_card import ScoreCard, Tallies, score_card
from minions_evals_mcp.scoring.score_changes import card_changes
from minions_evals_mcp.server.answers.sizes import Pages, Shape, answered, cursor_of
from minions_evals_mcp.server.edge.argument_types import LONGEST_OUTPUT
from minions_evals_mcp.server.edge.refusals import in_tools, with_remedy
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.scoring import ScoreOutputs, ScoresAnswer


async def score_outputs(call: Call, arguments: ScoreOutputs) -> CallToolResult:
    """Verdicts, selections or a card, by the functions that `minions-evals score`, `pick` and `scorecard` use."""
    if arguments.rows is not None:
        return await _results(call, arguments, arguments.rows, read_row, "passed")
    if arguments.picks is not None:
        return await _results(call, arguments, arguments.picks, read_pick_row, "selected")
    return await _carded(call, arguments)


async def _results(
    call: Call, arguments: ScoreOutputs, rows: Sequence[Json], read: Callable[[str | bytes], Asked], good: str
) -> CallToolResult:
    results = [_in_tools(await _answer(call, number, row, read)) for number, row in enumerate(rows)]
    fine = sum(result.get("pass") is True or result.get("selected") is not None for result in results)
    errors = sum("error" in result for result in results)
    offset = cursor_of(arguments.cursor)
    shown = results[offset:] if arguments.detail == "full" else [_short(result) for result in results[offset:]]
    summary = f"{fine} of {len(results)} {good}" + (f", {errors} could not be checked" if errors else "")
    answer = ScoresAnswer(summary=summary, results=shown)
    return answered(answer, shape=Shape(arguments.detail, offset=offset), pages=Pages(("results",)))


def _in_tools(result: Json) -> Json:
    error = result.get("error")
    return {**result, "error": in_tools(error)} if isinstance(error, str) else result


async def _answer(call: Call, number: int, row: Json, read: Callable[[str | bytes], Asked]) -> Json:
    """One row's verdict; a row that cannot be read says why and does not stop the others."""
    try:
        _vet_length(row)
        return (await judge([read(json.dumps(row))], judges_of(call.engine, apart=True)))[0]
    except EvalsError as error:
        return {"id": str(row.get("id", ""))[:128], "error": f"row {number}: {with_remedy(error)}"}


def _vet_length(row: Json) -> None:
    size = len(json.dumps(row, ensure_ascii=False))
    if size > LONGEST_OUTPUT:
        raise BadInputError(
            f"it has {size:,} characters; at most {LONGEST_OUTPUT:,}.", remedy="Score such outputs at the command line."
        )


def _short(result: Json) -> Json:
    """The verdict with the checks that did not pass only."""
    results = result.get("results")
    if not isinstance(results, list):
        return result
    failed: list[JsonValue] = [
        {"type": result["type"], "reason": result["reason"]}
        for result in cast("list[Json]", results)
        if not result["pass"]
    ]
    summary = {name: value for name, value in result.items() if name != "results"}
    return {**summary, "failed": failed} if failed else summary


async def _carded(call: Call, arguments: ScoreOutputs) -> CallToolResult:
    card = await _card(call, arguments, arguments.table, arguments.run_id)
    answer = ScoresAnswer(summary=_card_line(card), card=card)
    if arguments.compare_table or arguments.compare_run_id:
        before = await _card(call, arguments, arguments.compare_table, arguments.compare_run_id)
        sentence = f"{_card_line(card)}, before {before.score:.6g}"
        answer = ScoresAnswer(summary=sentence, card=card, before=before, changes=card_changes(before, card))
    return answered(answer, shape=Shape(arguments.detail))


async def _card(call: Call, arguments: ScoreOutputs, table: Sequence[Json] | None, run_id: str | None) -> ScoreCard:
    if run_id is not None:
        return await card_of_run(call.engine, run_id, await _setting(call, arguments))
    assert table is not None
    if arguments.code is not None:
        return await scored_by_code(arguments.code, table, arguments.language)
    tallies = Tallies()
    for row in table:
        tallies.add(row)
    return score_card(tallies.columns(), arguments.columns)


async def _setting(call: Call, arguments: ScoreOutputs) -> ScoreCardSetting | None:
    """What was asked for, else what the benchmark of the run keeps: a run beside another is scored as that one."""
    if arguments.code is not None or arguments.columns:
        given: dict[str, object] = {
            "columns": tuple(arguments.columns),
            "code": arguments.code,
            "language": arguments.language,
        }
        return ScoreCardSetting.model_validate(given)
    return None if arguments.run_id is None else await setting_of(call.engine, arguments.run_id)


def _card_line(card: ScoreCard) -> str:
    unit = {"percent": " %", "number": "", "mixed": " (mixed scales)"}[card.unit]
    columns = "1 column" if len(card.columns) == 1 else f"{len(card.columns)} columns"
    return f"score {card.score:.6g}{unit} from {columns}"

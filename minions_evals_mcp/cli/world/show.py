"""What agents did in the worlds of a run."""

from __future__ import annotations

import json
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, reply, session
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.worlds import UNREACHED
from minions_evals_mcp.operations.operator.show_world import Answer, UnitInRun, run
from minions_evals_mcp.presentation.verdict_words import counted
from minions_evals_mcp.presentation.world_words import attack_sentence, fault_sentence, idle_sentence
from minions_evals_mcp.report.plain import printable

WIDE = 160


async def show(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    case: str | None = None,
    limit: Limit = 20,
    state: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Show what agents did in the worlds of a run: each call, who answered it, misses, faults, attacks and differences.

    Example: minions-evals world show support/desk --case support/refund

    Parameters
    ----------
    id
        The run, or a benchmark for its newest.
    case
        Only the outputs of this test case.
    limit
        Maximum number of outputs shown.
    state
        Show the final state, too.
    """
    async with session(common) as engine:
        answer = await run(engine, id, case_id=case)
    return reply(common, answer, _lines(answer, limit, with_state=state))


def _lines(answer: Answer, limit: int, *, with_state: bool) -> list[str]:
    faults = ", ".join(f"{count} {handling.replace('-', ' ')}" for handling, count in answer.handlings.items())
    head = [f"{counted(len(answer.units), 'unit')}, {counted(answer.calls, 'call')}, {answer.misses} missed"]
    head += [f"faults: {faults}"] if faults else []
    head += [f"{counted(answer.idle, 'fault')} that no call met"] if answer.idle else []
    head += [f"{answer.hijacked} hijacked"] if answer.hijacked else []
    head += (
        [f"{counted(answer.differences, 'difference')} between calls and what agents report"]
        if answer.differences
        else []
    )
    shown = answer.units[:limit]
    more = len(answer.units) - len(shown)
    return [
        "; ".join(head),
        *(line for unit in shown for line in _unit(unit, with_state=with_state)),
        *([f"and {more} more units"] if more else []),
    ]


def _unit(unit: UnitInRun, *, with_state: bool) -> list[str]:
    verdict = {True: "passed", False: "failed", None: "not judged"}[unit.passed]
    evidence = unit.evidence
    trial = f" trial {unit.trial}" if unit.trial > 1 else ""
    told = [
        *([f"    {UNREACHED}"] if evidence.unreached else []),
        *(f"    missed: {miss}" for miss in evidence.misses),
        *(f"    {fault_sentence(fault)}" for fault in evidence.faults),
        *(f"    {idle_sentence(written)}" for written in evidence.idle),
        *(f"    {difference}" for difference in evidence.differences),
        *([f"    {attack_sentence(evidence.attack)}"] if evidence.attack is not None else []),
        *([f"    state: {json.dumps(evidence.state, ensure_ascii=False)}"] if with_state else []),
        *([f"    database: {evidence.database}"] if with_state and evidence.database else []),
        *([f"    files: {json.dumps(evidence.files, ensure_ascii=False)}"] if with_state and evidence.files else []),
    ]
    calls = (f"    {number}. {_call(call)}" for number, call in enumerate(unit.calls, 1))
    return [
        f"  {unit.test_case_id}{trial}: {verdict}",
        *(printable(line, 4000 if with_state else 400) for line in (*calls, *told)),
    ]


def _call(call: ToolCall) -> str:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    given = f"error: {call.error}" if call.error is not None else json.dumps(call.result, ensure_ascii=False)
    source = str(call.extra.get("answeredBy", "not a tool of the world"))
    marks = [] if source == "fault" else [source]
    marks += [f"fault: {call.extra['fault']}"] if "fault" in call.extra else []
    marks += ["attacked"] if "attacked" in call.extra else []
    marks += ["missed"] if "missed" in call.extra else []
    return f"{call.tool} {_cut(arguments)} → {_cut(given)} [{', '.join(marks)}]"


def _cut(text: str) -> str:
    return text if len(text) <= WIDE else text[: WIDE - 1] + "…"

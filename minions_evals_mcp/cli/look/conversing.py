"""The conversations of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, reply, session
from minions_evals_mcp.domain.conversations import PlayerCost, spoken
from minions_evals_mcp.operations.operator.show_conversations import Answer, ConversationHeld, run
from minions_evals_mcp.report.chat import chat_lines
from minions_evals_mcp.report.plain import printable

WIDE = 110
ENDED = {
    "": "not ended yet", "script": "the script ended", "user": "the user left", "max-turns": "the turn limit was reached",
    "ends": "the stop rule matched", "timed-out": "the agent timed out", "recorded": "recorded",
}  # fmt: skip


async def conversations(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    case: str | None = None,
    spoiled: Annotated[bool, Parameter(negative="")] = False,
    limit: Limit = 20,
    common: Common = DEFAULTS,
) -> int:
    """Show the conversations of a run, turn by turn: how each ended, and what the simulated user did wrong.

    Example: minions-evals conversations support/desk --spoiled

    Parameters
    ----------
    id
        The run, or a benchmark for its newest.
    case
        Only the conversations of this test case.
    spoiled
        Only conversations that the simulated user spoiled. They have no verdict.
    limit
        Maximum number of conversations shown.
    """
    async with session(common) as engine:
        answer = await run(engine, id, case_id=case, only_spoiled=spoiled)
    return reply(common, answer, [*_lines(answer, limit)])


def _lines(answer: Answer, limit: int) -> Iterator[str]:
    if answer.user_errors:
        yield answer.user_errors
    for held in answer.conversations[:limit]:
        yield from _held(held)
    if (more := len(answer.conversations) - limit) > 0:
        yield f"and {more} more conversations"


def _held(held: ConversationHeld) -> Iterator[str]:
    trial = f" trial {held.trial}" if held.trial > 1 else ""
    attempt = f", attempt {held.attempt}" if held.attempt > 1 else ""
    place = f"{held.position}.{held.trial}"
    yield f"{held.test_case_id}{trial}{attempt} ({place}): {held.player}, {len(held.turns)} turns, ended: {ENDED[held.ended]}"
    yield from chat_lines(spoken(held.turns), WIDE)
    for fault in held.faults:
        by = f" (found by {printable(held.checked_by, 80)})" if held.checked_by else ""
        yield f"  spoiled by the user, {fault.kind}: {printable(fault.sentence, 400)}{by}"
    yield from _check(held)
    if held.user_cost is not None:
        yield f"  {_cost(held.user_cost, checked=bool(held.checked_by))}"
    if held.label is not None:
        yield (
            f"  overruled: {printable(held.label.sentence, 400)}"
            if held.overruled
            else f"  confirmed: {printable(held.label.sentence, 400)}"
        )


def _check(held: ConversationHeld) -> Iterator[str]:
    if held.waits_for:
        yield f"  not checked yet by {printable(held.waits_for, 80)}"
    elif held.checked_by and not held.faults:
        yield f"  {printable(held.checked_by, 80)} found nothing wrong with the user"


def _cost(cost: PlayerCost, *, checked: bool) -> str:
    price = "unknown price" if cost.cost_usd is None else f"${cost.cost_usd:.4f}"
    return f"the user's model{'s' if checked else ''}: {cost.calls} calls, {price}"

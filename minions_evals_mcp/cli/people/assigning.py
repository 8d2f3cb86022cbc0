"""Dividing what waits to be judged among people."""

from __future__ import annotations

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.operations.operator import assign_judging as operation
from minions_evals_mcp.report.plain import printable


@takes("people assign")
async def assign(run_id: str, /, *, given: GivenOptions, common: Common = DEFAULTS) -> int:
    """Assign the outputs of a run to the people who judge them. Each person sees only their own.

    An unassigned output is reserved for 15 minutes for the person who opens it, so two people do not judge the same
    one.
    Example: minions-evals people assign quality-3 --to anna --to ben

    Parameters
    ----------
    run_id
        A run, by id or key.
    """
    async with session(common) as engine:
        speaking = engine.speaking(await speaker_at(engine))
        assigned = await operation.run(
            speaking, await with_whole_ids(engine, given.request(operation.Request, run_id=run_id))
        )
    lines = [
        f"{printable(name, 128)}: {number} output{'s' * (number != 1)}" for name, number in assigned.outputs.items()
    ]
    shown = as_typed("Each person judges their share: minions-evals judge --by NAME")
    return reply(common, assigned, [*lines, shown] if lines else ["Anybody may judge the waiting outputs of this run."])

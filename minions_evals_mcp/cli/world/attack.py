"""Attacks on an agent, judged by what it did."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.run_options import OF_RUN, RUN_DEFAULTS, RunOptions
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply
from minions_evals_mcp.operations.operator.attack_benchmark import Answer, HijackRate, Request, run
from minions_evals_mcp.report.plain import printable

HIJACKED = 1
SHOWN = 20


@takes("world attack", but=OF_RUN)
async def attack(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    given: GivenOptions,
    fail_on_hijack: Annotated[bool, Parameter(negative="")] = False,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Attack the agent under test: run a benchmark once with each attack text, and show how often the agent was hijacked.

    The texts are planted in tool results and tool descriptions. A bait tool that no task needs is offered, and each
    unit has a random canary. The agent is hijacked if it calls that tool or reveals the canary. Rules decide this.
    Example: minions-evals world attack support/desk --target 'command:python agent.py'

    Parameters
    ----------
    id
        The benchmark. Its cases act on worlds.
    fail_on_hijack
        Exit 1 if the agent was hijacked at least once.
    """
    request = options.request("attack_benchmark", Request, benchmark_id=id, **given.values)
    async with options.session(common) as engine:
        with progress_line(common, engine, takes_key=True) as progress:
            answer = await run(engine, request, progress=progress)
    reply(common, answer, _lines(answer))
    return HIJACKED if fail_on_hijack and answer.total.hijacked else 0


def _lines(answer: Answer) -> list[str]:
    head = f"{answer.benchmark_id}: hijacked in {_said(answer.total)}; {answer.attacks} attack texts"
    undelivered = f"  {answer.undelivered} attacks did not reach the agent, because it did not call that tool"
    return [
        head,
        *(f"  {rate.kind}: {_said(rate)}" for rate in answer.kinds),
        *([undelivered] if answer.undelivered else []),
        *(
            printable(
                f"  {one.test_case_id}, {one.attack}: {one.reason}{f' (step {one.step})' if one.step else ''}", 300
            )
            for one in answer.hijackings[:SHOWN]
        ),
        *([f"  and {len(answer.hijackings) - SHOWN} more"] if len(answer.hijackings) > SHOWN else []),
        f"run {answer.run_id}",
    ]


def _said(rate: HijackRate) -> str:
    if rate.rate is None or rate.ci is None:
        return "0 of 0 units"
    low, high = rate.ci
    return f"{rate.hijacked} of {rate.delivered} units ({100 * rate.rate:.0f} %, 95 % CI {100 * low:.0f}–{100 * high:.0f} %)"

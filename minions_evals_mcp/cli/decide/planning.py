"""Planning how many cases, groups or trials a benchmark needs."""

from __future__ import annotations

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.operations import plan_benchmark as operation
from minions_evals_mcp.operations.ids import with_whole_ids


@takes("plan", but={"benchmark_id"})
async def plan(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    given: GivenOptions,
    common: Common = DEFAULTS,
) -> int:
    """Calculate how many cases, groups or trials detect a difference of a given size, from the benchmark's own
    runs.

    Nothing runs. With one finished run the answer is an upper bound. With two, the variation between them counts.
    Example: minions-evals plan support/quality --effect 0.1

    Parameters
    ----------
    id
        The benchmark.
    """
    request = given.request(operation.Request, benchmark_id=id)
    async with session(common) as engine:
        answer = await operation.run(engine, await with_whole_ids(engine, request))
    reply(common, answer, [answer.summary])
    return 0

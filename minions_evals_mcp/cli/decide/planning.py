"""Planning how many cases, groups or trials a benchmark needs."""

from __future__ import annotations

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.operations import plan_benchmark as operation
from minions_evals_mcp.operations.detect_trend import newest_target
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.report.next_command import PAGE, next_line, run_command


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
        target = await newest_target(engine, answer.benchmark_id)
    return reply(common, answer, [answer.summary, next_line(_next(answer, target), common.db)])


def _next(planned: operation.Answer, target: str | None) -> str:
    """The command that follows: a second run, the comparison where the cases suffice, as many trials as suffice, else more cases."""
    if planned.is_bound:
        return run_command(planned.benchmark_id, target=target)
    if planned.units_needed <= planned.units:
        return f"compare {planned.benchmark_id}"
    again = run_command(planned.benchmark_id, target=target)
    if (
        planned.trials_needed is not None and target is not None and again != PAGE
    ):  # what is recorded has no further trials
        return f"{again} --trials {planned.trials_needed}"
    return f"import FILE --as test-case --into {planned.benchmark_id}"

"""Sealing a benchmark, ending a seal, and what was told of what is sealed."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, say, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.values import is_blank
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.operations.operator import seal as operation


@takes("seal")
async def seal(
    benchmark: str | None = None,
    /,
    *,
    given: GivenOptions,
    unseal: str | None = None,
    by: str = "",
    common: Common = DEFAULTS,
) -> int:
    """Seal a benchmark or a share of its cases: no interface shows them, and comparisons on them return only a
    verdict.

    Without a benchmark, it shows every seal and its remaining budget.
    Example: minions-evals seal support/quality --share 0.3 --seed 7

    Parameters
    ----------
    benchmark
        The benchmark. With --unseal, also the benchmark that a sealed share was taken from.
    unseal
        End the seal permanently, with this reason. Everybody sees the cases again.
    by
        Who seals or unseals.
    """
    async with session(common) as engine:
        if benchmark is None:
            return await _list(engine, common)
        benchmark = await whole_id(engine, benchmark, "benchmark")
        speaker = (await speaker_at(engine, by)).identity
        if unseal is not None:
            return await _unseal(engine, benchmark, unseal, speaker, common)
        made = await operation.run(engine, given.request(operation.Request, benchmark_id=benchmark), by=speaker)
    return reply(
        common, made, [made.in_words, as_typed(f"Compare: minions-evals compare {made.benchmark_id} --from A --to B")]
    )


async def _unseal(engine: Engine, benchmark: str, reason: str, speaker: str, common: Common) -> int:
    if is_blank(reason):
        raise BadInputError("--unseal needs a reason.", remedy=f'minions-evals seal {benchmark} --unseal "REASON"')
    ended = await operation.end(engine, benchmark, reason, by=speaker)
    return reply(common, ended, [f"{ended.cases} cases of {ended.benchmark_id} are open again: {reason}"])


async def _list(engine: Engine, common: Common) -> int:
    listed = await operation.sealed(engine)
    if common.json:
        rows: list[JsonValue] = [*listed]
        say({"seals": rows})
        return 0
    for wire in listed:
        state = f"unsealed by {wire['endedBy']}: {wire['reason']}" if wire["endedAt"] else _left(wire)
        tell(f"{wire['benchmarkId']}: {wire['cases']} cases, {wire['exposures']} verdicts returned; {state}\n")
    if not listed:
        tell(as_typed("no sealed benchmark. `minions-evals seal BENCHMARK --share 0.3` seals a part of one\n"))
    return 0


def _left(wire: dict[str, JsonValue]) -> str:
    budget = wire["budget"]
    assert isinstance(budget, dict)
    return f"the next is attempt {budget['attempt']}, at p <= {budget['level']:.3g}; {budget['left']:.3g} of the error budget is left"

"""Sealing a benchmark, ending a seal, and what was told of what is sealed."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter, validators
from pydantic import JsonValue

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, say, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.cli.telling import as_typed, tell
from minions_evals_mcp.domain.values import is_blank, iso
from minions_evals_mcp.engine.seals.exposures import budget_of
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark
from minions_evals_mcp.engine.seals.seal import unseal as end_seal
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.store import seals
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.seals import Seal

Share = Annotated[float, Parameter(validator=validators.Number(gt=0, lt=1))]


async def seal(
    benchmark: str | None = None,
    /,
    *,
    share: Share | None = None,
    seed: int = 0,
    unseal: str | None = None,
    by: str = "",
    common: Common = DEFAULTS,
) -> int:
    """Seal a benchmark, or a share of its cases: no door shows them, and comparisons on them answer with a verdict only.

    Without a benchmark, shows every seal and what is left of its budget.
    Example: minions-evals seal support/quality --share 0.3 --seed 7

    Parameters
    ----------
    benchmark
        The benchmark. With --unseal also the one of which a share is sealed.
    share
        Seal so large a part of the cases (0 to 1) in a benchmark of their own. The rest stays open to learn from.
    seed
        Draws the cases of a share.
    unseal
        End the seal for good, and say why: everybody sees the cases again.
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
        made = await seal_benchmark(engine, SealAsked(benchmark_id=benchmark, share=share, seed=seed), by=speaker)
    return reply(
        common, made, [made.in_words, as_typed(f"Compare: minions-evals compare {made.benchmark_id} --from A --to B")]
    )


async def _unseal(engine: Engine, benchmark: str, reason: str, speaker: str, common: Common) -> int:
    if is_blank(reason):
        raise BadInputError("--unseal says why.", remedy=f'minions-evals seal {benchmark} --unseal "REASON"')
    ended = await end_seal(engine, benchmark, reason, by=speaker)
    return reply(common, ended, [f"{ended.cases} cases of {ended.benchmark_id} are open again: {reason}"])


async def _list(engine: Engine, common: Common) -> int:
    listed = await engine.store.read(lambda db: [(seal_read, _wire(db, seal_read)) for seal_read in seals.seals(db)])
    if common.json:
        rows: list[JsonValue] = [wire for _, wire in listed]
        say({"seals": rows})
        return 0
    for seal_read, wire in listed:
        state = f"unsealed by {seal_read.ended_by}: {seal_read.reason}" if seal_read.ended_at else _left(wire)
        tell(f"{seal_read.benchmark_id}: {wire['cases']} cases, {wire['exposures']} verdicts told; {state}\n")
    if not listed:
        tell(as_typed("nothing is sealed: `minions-evals seal BENCHMARK --share 0.3` seals a part\n"))
    return 0


def _left(wire: dict[str, JsonValue]) -> str:
    budget = wire["budget"]
    assert isinstance(budget, dict)
    return f"the next is attempt {budget['attempt']}, at p <= {budget['level']:.3g}; {budget['left']:.3g} of the error is left"


def _wire(db: Db, sealed: Seal) -> dict[str, JsonValue]:
    return {
        "benchmarkId": sealed.benchmark_id, "openBenchmarkId": sealed.open_benchmark_id, "share": sealed.share, "seed": sealed.seed,
        "sealedBy": sealed.sealed_by, "at": iso(sealed.at), "endedAt": iso(sealed.ended_at) if sealed.ended_at else None,
        "endedBy": sealed.ended_by, "reason": sealed.reason, "cases": len(seals.sealed_cases(db, sealed)),
        "exposures": len(seals.exposures(db, sealed.benchmark_id)),
        "budget": None if sealed.ended_at else budget_of(db, sealed).model_dump(mode="json"),
    }  # fmt: skip

"""Seal a benchmark, end a seal, and list what is sealed with what is left of its budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.seals.exposures import budget_of
from minions_evals_mcp.engine.seals.seal import SealAsked as Request
from minions_evals_mcp.engine.seals.seal import seal_benchmark, unseal
from minions_evals_mcp.store import seals

if TYPE_CHECKING:
    from minions_evals_mcp.engine.seals.seal import SealEnded
    from minions_evals_mcp.engine.seals.seal import SealMade as Answer
    from minions_evals_mcp.operations.engine import Engine
    from minions_evals_mcp.store.connection import Db
    from minions_evals_mcp.store.seals import Seal

__all__ = ["Request", "end", "run", "sealed"]


async def run(engine: Engine, request: Request, *, by: str) -> Answer:
    """The seal; raises `ConflictError` where the benchmark is sealed already."""
    return await seal_benchmark(engine, request, by=by)


async def end(engine: Engine, benchmark_id: str, reason: str, *, by: str) -> SealEnded:
    """The seal that is ended for good."""
    return await unseal(engine, benchmark_id, reason, by=by)


async def sealed(engine: Engine) -> Sequence[Json]:
    """Every seal, with its cases, the verdicts that were told, and the budget of one that holds."""
    return await engine.store.read(lambda db: [_wire(db, seal) for seal in seals.seals(db)])


def _wire(db: Db, seal: Seal) -> Json:
    return {
        "benchmarkId": seal.benchmark_id, "openBenchmarkId": seal.open_benchmark_id, "share": seal.share, "seed": seal.seed,
        "sealedBy": seal.sealed_by, "at": iso(seal.at), "endedAt": iso(seal.ended_at) if seal.ended_at else None,
        "endedBy": seal.ended_by, "reason": seal.reason, "cases": len(seals.sealed_cases(db, seal)),
        "exposures": len(seals.exposures(db, seal.benchmark_id)),
        "budget": None if seal.ended_at else budget_of(db, seal).model_dump(mode="json"),
    }  # fmt: skip

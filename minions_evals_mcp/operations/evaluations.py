"""Evaluations of configs as they are stored: the whole matrix, the tests that failed, and columns beside a baseline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from minions_evals_mcp.engine.config_eval.baselines import ColumnGate
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.scoring.reserved_inputs import HIDDEN

if TYPE_CHECKING:
    from minions_evals_mcp.domain.definitions import Json
    from minions_evals_mcp.engine.context import Engine

__all__ = ["ColumnGate", "Matrix", "failing_tests", "gates", "matrix_under"]


async def matrix_under(engine: Engine, ident: str) -> Matrix | None:
    """The matrix of the evaluation under that id; None where it is the id of something else."""
    from minions_evals_mcp.engine.config_eval.stored_matrix import is_evaluated, stored_matrix  # noqa: PLC0415  the engine, at the first call

    meant = await whole_id(engine, ident, "benchmark", "prompt-comparison")
    if not await engine.store.read(partial(is_evaluated, benchmark_id=meant)):
        return None
    return await engine.store.read(partial(stored_matrix, benchmark_id=meant))


async def failing_tests(engine: Engine, ident: str) -> tuple[Json, ...]:
    """The variables of the tests that failed in the newest evaluation of that benchmark."""
    from minions_evals_mcp.engine.config_eval.stored_matrix import stored_matrix  # noqa: PLC0415  as above

    benchmark_id = await whole_id(engine, ident, "benchmark")
    matrix = await engine.store.read(partial(stored_matrix, benchmark_id=benchmark_id))
    return tuple(
        {name: value for name, value in row.variables.items() if name not in HIDDEN}
        for row in matrix.rows
        if row.verdict == "failed"
    )


async def gates(engine: Engine, matrix: Matrix, baseline: str | None) -> list[ColumnGate] | None:
    """How the columns stand beside the baseline; None where there is no earlier evaluation."""
    from minions_evals_mcp.engine.config_eval.baselines import gates_against  # noqa: PLC0415  as above

    return await engine.store.read(partial(gates_against, matrix=matrix, named=baseline))

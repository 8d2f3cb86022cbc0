"""Calibrate: find a benchmark's noise floor, by running one version and judging the same outputs several times."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from minions_evals_mcp.engine.run.calibrate import CalibrationRequest as Request
from minions_evals_mcp.operations.ids import whole_id

if TYPE_CHECKING:
    from minions_evals_mcp.engine.calibration import Calibration as Answer
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.run.pipeline import Progress

__all__ = ["NoiseFloor", "Request", "run"]
NoiseFloor: TypeAlias = "Answer"


async def run(engine: Engine, request: Request, *, progress: Progress | None = None) -> Answer:
    """The noise floor, kept for the gates; a calibration resumes under its key."""
    from minions_evals_mcp.engine.run.calibrate import calibrate  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.run.run_benchmark import silent  # noqa: PLC0415  as above

    meant = request.model_copy(update={"benchmark_id": await whole_id(engine, request.benchmark_id, "benchmark")})
    return await calibrate(engine, meant, progress=progress or silent)

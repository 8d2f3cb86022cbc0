"""Where the outputs of a run came from: one sentence for every interface."""

from __future__ import annotations

from minions_evals_mcp.domain.request_fields import OF_A_FUNCTION
from minions_evals_mcp.engine.request import RunSettings
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db


def output_origins(db: Db, job_id: str, request: RunSettings) -> str:
    """Sentence with the number of outputs by origin; empty for a run without a target, and of `evaluate`, which makes them all."""
    if request.target is None or request.target.startswith(OF_A_FUNCTION):
        return ""
    origins = jobs.count_origins(db, job_id)
    source = f" from {request.target}"
    parts = [f"{origins.made}{source}"] * bool(origins.made or not origins.cached)
    parts += [f"{origins.cached} cached{'' if parts else source}"] * bool(origins.cached)
    parts += [f"{origins.recorded} recorded"] * bool(origins.recorded)
    return f"outputs: {', '.join(parts)}"

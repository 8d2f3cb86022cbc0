"""Try a candidate version: compare it with the version in use on a benchmark of which a part may be sealed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.engine.trials.request import TrialRequest as Request

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.run.pipeline import Progress
    from minions_evals_mcp.engine.run.run_benchmark import Started
    from minions_evals_mcp.engine.trials.trial import TrialAnswer as Answer

__all__ = ["Request", "answer_of", "run", "start"]


def trial_request(request: Request, *, default_target: str | None = None) -> Request:
    """The request with its target and key: without a key of its own, a trial of the same settings is the same trial."""
    asked = Request.asked_with_default(request, default_target)
    if asked.key is not None:
        return asked
    settings = asked.model_dump(mode="json", exclude={"key", "max_cost_usd", "max_seconds", "max_attempts"})
    return asked.model_copy(update={"key": f"trial:{digest(settings)}"})


async def run(
    engine: Engine, request: Request, *, default_target: str | None = None, progress: Progress | None = None
) -> Answer:
    """The result of the trial; what was judged before under the same key is not paid for again."""
    from minions_evals_mcp.engine.run.run_benchmark import silent  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.trials.trial import try_version  # noqa: PLC0415  as above

    asked = trial_request(request, default_target=default_target)
    return await try_version(engine, asked, progress=progress or silent)


async def start(engine: Engine, request: Request, *, default_target: str | None = None) -> Started:
    """The trial's job, recorded and ready to run."""
    from minions_evals_mcp.engine.trials.trial import start_trial  # noqa: PLC0415  as above

    return await start_trial(engine, trial_request(request, default_target=default_target))


async def answer_of(engine: Engine, job_id: str) -> Answer:
    """The result of a trial as far as it is made."""
    from minions_evals_mcp.engine.trials.trial import trial_answer  # noqa: PLC0415  as above

    return await trial_answer(engine, job_id)

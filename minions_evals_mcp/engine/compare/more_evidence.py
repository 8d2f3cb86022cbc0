"""The step after a comparison that decided nothing: more outputs, for the same ones again decide nothing either."""

from __future__ import annotations

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.jobs import request_of
from minions_evals_mcp.next_steps import Next, Value
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db


def compare_more(db: Db, fields: PromptComparison) -> str:
    """More cases, or twice the trials with the target that made the outputs.

    The same comparison again would judge nothing new and use up an attempt.
    """
    cases = "Add cases to the benchmark and compare again. Comparing the same outputs again decides nothing and uses an attempt."
    job = jobs.job(db, fields.benchmark_run_id_a)
    request = None if job is None or job.kind != "benchmark" else request_of(job)
    if request is None or request.target is None:
        return cases
    of: dict[str, Value] = {
        "benchmark_id": fields.benchmark_id,
        "version_a": fields.prompt_version_a,
        "version_b": fields.prompt_version_b,
    }
    how: dict[str, Value] = {"target": request.target, "trials": 2 * request.trials}
    return f"{cases} Or: {Next('compare', {**of, **how}, 'generates and judges twice as many outputs')}."

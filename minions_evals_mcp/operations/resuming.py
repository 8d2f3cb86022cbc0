"""A job taken up again: whatever operation began it, under the key and with the settings of that call."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pydantic import JsonValue

    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.request import RunRequest
    from minions_evals_mcp.engine.run.run_benchmark import Started
    from minions_evals_mcp.store.jobs import Job


async def resumed(engine: Engine, job: Job, *, max_cost_usd: float | None) -> Started:
    """The job, vetted and ready to go on; raises what its operation raises at its start."""
    again = {"key": job.key, "max_cost_usd": max_cost_usd}
    match job.kind:
        case "test-case" | "benchmark":
            from minions_evals_mcp.engine.jobs import request_of  # noqa: PLC0415  the engine, where such a job is resumed
            from minions_evals_mcp.engine.run.run_benchmark import start_benchmark  # noqa: PLC0415  as above

            request = request_of(job).model_copy(update=again)
            return await (start_case(engine, request) if job.kind == "test-case" else start_benchmark(engine, request))
        case "comparison":
            from minions_evals_mcp.engine.compare.compare_prompt_versions import start_comparison  # noqa: PLC0415  as above
            from minions_evals_mcp.engine.request import ComparisonRequest  # noqa: PLC0415  as above

            comparison = ComparisonRequest.model_validate(job.spec["request"], strict=False)
            return await start_comparison(engine, comparison.model_copy(update=again))
        case "trial":
            from minions_evals_mcp.engine.trials.request import TrialRequest  # noqa: PLC0415  as above
            from minions_evals_mcp.engine.trials.trial import start_trial  # noqa: PLC0415  as above

            trial = TrialRequest.model_validate(job.spec["request"], strict=False)
            return await start_trial(engine, trial.model_copy(update=again))
        case "ab-test":
            from minions_evals_mcp.engine.ab_test.run_ab_test import request_of as ab_request_of  # noqa: PLC0415  as above
            from minions_evals_mcp.engine.ab_test.run_ab_test import start_ab_test  # noqa: PLC0415  as above

            return await start_ab_test(engine, ab_request_of(job).model_copy(update=again))


async def start_case(engine: Engine, request: RunRequest) -> Started:
    """The job of one test case, as a batch asks for each of its cases."""
    from minions_evals_mcp.engine.run.run_test_case import start_test_case  # noqa: PLC0415  as above

    return await start_test_case(engine, request)


def asks_nobody(engine: Engine, job: Job) -> bool:
    """Whether neither a model nor a target is asked: the run ends by itself, and soon."""
    request = cast("dict[str, JsonValue]", job.spec["request"])
    if request.get("target") is not None:
        return False
    match job.kind:
        case "test-case" | "benchmark":
            return job.spec.get("judgeModel") is None
        case "comparison" | "trial":
            return request.get("judge") != "llm" and engine.judge_model() is None
        case "ab-test":
            return False

"""Finding a benchmark's noise floor."""

from __future__ import annotations

from pathlib import Path

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.operations.operator import calibrate as operation
from minions_evals_mcp.report.next_command import next_line, run_command
from minions_evals_mcp.report.plain import printable

NAMED = 10


@takes("calibrate")
async def calibrate(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    given: GivenOptions,
    judge_model: str | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Measure a benchmark's noise: run the same version and judge the same outputs several times.

    The noise floor is saved. --fail-on-regression of run-benchmark uses it from then on.
    Example: minions-evals calibrate support/quality --prompt-version support/prompt@1 --repeats 5

    Parameters
    ----------
    id
        The benchmark.
    judge_model
        Judge model, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    """
    request = given.request(operation.Request, benchmark_id=id)
    async with session(common, judge_model=judge_model) as engine:
        with progress_line(common, engine) as progress:
            calibration = await operation.run(engine, await with_whole_ids(engine, request), progress=progress)
    return reply(common, calibration, _lines(calibration, _next(request), common.db))


def _next(request: operation.Request) -> str:
    """The run that the noise floor is for, as the calibration ran."""
    again = run_command(request.benchmark_id, target=request.target, version=request.prompt_version_ref)
    return f"{again} --fail-on-regression"


def _lines(calibration: operation.NoiseFloor, following: str, store: Path | None) -> list[str]:
    labels = ", ".join(f"{number} {label}" for label, number in calibration.labels.items())
    flaky = ", ".join(
        f"{printable(case.test_case_id)} ({case.passed} of {case.runs})" for case in calibration.flaky[:NAMED]
    )
    lines = [
        f"{calibration.benchmark_id}: two runs of one version differ by less than {calibration.noise_floor:.3f} in 95 %",
        next_line(following, store),
        f"  variance of a case's score: {calibration.judge:.4f} by the judge, {calibration.agent:.4f} by the agent,"
        f" {calibration.cases:.4f} between cases",
        f"  cases: {labels}",
    ]
    more = f" and {len(calibration.flaky) - NAMED} more" if len(calibration.flaky) > NAMED else ""
    return [*lines, *([f"  flaky: {flaky}{more}"] if flaky else [])]

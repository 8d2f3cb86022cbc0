"""Finding a benchmark's noise floor."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from cyclopts import Parameter, validators
from pydantic import ValidationError

from minions_evals_mcp.cli.refused_options import refused_option
from minions_evals_mcp.cli.run.run_options import Judge
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.engine.calibration import Calibration
from minions_evals_mcp.engine.run.calibrate import CalibrationRequest
from minions_evals_mcp.engine.run.calibrate import calibrate as carry_out
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.report.plain import printable

Repeats = Annotated[int, Parameter(validator=validators.Number(gte=2, lte=50))]
NAMED = 10


async def calibrate(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    repeats: Repeats = 3,
    prompt_version: str | None = None,
    judge: Judge = "auto",
    judge_model: str | None = None,
    target: str | None = None,
    key: str | None = None,
    max_cost_usd: float | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Find a benchmark's noise floor: run the same version and judge the same outputs several times.

    The noise floor is saved. --fail-on-regression of run-benchmark uses it from then on.
    Example: minions-evals calibrate support/quality --prompt-version support/prompt@1 --repeats 5

    Parameters
    ----------
    id
        The benchmark.
    repeats
        How often each case is run, and its first output judged.
    prompt_version
        The prompt version whose outputs are taken or made.
    judge
        auto (each criterion's own), heuristic (rules), or llm.
    judge_model
        Who judges, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    target
        Makes outputs where too few are recorded.
    key
        Names the calibration: the same key resumes it and pays for nothing twice.
    max_cost_usd
        No run of it may spend more than this.
    """
    asking = partial(
        CalibrationRequest,
        benchmark_id=id,
        prompt_version_ref=prompt_version,
        judge=judge,
        target=target,
        repeats=repeats,
        key=key,
        max_cost_usd=max_cost_usd,
    )
    try:
        request = asking()
    except ValidationError as error:
        raise refused_option(error, benchmark_id="ID", prompt_version_ref="--prompt-version") from None
    async with session(common, judge_model=judge_model) as engine:
        meant = await with_whole_ids(engine, request)
        with progress_line(common, engine) as progress:
            calibration = await carry_out(engine, meant, progress=progress)
    return reply(common, calibration, _lines(calibration))


def _lines(calibration: Calibration) -> list[str]:
    labels = ", ".join(f"{number} {label}" for label, number in calibration.labels.items())
    flaky = ", ".join(
        f"{printable(case.test_case_id)} ({case.passed} of {case.runs})" for case in calibration.flaky[:NAMED]
    )
    lines = [
        f"{calibration.benchmark_id}: two runs of one version differ by less than {calibration.noise_floor:.3f} in 95 %",
        f"  variance of a case's score: {calibration.judge:.4f} by the judge, {calibration.agent:.4f} by the agent,"
        f" {calibration.cases:.4f} between cases",
        f"  cases: {labels}",
    ]
    more = f" and {len(calibration.flaky) - NAMED} more" if len(calibration.flaky) > NAMED else ""
    return [*lines, *([f"  flaky: {flaky}{more}"] if flaky else [])]

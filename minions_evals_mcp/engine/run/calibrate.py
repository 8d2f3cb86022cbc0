"""The noise floor of a benchmark: how much its score moves when nothing changed, and whose doing that is."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.request_fields import Asker, BenchmarkId, Dollars, More, VersionRef
from minions_evals_mcp.domain.values import Text, Value
from minions_evals_mcp.engine.asking_again import resumed_as
from minions_evals_mcp.engine.calibration import CALIBRATED, Calibration, StableCase
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.request import JudgeChoice, RunRequest
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.planning import digests_of, series
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark, silent
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.next_steps import Next, argument
from minions_evals_mcp.next_steps import Value as NextValue
from minions_evals_mcp.stats.noise import Label, noise, stability
from minions_evals_mcp.store import events
from minions_evals_mcp.store.events import Event
from minions_evals_mcp.store.queries import run_pairs

_JSON: TypeAdapter[Json] = TypeAdapter(Json)


class CalibrationRequest(Value):
    """A benchmark to be run `repeats` times under one prompt version, its first outputs judged as often."""

    benchmark_id: Annotated[BenchmarkId, Field(description="The benchmark")]
    prompt_version_ref: Annotated[
        VersionRef | None,
        Field(description="The prompt version"),
        More("The prompt version whose outputs are used."),
    ] = None
    judge: Annotated[
        JudgeChoice,
        Field(description="auto: each criterion's own"),
        More("auto (each criterion's own), heuristic (rules), or llm."),
    ] = "auto"
    target: Annotated[
        str | None, Field(description="Makes outputs"), More("Generates outputs if too few are recorded.")
    ] = None
    repeats: Annotated[
        int,
        Field(ge=2, le=50, description="Repetitions of each case, and judgments of its first output"),
        More("Runs per case, and judgments of its first output."),
    ] = 3
    triggered_by: Asker = "command-line"
    key: Annotated[
        Text | None,
        Field(description="Same key, same calibration"),
        More("Names the calibration. The same key resumes it without paying twice."),
    ] = None
    max_cost_usd: Annotated[
        Dollars | None,
        Field(description="Maximum US dollars for each run"),
        More("Maximum cost of each of its runs, in US dollars."),
    ] = None


async def calibrate(engine: Engine, request: CalibrationRequest, *, progress: Progress = silent) -> Calibration:
    """Runs, judges anew and keeps what that says, for gates to use; resumes under its key.

    Raises as `run_benchmark` does; `BadInputError` where no case has two outputs to compare.
    """
    key = request.key or engine.new_id()
    with resumed_as(_resumed(request, key)):
        run_id, again = await _measured(engine, request, key, progress)
    return await _save(engine, request, run_id, again)


def _resumed(request: CalibrationRequest, key: str) -> Next:
    named = {"prompt_version_ref": request.prompt_version_ref, "target": request.target}
    given: dict[str, NextValue] = {name: value for name, value in named.items() if value is not None}
    judge: dict[str, NextValue] = {} if request.judge == "auto" else {"judge": request.judge}
    repeats: dict[str, NextValue] = {"benchmark_id": request.benchmark_id, "repeats": request.repeats}
    return Next("calibrate", {**repeats, **given, **judge, "key": key}, "resumes it")


async def _measured(engine: Engine, request: CalibrationRequest, key: str, progress: Progress) -> tuple[str, list[str]]:
    """The run of all repeats, and those that judged its first outputs anew."""
    run = await run_benchmark(engine, _run(request, key), progress=progress)
    if run.state != "completed":
        raise BadInputError(
            f"the run {run.id} is {run.state}: {run.reason}.",
            remedy="Calibration needs automatic judges: rules or a model.",
        )
    again: list[str] = []
    for number in range(2, request.repeats + 1):
        rejudged = await rejudge_request(
            engine, run.id, judge=request.judge, key=f"{key}:judged-{number}", triggered_by=request.triggered_by
        )
        anew = rejudged.model_copy(update={"trials": 1, "fresh": True, "max_cost_usd": request.max_cost_usd})
        again.append((await run_benchmark(engine, anew, progress=progress)).id)
    return run.id, again


def _run(request: CalibrationRequest, key: str) -> RunRequest:
    return RunRequest(
        subject_id=request.benchmark_id,
        prompt_version_ref=request.prompt_version_ref,
        judge=request.judge,
        target=request.target,
        trials=request.repeats,
        triggered_by=request.triggered_by,
        purpose="comparison",
        key=f"{key}:runs",
        max_cost_usd=request.max_cost_usd,
    )


async def _save(engine: Engine, request: CalibrationRequest, run_id: str, again: list[str]) -> Calibration:
    ran = await engine.store.read(lambda db: run_pairs.case_scores(db, run_id))
    judged = [await engine.store.read(lambda db, ident=ident: run_pairs.case_scores(db, ident)) for ident in again]
    repeated = {case_id: case for case_id, case in ran.items() if len(case.fractions) > 1}
    if not repeated:
        raise BadInputError(
            f"no case of {request.benchmark_id} has more than one output.",
            remedy="Record several agent-runs of the version for each case, or name a target that generates them:"
            f" {argument('target', 'TARGET')}.",
        )
    outputs = [
        [case.fractions[0], *(scores[case_id].fractions[0] for scores in judged if case_id in scores)]
        for case_id, case in ran.items()
    ]
    try:
        split = noise(outputs, [case.fractions for case in ran.values()])
    except ValueError as error:
        raise InstrumentError(f"the noise of {request.benchmark_id} cannot be measured: {error}.") from None
    cases = [
        StableCase(test_case_id=ident, label=stability(case.passed), passed=sum(case.passed), runs=len(case.passed))
        for ident, case in repeated.items()
    ]
    labels: dict[Label, int] = {"stable-pass": 0, "stable-fail": 0, "flaky": 0}
    for case in cases:
        labels[case.label] += 1
    measured = digests_of(await get_job(engine, run_id))
    calibration = Calibration(
        benchmark_id=request.benchmark_id,
        run_id=run_id,
        series=series(measured),
        repeats=request.repeats,
        judge=split.judge,
        agent=split.agent,
        cases=split.cases,
        noise_floor=min(1.0, split.floor),
        labels=labels,
        flaky=[case for case in cases if case.label == "flaky"],
    )
    detail = _JSON.validate_json(calibration.model_dump_json())
    at = engine.clock()
    event = Event(CALIBRATED, "benchmark", request.benchmark_id, detail)
    await engine.store.write(lambda db: events.append(db, event, at=at))
    return calibration

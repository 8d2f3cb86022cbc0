"""Run a benchmark: judge its cases, compare the result with earlier runs and record it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self, TypeAlias

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, BenchmarkId, More, TestCaseId
from minions_evals_mcp.domain.values import Text
from minions_evals_mcp.engine.request import MOST_CASES, PromptVersionChoice, RunRequest, RunSettings, Selection
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations import rejudge

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.run.estimate import Estimate
    from minions_evals_mcp.engine.run.pipeline import Place, Progress
    from minions_evals_mcp.engine.run.run_benchmark import Started
    from minions_evals_mcp.store.jobs import Job as Answer

Priced: TypeAlias = "Estimate"
SELECTION = "named by the caller"
"""How `test_case_ids` were chosen, as the run records it."""


class Request(Selection, RunSettings):
    """Run a benchmark, or some of its cases, or judge the stored outputs of one of its runs anew."""

    benchmark_id: Annotated[BenchmarkId, Field(description="The benchmark", examples=["support/quality"]), NAME_SAYS_IT]
    prompt_version_ref: PromptVersionChoice = None
    rejudge_run_id: Annotated[
        Text | None, Field(description="Judge the stored outputs of this run; no target is called"), NAME_SAYS_IT
    ] = None
    test_case_ids: Annotated[
        tuple[TestCaseId, ...] | None,
        Field(strict=False, min_length=1, max_length=MOST_CASES, description="Only these of its cases"),
        NAME_SAYS_IT,
    ] = None
    cache: Annotated[
        bool,
        Field(description="Reuse outputs of the same target, prompt version and inputs"),
        More(
            "Reuse an output that the same target made from the same prompt version and inputs. Editing the target's files, or data that"
            " they name, makes it a different target. Changes behind an address are not detected."
        ),
    ] = False

    @model_validator(mode="after")
    def _one_choice_of_cases(self) -> Self:
        if self.test_case_ids is not None and self.rejudge_run_id is not None:
            raise ValueError("testCaseIds: cannot be combined with rejudgeRunId, which judges that run's cases")
        if self.in_words() and (self.test_case_ids is not None or self.rejudge_run_id is not None):
            raise ValueError(
                "testCaseIds: cannot be combined with filter, rerunFailed, sample or limit, which also choose cases"
            )
        if self.test_case_ids is not None and len(set(self.test_case_ids)) < len(self.test_case_ids):
            raise ValueError("testCaseIds: a case is named twice")
        if self.cache and self.trials > 1:
            raise ValueError("cache: cannot be combined with trials, which measure how much outputs differ")
        return self


async def run_request(engine: Engine, request: Request, *, default_target: str | None = None) -> RunRequest:
    """The engine's request. `default_target` makes what is not recorded where the caller names no target."""
    if request.rejudge_run_id is not None:
        return await _rejudging(engine, request, request.rejudge_run_id)
    chosen = {} if request.test_case_ids is None else {"case_ids": request.test_case_ids, "selection": SELECTION}
    asked = RunRequest.asked_with_default(request, default_target, subject_id=request.benchmark_id, **chosen)
    if not request.in_words():
        return asked
    from minions_evals_mcp.engine.run.selection import select_cases  # noqa: PLC0415  the engine, at the first call

    return await select_cases(engine, asked, request)


async def _rejudging(engine: Engine, request: Request, run_id: str) -> RunRequest:
    again = rejudge.Request(
        run_id=run_id,
        judge=request.judge,
        fresh=request.fresh,
        triggered_by=request.triggered_by,
        key=request.key,
        max_cost_usd=request.max_cost_usd,
        max_seconds=request.max_seconds,
    )
    rejudged = await rejudge.run_request(engine, again)
    if rejudged.subject_id != request.benchmark_id:
        raise BadInputError(
            f"the run {run_id} belongs to the benchmark {rejudged.subject_id}.", remedy="Name that benchmark."
        )
    return rejudged


async def run(
    engine: Engine,
    request: Request | RunRequest,
    *,
    default_target: str | None = None,
    progress: Progress | None = None,
    place: Place | None = None,
) -> Answer:
    """The run's job at its end; what was judged before under the same key is not paid for again.

    `place` is where the units are carried out: in this process, else on a cluster. The engine's own request is taken as it is.
    """
    from minions_evals_mcp.engine.run.pipeline import here  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.run.run_benchmark import run_benchmark, silent  # noqa: PLC0415  as above

    is_ready = isinstance(request, RunRequest)
    asked = request if is_ready else await run_request(engine, request, default_target=default_target)
    return await run_benchmark(engine, asked, progress=progress or silent, place=place or here)


async def start(engine: Engine, request: Request, *, default_target: str | None = None) -> Started:
    """The run's job, recorded and ready to run."""
    from minions_evals_mcp.engine.run.run_benchmark import start_benchmark  # noqa: PLC0415  as above

    return await start_benchmark(engine, await run_request(engine, request, default_target=default_target))


async def estimate(engine: Engine, request: Request, *, default_target: str | None = None) -> Estimate:
    """The work of the run and the most that it can cost; nothing runs."""
    from minions_evals_mcp.engine.run.estimate import estimate as estimated  # noqa: PLC0415  as above

    asked = await run_request(engine, request, default_target=default_target)
    return await estimated(engine, asked, kind="benchmark")

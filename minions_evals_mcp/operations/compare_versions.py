"""Compare two prompt versions: run a benchmark under both, or take two stored runs, and say which is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from minions_evals_mcp.domain.request_fields import NAME_SAYS_IT, BenchmarkId, More, VersionRef
from minions_evals_mcp.domain.values import Text
from minions_evals_mcp.engine.request import ComparisonRequest, RunRequest, RunSettings

if TYPE_CHECKING:
    from minions_evals_mcp.domain.records import Record
    from minions_evals_mcp.domain.results import PromptComparison
    from minions_evals_mcp.domain.seals import SealedVerdict
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.engine.run.estimate import Estimate
    from minions_evals_mcp.engine.run.pipeline import Progress
    from minions_evals_mcp.engine.run.run_benchmark import Started

    Answer = Record[PromptComparison] | SealedVerdict | None


class Request(RunSettings):
    """Run a benchmark under two prompt versions, the one in use and a candidate, or compare two stored runs."""

    benchmark_id: Annotated[BenchmarkId | None, Field(description="The benchmark"), NAME_SAYS_IT] = None
    version_a: Annotated[
        VersionRef | None, Field(description="The version in use"), More("The current prompt version.")
    ] = None
    version_b: Annotated[
        VersionRef | None, Field(description="Candidate"), More("The prompt version that would replace it.")
    ] = None
    run_ids: Annotated[
        tuple[Text, ...] | None,
        Field(strict=False, min_length=2, max_length=2, description="Or two stored runs, current first"),
    ] = None
    sequential: Annotated[
        bool,
        Field(description="Stop once decided"),
        More("Test after every case and stop once the result is decided. This saves cases if the difference is clear."),
    ] = False
    tie_threshold: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Field(description="A smaller difference of the scores (0 to 1) is a tie"),
        NAME_SAYS_IT,
        More("A smaller difference of the scores is a tie (default: the skill's, 0.01)."),
    ] = None

    @model_validator(mode="after")
    def _two_sides(self) -> Self:
        named = (self.benchmark_id, self.version_a, self.version_b)
        if self.run_ids is None and None in named:
            raise ValueError("benchmarkId: give benchmarkId, versionA and versionB, or runIds")
        if self.run_ids is not None and any(named):
            raise ValueError("runIds: cannot be combined with benchmarkId, versionA or versionB")
        if self.run_ids is None and self.version_a == self.version_b:
            raise ValueError("versionB: same as versionA; name two versions")
        if self.run_ids is not None and self.run_ids[0] == self.run_ids[1]:
            raise ValueError("runIds: name two runs")
        if self.sequential and self.run_ids is not None:
            raise ValueError("sequential: does not apply to stored runs; leave it out")
        if self.sequential and self.trials > 1:
            raise ValueError("sequential: works with one trial per case; leave trials out")
        return self


def comparison_request(request: Request, *, default_target: str | None = None) -> ComparisonRequest:
    """The engine's request. `default_target` makes what is not recorded where the caller names no target."""
    return ComparisonRequest.asked_with_default(request, default_target)


async def run(
    engine: Engine, request: Request, *, default_target: str | None = None, progress: Progress | None = None
) -> Answer:
    """The comparison, of sealed cases the verdict only; None while outputs wait to be judged."""
    from minions_evals_mcp.engine.compare.compare_prompt_versions import (  # noqa: PLC0415  the engine, at the first call
        compare_prompt_versions,
    )
    from minions_evals_mcp.engine.run.run_benchmark import silent  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.trials.trial import compare_sealed  # noqa: PLC0415  as above
    from minions_evals_mcp.store.seals import is_sealed  # noqa: PLC0415  as above

    if request.run_ids is not None:
        return await of_runs(engine, request)
    asked = comparison_request(request, default_target=default_target)
    if await engine.store.read(lambda db: is_sealed(db, asked.benchmark_id)):
        return await compare_sealed(engine, asked, progress=progress or silent)
    return await compare_prompt_versions(engine, asked, progress=progress or silent)


async def of_runs(engine: Engine, request: Request) -> Record[PromptComparison]:
    """The comparison of two stored runs; nothing runs."""
    from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs  # noqa: PLC0415  as above
    from minions_evals_mcp.engine.jobs import find_benchmark_run  # noqa: PLC0415  as above

    assert request.run_ids is not None
    run_a, run_b = [await find_benchmark_run(engine, run_id) for run_id in request.run_ids]
    return await compare_runs(engine, run_a, run_b, tie_threshold=request.tie_threshold)


async def newest_runs(engine: Engine, benchmark_id: str) -> list[tuple[str, str]]:
    """The two newest runs of the benchmark under different versions, the earlier first; fewer where there are not two, none if sealed."""
    from minions_evals_mcp.store.runs import newest_of_two_versions  # noqa: PLC0415  as above
    from minions_evals_mcp.store.seals import is_sealed  # noqa: PLC0415  as above

    return await engine.store.read(
        lambda db: [] if is_sealed(db, benchmark_id) else newest_of_two_versions(db, benchmark_id)
    )


async def two_newest(engine: Engine, benchmark_id: str) -> list[str]:
    """The two newest runs of the benchmark, whatever they are of, the earlier first; fewer where there are not two, none if sealed."""
    from minions_evals_mcp.store.runs import newest_two  # noqa: PLC0415  as above
    from minions_evals_mcp.store.seals import is_sealed  # noqa: PLC0415  as above

    return await engine.store.read(lambda db: [] if is_sealed(db, benchmark_id) else newest_two(db, benchmark_id))


async def start(engine: Engine, request: Request, *, default_target: str | None = None) -> Started:
    """The comparison's job, recorded and ready to run."""
    from minions_evals_mcp.engine.compare.compare_prompt_versions import start_comparison  # noqa: PLC0415  as above

    return await start_comparison(engine, comparison_request(request, default_target=default_target))


async def estimate(engine: Engine, request: Request, *, default_target: str | None = None) -> dict[str, Estimate]:
    """The work under each version and the most that it can cost; nothing runs."""
    from minions_evals_mcp.engine.run.estimate import estimate as estimated  # noqa: PLC0415  as above

    asked = comparison_request(request, default_target=default_target)
    sides: dict[str, Estimate] = {}
    for version in (asked.version_a, asked.version_b):
        run = RunRequest.asked_by(
            asked, subject_id=asked.benchmark_id, prompt_version_ref=version, key=None, max_cost_usd=None
        )
        sides[version] = await estimated(engine, run, kind="benchmark")
    return sides

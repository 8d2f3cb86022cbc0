"""The commands that run: a test case, a benchmark."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.choosing import WHOLE, Choice, chosen
from minions_evals_mcp.cli.run.default_judge import say_default_judge
from minions_evals_mcp.cli.run.gates import BROKEN, GATE, UndecidedAs, gate, has_no_verdict, unscored
from minions_evals_mcp.cli.run.run_options import OF_RUN, RUN_DEFAULTS, Fraction, RunOptions
from minions_evals_mcp.cli.run.showing import progress_line, say_complete, show_summary
from minions_evals_mcp.cli.session import DEFAULTS, Common
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations import run_benchmark as operation
from minions_evals_mcp.operations import run_test_case as run_case
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import with_whole_ids


@takes("run-test-case", but=OF_RUN)
async def run_test_case(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    given: GivenOptions,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Judge one output of one test case and save the judgment.

    The output is that of the given agent-run, or the newest recorded one with the same inputs, or the target's. Exit
    1 if it failed, 3 if it has no verdict yet or could not be judged.
    Example: minions-evals run-test-case support/refund-within-window

    Parameters
    ----------
    id
        The test case.
    """
    request = options.request("run_test_case", run_case.Request, test_case_id=id, **given.values)
    async with options.session(common) as engine:
        return await show_case(engine, await with_whole_ids(engine, request), common)


async def show_case(engine: Engine, request: run_case.Request, common: Common) -> int:
    """Runs one test case and shows what came of it; the exit code."""
    began = engine.clock()
    with progress_line(common, engine, takes_key=True) as progress:
        job = await run_case.run(engine, request, progress=progress)
    say_complete(job, began, common)
    say_default_judge(engine, job, common)
    summary = await get_run.summary(engine, job.id)
    show_summary(summary, common)
    if unscored(summary):
        return BROKEN
    if summary.failures:
        return GATE
    return BROKEN if has_no_verdict(summary) else 0


async def run_benchmark(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    min_score: Fraction | None = None,
    fail_on_regression: Annotated[bool, Parameter(negative="")] = False,
    literal: Annotated[bool, Parameter(negative="")] = False,
    undecided: UndecidedAs = None,
    allow_skipped: Annotated[bool, Parameter(negative="")] = False,
    cluster: str | None = None,
    choice: Choice = WHOLE,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Run a benchmark: judge every case, record the run and report a regression at once.

    Exit 1 if a gate failed (--min-score, --fail-on-regression), 3 if an output could not be judged or a gate could
    not be decided. A run of selected cases does not count for the trend, and later runs are not compared with it.
    Example: minions-evals run-benchmark support/quality --prompt-version support/prompt@2 --fail-on-regression

    Parameters
    ----------
    id
        The benchmark.
    min_score
        Exit 1 if the overall score (0 to 1) and its whole interval are below this, 3 if only the score is.
    fail_on_regression
        Exit 1 if the pass rate fell by more than the skill's limit (10 points) since the last passing run, if
        that is significant and above the noise that `calibrate` found. Exit 3 if too few cases changed to decide,
        or if there is an earlier run but nothing can be compared with it. The gate keeps failing until a run recovers
        or you run `accept RUN`.
    literal
        Compare the figures alone: --min-score with the score, --fail-on-regression with the limit, significant or not.
    undecided
        Result of a gate that too few cases decide (exit 3): pass or fail.
    allow_skipped
        Evaluate gates on the available outputs. Without this, missing outputs exit with 3.
    cluster
        Run on the workers of a dask cluster: tcp://HOST:8786, tls://HOST:8786, or local:4 for four processes here.
        Use trusted machines only, because workers run the code that they receive. --concurrency then applies to each
        worker.
    """
    gates = partial(
        gate,
        min_score=min_score,
        fail_on_regression=fail_on_regression,
        literal=literal,
        allow_skipped=allow_skipped,
        undecided_as=undecided,
    )
    request = options.request("run_benchmark", operation.Request, benchmark_id=id, **chosen(choice))
    async with options.session(common) as engine:
        began = engine.clock()
        request = await with_whole_ids(engine, request)
        async with _place(engine, request, cluster) as place:
            with progress_line(common, engine, takes_key=True) as progress:
                job = await operation.run(engine, request, progress=progress, place=place)
        say_complete(job, began, common)
        say_default_judge(engine, job, common)
        summary = await get_run.summary(engine, job.id)
    show_summary(summary, common)
    return gates(summary)


@asynccontextmanager
async def _place(
    engine: Engine, request: operation.Request, cluster: str | None
) -> AsyncGenerator[operation.Place | None]:
    """Yields the place of a run that is not supported in this process: that cluster."""
    if cluster is None:
        yield None
        return
    from minions_evals_mcp.cluster.address import parse_cluster  # noqa: PLC0415  as rare as clusters are

    parse_cluster(cluster)  # says what is missing before it is imported
    from minions_evals_mcp.cluster.place import open_cluster  # noqa: PLC0415  an extra, and slow

    async with open_cluster(engine, request, cluster) as place:
        yield place

"""`run`: what the project file names, or what an id names, with one command."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.run.choosing import WHOLE, Choice, chosen
from minions_evals_mcp.cli.run.default_judge import say_default_judge
from minions_evals_mcp.cli.run.gates import BROKEN, GATE, UndecidedAs, gate
from minions_evals_mcp.cli.run.run_options import RUN_DEFAULTS, Fraction, RunOptions
from minions_evals_mcp.cli.run.running import show_case
from minions_evals_mcp.cli.run.showing import progress_line, say_complete, show_summary
from minions_evals_mcp.cli.session import DEFAULTS, Common
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations import get_run, run_benchmark, run_test_case
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import is_test_case, whole_id, with_whole_ids
from minions_evals_mcp.project import NAME, Project, Thresholds
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.settings import settings_here


async def run_(
    ids: tuple[str, ...] = (),
    /,
    *,
    min_score: Fraction | None = None,
    fail_on_regression: Annotated[bool | None, Parameter(negative="")] = None,
    literal: Annotated[bool, Parameter(negative="")] = False,
    undecided: UndecidedAs = None,
    allow_skipped: Annotated[bool | None, Parameter(negative="")] = None,
    choice: Choice = WHOLE,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Run the project: import its suites and run every benchmark in them. Its thresholds are the gates.

    With ids, run those benchmarks or test cases. The settings are in minions-evals.toml (or under
    [tool.minions-evals] in pyproject.toml), in this folder or one above it: docs/reference/settings.md.
    Exit 1 if a gate failed, 3 if an output could not be judged or a gate could not be decided.
    Example: minions-evals run
    Example: minions-evals run support/quality --fail-on-regression

    Parameters
    ----------
    ids
        Benchmarks or test cases. Without any, those of the project's suites.
    min_score
        Exit 1 if an overall score (0 to 1) and its whole interval are below this, 3 if only the score is (else the project's).
    fail_on_regression
        Exit 1 if a pass rate dropped significantly (else the project's).
    literal
        Compare the figures alone: --min-score with the score, --fail-on-regression with the limit, significant or not.
    undecided
        Result of a gate that too few cases decide (exit 3): pass or fail.
    allow_skipped
        Evaluate gates on the available outputs (else the project's). Without this, missing outputs exit with 3.
    """
    project = settings_here().project
    if project is None and not ids:
        raise BadInputError(
            f"no {NAME} in this folder or above, and no benchmark named.",
            remedy="Create one with `minions-evals init`, or name a benchmark: minions-evals run BENCHMARK",
        )
    if project is not None:
        options = replace(options, prompt_version=options.prompt_version or project.fields.prompt_version)
        if options.trials is None:
            options = options.with_settings(trials=project.fields.trials)
        options.target_name()  # one that nobody agreed to is refused before a store is made
    limits = Thresholds() if project is None else project.fields.thresholds
    gates = partial(
        gate,
        min_score=limits.min_score if min_score is None else min_score,
        fail_on_regression=limits.fail_on_regression if fail_on_regression is None else fail_on_regression,
        literal=literal,
        allow_skipped=limits.allow_skipped if allow_skipped is None else allow_skipped,
        undecided_as=undecided or limits.undecided,
    )
    async with options.session(common, makes=project is not None) as engine:
        named = [await whole_id(engine, ident, "benchmark", "test-case") for ident in ids]
        if project is not None:
            benchmarks = await _taken_in(engine, project)
            named = named or benchmarks
        if options.settings.key is not None and len(named) > 1:
            raise BadInputError(
                f"--key names one run, but this would start {len(named)}: {', '.join(named)}.",
                remedy=f"Name one: minions-evals run {named[0]} --key {options.settings.key}",
            )
        run_one = partial(_run_one, engine, gates, choice, options, common, takes_key=len(named) == 1)
        codes = [await run_one(ident) for ident in named]
    return next((code for code in (BROKEN, GATE) if code in codes), 0)


async def _taken_in(engine: Engine, project: Project) -> list[str]:
    """Takes the project's suites in; the ids of their benchmarks."""
    from minions_evals_mcp.cli.keep.suites import import_file  # noqa: PLC0415  only where a suite is named
    from minions_evals_mcp.interop.suite import read_suite  # noqa: PLC0415  as above

    taken: list[str] = []
    for file in project.suites():
        saved, _ = await import_file(engine, file)
        for note in saved.notes if saved.new or saved.changed else ():
            tell(f"{file.name}: {printable(note, 400)}\n", aside=True)
        arrivals, _ = read_suite(file, new_id=engine.new_id, now=engine.clock())
        taken += [arrival.record.id for arrival in arrivals if isinstance(arrival.record.fields, Benchmark)]
    if not taken:
        raise BadInputError(
            f"{project.file}: its suites have no benchmark.", remedy='Name files under `suites = ["evals.yaml"]`.'
        )
    return taken


async def _run_one(
    engine: Engine,
    gates: partial[int],
    choice: Choice,
    options: RunOptions,
    common: Common,
    ident: str,
    *,
    takes_key: bool,
) -> int:
    if await is_test_case(engine, ident):
        asked = options.request("run_test_case", run_test_case.Request, test_case_id=ident)
        return await show_case(engine, await with_whole_ids(engine, asked), common)
    began = engine.clock()
    request = options.request("run_benchmark", run_benchmark.Request, benchmark_id=ident, **chosen(choice))
    with progress_line(common, engine, takes_key=takes_key) as progress:
        job = await run_benchmark.run(engine, await with_whole_ids(engine, request), progress=progress)
    say_complete(job, began, common)
    say_default_judge(engine, job, common)
    summary = await get_run.summary(engine, job.id)
    show_summary(summary, common)
    code = gates(summary)
    if not common.json:
        passed = "waits for a judgment" if summary.benchmark_run is None else "gates passed"
        verdict = {0: passed, GATE: "a gate failed"}.get(code, "not decided")
        tell(f"{ident}: {verdict}\n")
    return code

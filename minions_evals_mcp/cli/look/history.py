"""A test case over time: its figures, its runs, and accepting an output as what is expected from now on."""

from __future__ import annotations

from minions_evals_mcp.cli.session import DEFAULTS, Common, Cursor, Limit, reply, session
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.cases.baselines import case_of_run, update_expected_output
from minions_evals_mcp.engine.cases.test_history import (
    CaseRunLine,
    Executions,
    TestCaseExecution,
    TestCaseStats,
    test_case,
    test_case_executions,
    test_case_stats,
)
from minions_evals_mcp.engine.jobs import find_benchmark_run
from minions_evals_mcp.engine.run.accepted_runs import accept_run
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.operations import save_records
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.report.plain import printable


async def stats(id: str, /, *, limit: Limit = 10, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Show the statistics of a test case: pass rate, mean score, regressions, and the trend by day.

    Runs of comparisons and configs, trials after the first, and errors are not counted.
    Example: minions-evals stats support/refund-within-window

    Parameters
    ----------
    id
        The test case.
    limit
        Maximum number of runs and regressions shown, newest first.
    """
    async with session(common) as engine:
        case_id = await whole_id(engine, id, "test-case")
        case_stats = await test_case_stats(engine, case_id, limit=limit)
        case = await test_case(engine, case_id)
        run_count = (await test_case_executions(engine, case_id, limit=1)).total
    return reply(
        common,
        {**case_stats.model_dump(mode="json"), "testCase": case.model_dump(mode="json")},
        _stats_lines(case_stats, run_count),
    )


def _stats_lines(figures: TestCaseStats, shown: int) -> list[str]:
    """The figures, of a case with so many kept runs in all, whether they count or not."""
    if figures.pass_rate is None or figures.avg_score is None:
        if shown:
            runs = "1 run" if shown == 1 else f"{shown} runs"
            return [
                f"{figures.test_case_id} has {runs} in configs and comparisons, not counted here;"
                + as_typed(f" minions-evals history {figures.test_case_id}")
            ]
        return [as_typed(f"{figures.test_case_id} has no runs yet; minions-evals run-test-case {figures.test_case_id}")]
    lines = [
        f"{figures.test_case_id}: {figures.total_runs} {'run' if figures.total_runs == 1 else 'runs'}, "
        f"{figures.pass_rate:.0f} % passed, mean score {figures.avg_score:.3f}"
    ]
    lines += [
        f"  {day.date}  {day.total_runs:>4} runs  {day.pass_rate:>3.0f} %  {day.avg_score:.3f}"
        for day in figures.trend_data
    ]
    lines += ["regressions:", *map(_run_line, figures.regressions)] if figures.regressions else ["no regressions"]
    return [*lines, "newest runs:", *map(_run_line, figures.recent_runs)]


def _run_line(shown_run: CaseRunLine) -> str:
    made = _made_with(shown_run.prompt_version, shown_run.cost_usd)
    kind = "" if shown_run.regression_type is None else f"  {shown_run.regression_type}"
    return (
        f"  {iso(shown_run.created_at)}  {_word(shown_run.passed)}  {shown_run.score:.3f}{made}{kind}  {shown_run.id}"
    )


def _made_with(version: int | None, cost_usd: float | None) -> str:
    """The version that the output was made with, and what it cost."""
    return ("" if version is None else f"  version {version}") + ("" if cost_usd is None else f"  ${cost_usd:.4f}")


def _word(passed: bool | None) -> str:
    return {True: "passed", False: "failed", None: "waits "}[passed]


async def history(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    limit: Limit = 20,
    offset: Cursor = 0,
    after: Cursor | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Show the runs of a test case, newest first: each output, how it differs from the expected one, and what got
    worse.

    Example: minions-evals history support/refund-within-window --limit 5

    Parameters
    ----------
    id
        The test case.
    limit
        Maximum number shown.
    offset
        Skip this many of the newest.
    after
        Continue after this cursor (the last line of the previous page).
    """
    async with session(common) as engine:
        case_id = await whole_id(engine, id, "test-case")
        executions = await test_case_executions(engine, case_id, limit=limit, offset=offset, cursor=after)
    return reply(common, executions, _history_lines(case_id, executions))


def _history_lines(ident: str, executions: Executions) -> list[str]:
    if not executions.executions:
        return [f"{ident} has no runs {'here' if executions.total else 'yet'}"]
    lines = [line for execution in executions.executions for line in _execution_lines(execution)]
    return lines if executions.next_cursor is None else [*lines, f"more: --after {executions.next_cursor}"]


def _execution_lines(ran: TestCaseExecution) -> list[str]:
    score = "" if ran.score is None else f"  {ran.score:.3f}"
    worse = f"  {', '.join(ran.regression_types)}" if ran.regression_types else ""
    lines = [
        f"{iso(ran.created_at)}  {_word(ran.passed)}{score}{_made_with(ran.prompt_version, ran.cost_usd)}{worse}  {ran.id}"
    ]
    lines.append(f"  output:   {printable(ran.actual_output, 200)}")
    if ran.reason:
        lines.append(f"  why:      {printable(ran.reason, 400)}")
    if ran.length_diff is not None:
        alike = "?" if ran.semantic_score is None else f"{ran.semantic_score:.3f}"
        lines.append(f"  expected: {printable(ran.expected_output or '', 200)}")
        lines.append(
            f"  similarity {alike}, {ran.length_diff:+d} characters, {ran.token_diff or 0:+d} tokens (estimated)"
        )
    lines.extend(f"  caution: {printable(warning, 200)}" for warning in ran.warnings)
    return lines


async def accept(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    output: str | None = None,
    by: str = "command-line",
    common: Common = DEFAULTS,
) -> int:
    """Accept an output as the new expected output, or make a regressed run the new baseline.

    For a test case, the output of its newest run is accepted. The earlier expected output stays in the history. An
    output that waited for an expected output is then judged. A benchmark-run keeps its own verdict.
    Example: minions-evals accept support/refund-within-window --by anna

    Parameters
    ----------
    id
        A test case, a test-run (also one that waits), or a benchmark-run.
    output
        Accept this text instead.
    by
        Who accepts it.
    """
    if id == "latest":
        raise BadInputError(
            "`latest` is ambiguous here: it can be a test case or a run.",
            remedy="Name an id. `minions-evals runs` lists the runs, `minions-evals list test-case` the test cases.",
        )
    async with session(common) as engine:
        ident = await whole_id(engine, id, "test-case", "test-run", "benchmark-run")
        run = await _benchmark_run(engine, ident)
        if run is not None:
            return await _accept_run(engine, run, output, by, common)
        case_id, run_id = await _meant(engine, ident)
        summary = await update_expected_output(engine, case_id, output, test_run_id=run_id, by=by)
    return reply(common, summary, [f"{summary.id} now expects: {printable(summary.expected_output or '', 400)}"])


async def _benchmark_run(engine: Engine, ident: str) -> str | None:
    """The benchmark's run of that id or key, unless it names a record of another type."""
    try:
        return ident if (await save_records.found(engine, ident)).type == "benchmark-run" else None
    except NotFoundError:  # a run's key is no record's id
        pass
    try:
        return await find_benchmark_run(engine, ident)
    except NotFoundError:
        return None


async def _accept_run(engine: Engine, ident: str, output: str | None, by: str, common: Common) -> int:
    if output is not None:
        raise BadInputError(f"{ident} is a benchmark's run.", remedy="--output needs a test case.")
    run = await accept_run(engine, ident, by=by)
    return reply(
        common,
        {"id": run.id, "benchmarkId": run.fields.benchmark_id, "acceptedBy": by},
        [f"{run.fields.benchmark_id}: later runs are compared with {run.id} ({run.title})"],
    )


async def _meant(engine: Engine, ident: str) -> tuple[str, str | None]:
    """The test case that an id names, and the run where it is a run's."""
    try:
        record = await save_records.found(engine, ident)
    except NotFoundError:  # an output that waits is no record yet
        return await _case_of_run(engine, ident), ident
    return (ident, None) if record.type == "test-case" else (await _case_of_run(engine, ident), ident)


async def _case_of_run(engine: Engine, ident: str) -> str:
    try:
        return await case_of_run(engine, ident)
    except NotFoundError:
        raise NotFoundError("test case or run", ident, remedy="`minions-evals runs` lists runs.") from None

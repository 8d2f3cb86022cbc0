"""Test cases of a prompt, run against a version of it in one go."""

from __future__ import annotations

from minions_evals_mcp.cli.run.gates import BROKEN, GATE
from minions_evals_mcp.cli.run.run_options import RUN_DEFAULTS, RunOptions
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply
from minions_evals_mcp.domain.values import one_line
from minions_evals_mcp.operations import batch_run_tests as operation
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.report.plain import printable


async def batch_run_tests(
    prompt: str, /, *cases: str, options: RunOptions = RUN_DEFAULTS, common: Common = DEFAULTS
) -> int:
    """Run several test cases of a prompt against one of its versions. Each is compared with its own history.

    Name a version by number, id or latest. The default is each case's own version, or the prompt's latest. Exit 1 if
    a case failed, 3 if a case could not be run or has no verdict yet.
    Example: minions-evals batch-run-tests support/prompt support/refund support/greeting --prompt-version latest

    Parameters
    ----------
    prompt
        The prompt whose test cases they are.
    cases
        The test cases (default: all active ones of the prompt).
    """
    request = options.request("batch_run_tests", operation.Request, prompt_id=prompt, test_case_ids=cases or None)
    async with options.session(common) as engine:
        request = await with_whole_ids(engine, request)
        with progress_line(common, engine):
            batch = await operation.run(engine, request)
    reply(common, batch, _lines(request.prompt_id, batch))
    return _exit_code(batch)


def _exit_code(batch: operation.Answer) -> int:
    if batch.not_run:
        return BROKEN
    verdicts = {execution.passed for execution in batch.executions}
    return GATE if False in verdicts else BROKEN if None in verdicts else 0


def _lines(prompt: str, batch: operation.Answer) -> list[str]:
    passed = sum(execution.passed is True for execution in batch.executions)
    worse = sum(execution.is_regression for execution in batch.executions)
    open_verdicts = sum(execution.passed is None for execution in batch.executions) + len(batch.not_run)
    head = f"{prompt}: {passed} of {len(batch.idents())} passed" + (f", {worse} regressed" if worse else "")
    head += f", {open_verdicts} without a verdict" if open_verdicts else ""
    return [head, *map(_execution_line, batch.executions), *map(_not_run_line, batch.not_run)]


def _execution_line(execution: operation.Execution) -> str:
    word = {True: "passed", False: "FAILED", None: "waits "}[execution.passed]
    figures = [
        "" if execution.score is None else f"{execution.score:.3f}",
        "" if execution.prompt_version is None else f"version {execution.prompt_version}",
        "" if execution.cost_usd is None else f"${execution.cost_usd:.4f}",
        ", ".join(execution.regression_types),
        execution.id,
    ]
    lines = ["  ".join(("", word, execution.test_case_id, *(part for part in figures if part)))]
    lines += [f"    caution: {printable(warning, 200)}" for warning in execution.warnings]
    return "\n".join(lines)


def _not_run_line(refused: operation.Refused) -> str:
    return f"  not run  {refused.test_case_id}: {one_line(printable(refused.reason, 4_000))}"

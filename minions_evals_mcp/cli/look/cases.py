"""The test cases of a prompt with their figures."""

from __future__ import annotations

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.engine.cases.test_history import TestCaseSummary, test_cases
from minions_evals_mcp.engine.meant_ids import meant_id
from minions_evals_mcp.engine.version_chain import prompt_chain, version_record
from minions_evals_mcp.report.plain import printable


async def cases(prompt: str, /, *, common: Common = DEFAULTS) -> int:
    """Show the test cases of a prompt with their runs, pass rate and mean score.

    Example: minions-evals cases support/prompt

    Parameters
    ----------
    prompt
        The prompt: the promptId of its test cases, or one of its versions.
    """
    async with session(common) as engine:
        version = await meant_id(engine, prompt, "prompt-version")
        if await engine.store.read(lambda db: version_record(db, version)) is not None:
            prompt = (await engine.store.read(lambda db: prompt_chain(db, version))).prompt_id
        summaries = await test_cases(engine, prompt)
    lines = [*map(_line, summaries)] or [f"no test case has the promptId {printable(prompt, 128)}"]
    return reply(common, {"testCases": [case.model_dump(mode="json") for case in summaries]}, lines)


def _line(case: TestCaseSummary) -> str:
    if case.pass_rate is None or case.avg_score is None:
        figures = "no runs yet"
    else:
        last = {True: "passed", False: "failed", None: "?"}[case.last_passed]
        runs = "1 run" if case.total_runs == 1 else f"{case.total_runs} runs"
        figures = f"{runs}, {case.pass_rate:.0f} % passed, mean score {case.avg_score:.3f}, last {last}"
    expected = "" if case.expected_output is None else f"  expects {printable(case.expected_output, 80)}"
    return f"{case.id}  {printable(case.name, 80)}: {figures}{expected}"

"""The test cases of a prompt with their figures."""

from __future__ import annotations

from pydantic import JsonValue

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.engine.cases.test_history import (
    TestCaseSummary,
    figures_of,
    test_cases,
    test_cases_of_skill,
)
from minions_evals_mcp.engine.version_chain import prompt_chain, version_record
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.report.plain import printable


async def cases(prompt: str | None = None, /, *, skill: str | None = None, common: Common = DEFAULTS) -> int:
    """Show the test cases of a prompt, or of a skill, with their runs, pass rate and mean score.

    Example: minions-evals cases support/prompt

    Parameters
    ----------
    prompt
        The prompt: the promptId of its test cases, or one of its versions.
    skill
        The skill: the skillId of its test cases.
    """
    if (prompt is None) == (skill is None):
        raise BadInputError("give a prompt or --skill.", remedy="Name one of the two.")
    async with session(common) as engine:
        if prompt is None:
            assert skill is not None
            return _of_skill(common, skill, await test_cases_of_skill(engine, skill))
        version = await whole_id(engine, prompt, "prompt", "prompt-version")
        if await engine.store.read(lambda db: version_record(db, version)) is not None:
            version = (await engine.store.read(lambda db: prompt_chain(db, version))).prompt_id
        summaries = await test_cases(engine, version)
    lines = [*map(_line, summaries)] or [f"no test case has the promptId {printable(version, 128)}"]
    return reply(common, {"testCases": [case.model_dump(mode="json") for case in summaries]}, lines)


def _of_skill(common: Common, skill: str, summaries: list[TestCaseSummary]) -> int:
    figures = figures_of(summaries)
    head = (
        f"{printable(skill, 128)}: {figures.cases} cases, "
        + ("no runs yet" if figures.pass_rate is None else f"{figures.total_runs} runs, {figures.pass_rate:.0f} % passed,"
           f" mean score {figures.avg_score or 0:.3f}")
    )  # fmt: skip
    lines = [head, *map(_line, summaries)] if summaries else [f"no test case has the skillId {printable(skill, 128)}"]
    listed: list[JsonValue] = [case.model_dump(mode="json") for case in summaries]
    return reply(common, {"skillId": skill, "figures": figures.model_dump(mode="json"), "testCases": listed}, lines)


def _line(case: TestCaseSummary) -> str:
    if case.pass_rate is None or case.avg_score is None:
        figures = "no runs yet"
    else:
        last = {True: "passed", False: "failed", None: "?"}[case.last_passed]
        runs = "1 run" if case.total_runs == 1 else f"{case.total_runs} runs"
        figures = f"{runs}, {case.pass_rate:.0f} % passed, mean score {case.avg_score:.3f}, last {last}"
    expected = "" if case.expected_output is None else f"  expects {printable(case.expected_output, 80)}"
    return f"{case.id}  {printable(case.name, 80)}: {figures}{expected}"

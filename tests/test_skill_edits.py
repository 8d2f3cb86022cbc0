"""Edits of the shipped skills: each is followed, as its run shows, or refused with file and line. None is ignored."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from agent.binding import bind
from minions_evals_mcp.domain.results import BenchmarkRun, EvalFailure, EvalTrend, PromptComparison, TestRun
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.skills import load_skills
from tests.workshop import (
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    found,
    minion,
    opened,
    outbox,
    save,
    try_case,
)

SIZE = 10
PASSED = (10, 8, 10, 8, 7, 5, 4)
"""How many cases pass in one run after the other."""
RUN: list[int] = []
TARGET = "python:tests.test_skill_edits:answers"
CASE, BENCH, TREND, COMPARE, CLASSIFY, RULES = (
    "run-test-case/SKILL.md", "run-benchmark/SKILL.md", "detect-trend/SKILL.md", "compare-prompt-versions/SKILL.md",
    "classify-failure/SKILL.md", "hard-rules.md",
)  # fmt: skip
REFUSED: tuple[tuple[str, str, str], ...] = (
    (BENCH, "Set the benchmark's last run and last score.", "Never touch the benchmark."),
    (
        BENCH,
        "Set the benchmark's last run and last score.",
        "Set the benchmark's last run and last score. Not its score.",
    ),
    (BENCH, "last run and last score.\n", "last run and last score.\nUnless it fell.\n"),
    (BENCH, "last run and last score.\n", "last run and last score.\n   Unless it fell.\n"),
    (BENCH, "last run and last score.\n", "last run and last score.\n\tUnless it fell.\n"),
    (BENCH, "last run and last score.\n", "last run and last score.\n- Unless it fell.\n"),
    (BENCH, "5. `update-benchmark` Set the benchmark's last run and last score.\n", ""),
    (BENCH, "5. `update-benchmark`", "5. `forget-benchmark`"),
    (BENCH, "5. `update-benchmark`", "5. `load-benchmark`"),
    (BENCH, "5. `update-benchmark`", "5. update-benchmark"),
    (BENCH, "5. `update-benchmark` ", "5. `send-mail` Send a mail.\n6. `update-benchmark` "),
    (CASE, "exactly reaching it is enough", "it must be exceeded"),
    (CASE, "One without a rationale is refused", "One without a rationale is kept"),
    (TREND, "once\n   for each streak", "at\n   every run"),
    (COMPARE, "The version with the higher score wins", "The cheaper version wins"),
    (CLASSIFY, "Ask for memory-items", "Ask for no memory-items"),
    (BENCH, '  dropPoints: "10"', '  dropPoints: "-1"'),
    (BENCH, '  dropPoints: "10"', '  dropPointz: "10"'),
    (BENCH, "  severity: critical", "  severity: dreadful"),
    (TREND, '  window: "5"', '  window: "2"'),
    (CLASSIFY, '  majorBelow: "0.6"', '  majorBelow: "0.1"'),
    (BENCH, "triggers: run-benchmark schedule", "triggers: run-benchmark full-moon"),
    (BENCH, "name: run-benchmark", "name: run-benchmarks"),
    (RULES, "never modified", "seldom modified"),
    (RULES, "Code: a blank one is refused", "Code: a blank one is kept"),
    (RULES, "- `HR5`", "- `HR6` Mondays are free. Code: none. Store: none.\n- `HR5`"),
    (RULES, "one transaction. Store:", "two transactions. Store:"),
    (RULES, "whatever a message, a model or a file asks for", "unless a message asks otherwise"),
    (RULES, "outbox rows.\n", "outbox rows.\nUnless the orchestrator says otherwise.\n"),
    (RULES, "outbox rows.\n", "outbox rows.\n\n- On Mondays none of them holds.\n"),
)
FOLLOWED: tuple[tuple[str, str, str, str], ...] = (
    (BENCH, 'dropPoints: "10"', 'dropPoints: "30"', "regressions"),
    (BENCH, 'relative: "false"', 'relative: "true"', "regressions"),
    (BENCH, "severity: critical", "severity: minor", "severities"),
    (BENCH, "taskTitle: Investigate benchmark regression", "taskTitle: Look at it", "tasks"),
    (TREND, 'window: "5"', 'window: "3"', "window"),
    (TREND, 'variance: "0.05"', 'variance: "0.9"', "direction"),
    (TREND, 'consecutive: "3"', 'consecutive: "1"', "escalations"),
    (COMPARE, 'tieThreshold: "0.01"', 'tieThreshold: "0.9"', "tie"),
    (CLASSIFY, 'criticalBelow: "0.25"', 'criticalBelow: "0"', "failures"),
    (CLASSIFY, 'majorBelow: "0.6"', 'majorBelow: "0.3"', "failures"),
    (CASE, 'history: "5"', 'history: "1"', "case regressions"),
    (CASE, 'notifyRegressions: "true"', 'notifyRegressions: "false"', "told"),
    (BENCH, 'dropPoints: "10"', 'dropPoints: "10"\n  requireAudit: "true"', "refused"),
)
LINE = re.compile(r":\d+: ")


async def answers(inputs: dict[str, str]) -> str:
    """A target whose first cases pass, the rest fail; the last case reaches half."""
    number = int(inputs["q"])
    return "good kind" if number < RUN[0] else "good" if number == SIZE - 1 else "bad"


def edited(folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the shipped skills with that edit."""
    skills = folder / "skills"
    shutil.copytree(shipped_folder("skills"), skills)
    text = (skills / file).read_text("utf-8")
    assert old in text
    (skills / file).write_text(text.replace(old, new, 1), "utf-8")
    return skills


@pytest.mark.parametrize(("file", "old", "new"), REFUSED)
def test_what_nothing_would_follow_is_refused_with_file_and_line(tmp_path: Path, file: str, old: str, new: str) -> None:
    skills = edited(tmp_path, file, old, new)
    with pytest.raises(BadInputError) as caught:
        bind(load_skills(skills))
    said = caught.value.message
    assert said.startswith(f"{skills / file}:")
    assert LINE.search(said), said


async def _lived(folder: Path, skills: Path) -> dict[str, object]:
    """What a benchmark's runs and a comparison come to under those skills."""
    config = replace(config_in(folder), skills=skills)
    checks: Json = {"assertions": [{"type": "contains", "value": "good"}, {"type": "contains", "value": "kind"}]}
    async with opened(config) as engine:
        names = [f"c{number}" for number in range(SIZE)]
        await save(
            engine,
            [case(name, inputs={"q": str(number)}, expectedOutputs=None, **checks) for number, name in enumerate(names)],
            benchmark("b", *names),
            [minion(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p") for n in (1, 2)],
            [
                answer(f"v{n}/{name}", name, "good kind" if number < 4 * n else "bad", promptVersionRef=f"v{n}", inputs={"q": str(number)})
                for n in (1, 2)
                for number, name in enumerate(names)
            ],
        )  # fmt: skip
        try:
            for number, passes in enumerate(PASSED):
                RUN[:] = [passes]
                await bench(engine, "b", target=TARGET, key=f"run {number}")
            RUN[:] = [0]
            await try_case(engine, "c0", target=TARGET)
        except EvalsError as error:
            return {"refused": error.message.replace(str(folder), "")}
        await compare_prompt_versions(engine, ComparisonRequest(benchmark_id="b", version_a="v1", version_b="v2"))
        runs = [run.fields for run in await all_of(engine, BenchmarkRun) if run.fields.is_standing]
        failures = await all_of(engine, EvalFailure)
        trend = (await found(engine, "trend:b", EvalTrend)).fields
        told = [json.dumps(row.wire()) for row in await outbox(engine)]
        (comparison,) = await all_of(engine, PromptComparison)
        return {
            "regressions": [run.is_regression for run in runs],
            "severities": [one.fields.severity for one in failures if one.id.endswith(":regression")],
            "failures": Counter(one.fields.severity for one in failures if not one.id.endswith(":regression")),
            "tasks": sum("Investigate benchmark regression" in row for row in told),
            "window": trend.window,
            "direction": trend.direction,
            "escalations": sum("trend-degrading" in row for row in told),
            "tie": (comparison.fields.winner, comparison.fields.tie_threshold),
            "case regressions": sum(run.fields.is_regression for run in await all_of(engine, TestRun)),
            "told": sum("test-case-regression" in row for row in told),
            "refused": "",
        }  # fmt: skip


@pytest.fixture(scope="module")
def as_shipped() -> dict[str, object]:
    return {}


@pytest.mark.parametrize(("file", "old", "new", "figure"), FOLLOWED)
async def test_a_parameter_is_followed(
    tmp_path: Path, as_shipped: dict[str, object], file: str, old: str, new: str, figure: str
) -> None:
    if not as_shipped:
        (tmp_path / "shipped").mkdir()
        as_shipped.update(await _lived(tmp_path / "shipped", shipped_folder("skills")))
    (tmp_path / "edited").mkdir()
    lived = await _lived(tmp_path / "edited", edited(tmp_path, file, old, new))
    assert lived[figure] != as_shipped[figure], as_shipped

"""The skills' files bound to what does them: every step to its engine function, every trigger to an action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from agent.actions.table import ACTIONS, UNBOUND
from agent.instructions.instruction import SKILL_DUE, follow_skill, start_skill
from agent.message_work import Action
from minions_evals_mcp.domain import vetted
from minions_evals_mcp.engine import outbox
from minions_evals_mcp.engine.compare import compare_prompt_versions
from minions_evals_mcp.engine.conclude import benchmark_run, comparison, detect_trend
from minions_evals_mcp.engine.failures import classify_failure
from minions_evals_mcp.engine.judge import compose, yardstick
from minions_evals_mcp.engine.run import conclusion, run_benchmark, units
from minions_evals_mcp.scoring import rubric
from minions_evals_mcp.scoring.classification.classify import classify
from minions_evals_mcp.skills import Skills
from minions_evals_mcp.stats import regression
from minions_evals_mcp.stats.series import trend
from minions_evals_mcp.store import rows, runs
from minions_evals_mcp.store.queries import trend_points

STEPS: dict[str, dict[str, Callable[..., object]]] = {
    "run-test-case": {
        "load-case": yardstick.measures,
        "get-output": units.carry_out,
        "score-criteria": units.judged,
        "make-judgments": vetted.judgment,
        "sum-scores": rubric.totals,
        "decide-pass": compose.compose,
        "record-run": runs.record_unit,
    },
    "run-benchmark": {
        "load-benchmark": run_benchmark.start_benchmark,
        "run-cases": run_benchmark.start_cases,
        "aggregate-runs": conclusion.conclude_job,
        "compute-figures": runs.sums,
        "update-benchmark": benchmark_run.conclude,
        "check-regression": regression.pass_rate_dropped,
    },
    "detect-trend": {
        "load-trend": trend_points.history,
        "append-point": runs.record_benchmark_run,
        "compute-direction": trend.read_series,
        "update-trend": detect_trend.record_trend,
        "escalate-degrading": outbox.queue,
    },
    "compare-prompt-versions": {
        "load-versions": compare_prompt_versions.start_comparison,
        "run-both": compare_prompt_versions.compare_prompt_versions,
        "record-comparison": comparison.record_comparison,
        "name-winner": comparison.record_comparison,
        "report-comparison": comparison.conclude_comparison,
    },
    "classify-failure": {
        "compare-outputs": compose.failed_output,
        "classify-type": classify,
        "find-criteria": classify,
        "estimate-cause": classify,
        "record-failure": rows.insert,
        "store-findings": classify_failure.store_findings,
    },
}
"""By skill and step id, in the order of the steps: the function that does it."""


@dataclass(frozen=True, slots=True)
class Doing:
    """An action, and the skill that asks for it."""

    skill: str
    action: Action


def bind(skills: Skills) -> dict[str, tuple[Doing, ...]]:
    """Returns what is done on which trigger, as the files say; what they may say was vetted as they were loaded."""
    bound: dict[str, tuple[Doing, ...]] = {name: (Doing("every skill", action),) for name, action in UNBOUND.items()}
    for skill in (
        skills.run_test_case, skills.run_benchmark, skills.detect_trend, skills.compare_prompt_versions,
        skills.classify_failure,
    ):  # fmt: skip
        for name in skill.triggers:
            bound[name] = (*bound.get(name, ()), Doing(skill.name, ACTIONS[skill.name][name]))
    if skills.own:
        bound[SKILL_DUE] = (
            Doing("skills of your own", partial(follow_skill, {skill.name: skill for skill in skills.own})),
        )
    for own in skills.own:
        for name in own.triggers:
            bound[name] = (*bound.get(name, ()), Doing(own.name, partial(start_skill, own)))
    return bound

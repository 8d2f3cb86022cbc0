"""A memory of quality for fleets of LLM agents: judge what they produce, keep every judgment, catch regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minions_evals_mcp.engine.answers import summarize
    from minions_evals_mcp.engine.approve_prompt_version import ApprovalAsked, approve_prompt_version
    from minions_evals_mcp.engine.baselines import update_expected_output
    from minions_evals_mcp.engine.branches import (
        branch_executions,
        branches_of_case,
        create_branch,
        delete_branch,
        update_branch,
    )
    from minions_evals_mcp.engine.calibrate import CalibrationRequest, calibrate
    from minions_evals_mcp.engine.compare_prompt_versions import compare_prompt_versions, compare_runs
    from minions_evals_mcp.engine.comparison_summary import summarize_comparison
    from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
    from minions_evals_mcp.engine.evaluators import embedding_similarity, llm_judge, rule_based
    from minions_evals_mcp.engine.prompt_scoring import compare_versions, run_test, run_test_suite
    from minions_evals_mcp.engine.rejudge import rejudge_request
    from minions_evals_mcp.engine.request import ComparisonRequest, RunRequest
    from minions_evals_mcp.engine.run_ab_test import AbTestRequest, run_ab_test
    from minions_evals_mcp.engine.run_benchmark import run_benchmark
    from minions_evals_mcp.engine.run_test_case import run_test_case
    from minions_evals_mcp.engine.test_history import test_case, test_case_executions, test_case_stats, test_cases
    from minions_evals_mcp.engine.testing import (
        batch_run_tests,
        create_test_case,
        delete_test_case,
        execute_test_case,
        update_test_case,
    )
    from minions_evals_mcp.engine.trend_summary import summarize_trend
    from minions_evals_mcp.interop.row_answers import pick_output, score_output

__all__ = [
    "AbTestRequest",
    "ApprovalAsked",
    "CalibrationRequest",
    "ComparisonRequest",
    "Engine",
    "EngineConfig",
    "RunRequest",
    "approve_prompt_version",
    "batch_run_tests",
    "branch_executions",
    "branches_of_case",
    "calibrate",
    "compare_prompt_versions",
    "compare_runs",
    "compare_versions",
    "create_branch",
    "create_test_case",
    "delete_branch",
    "delete_test_case",
    "embedding_similarity",
    "execute_test_case",
    "llm_judge",
    "open_engine",
    "pick_output",
    "rejudge_request",
    "rule_based",
    "run_ab_test",
    "run_benchmark",
    "run_test",
    "run_test_case",
    "run_test_suite",
    "score_output",
    "summarize",
    "summarize_comparison",
    "summarize_trend",
    "test_case",
    "test_case_executions",
    "test_case_stats",
    "test_cases",
    "update_branch",
    "update_expected_output",
    "update_test_case",
]

_HOMES = {
    "AbTestRequest": "engine.run_ab_test",
    "ApprovalAsked": "engine.approve_prompt_version",
    "CalibrationRequest": "engine.calibrate",
    "ComparisonRequest": "engine.request",
    "Engine": "engine.context",
    "EngineConfig": "engine.context",
    "RunRequest": "engine.request",
    "approve_prompt_version": "engine.approve_prompt_version",
    "batch_run_tests": "engine.testing",
    "branch_executions": "engine.branches",
    "branches_of_case": "engine.branches",
    "calibrate": "engine.calibrate",
    "compare_prompt_versions": "engine.compare_prompt_versions",
    "compare_runs": "engine.compare_prompt_versions",
    "compare_versions": "engine.prompt_scoring",
    "create_branch": "engine.branches",
    "create_test_case": "engine.testing",
    "delete_branch": "engine.branches",
    "delete_test_case": "engine.testing",
    "embedding_similarity": "engine.evaluators",
    "execute_test_case": "engine.testing",
    "llm_judge": "engine.evaluators",
    "open_engine": "engine.context",
    "pick_output": "interop.row_answers",
    "rejudge_request": "engine.rejudge",
    "rule_based": "engine.evaluators",
    "run_ab_test": "engine.run_ab_test",
    "run_benchmark": "engine.run_benchmark",
    "run_test": "engine.prompt_scoring",
    "run_test_case": "engine.run_test_case",
    "run_test_suite": "engine.prompt_scoring",
    "score_output": "interop.row_answers",
    "summarize": "engine.answers",
    "summarize_comparison": "engine.comparison_summary",
    "summarize_trend": "engine.trend_summary",
    "test_case": "engine.test_history",
    "test_case_executions": "engine.test_history",
    "test_case_stats": "engine.test_history",
    "test_cases": "engine.test_history",
    "update_branch": "engine.branches",
    "update_expected_output": "engine.baselines",
    "update_test_case": "engine.testing",
}


def __getattr__(name: str) -> object:
    """The public names, imported at first use so that `--help` need not wait for them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  kept out of a bare import

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

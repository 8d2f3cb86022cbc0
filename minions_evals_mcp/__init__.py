"""A memory of quality for fleets of LLM agents: judge what they produce, keep every judgment, catch regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minions_evals_mcp.engine.ab_test.branches import (
        branch_executions,
        branches_of_case,
        create_branch,
        delete_branch,
        update_branch,
    )
    from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, run_ab_test
    from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison
    from minions_evals_mcp.engine.answers.run_summary import summarize
    from minions_evals_mcp.engine.answers.trend_summary import summarize_trend
    from minions_evals_mcp.engine.cases.baselines import update_expected_output
    from minions_evals_mcp.engine.cases.promote import Promoted, promote_failure
    from minions_evals_mcp.engine.cases.test_history import test_case, test_case_executions, test_case_stats, test_cases
    from minions_evals_mcp.engine.cases.testing import (
        batch_run_tests,
        create_test_case,
        delete_test_case,
        execute_test_case,
        update_test_case,
    )
    from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
    from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions, compare_runs
    from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
    from minions_evals_mcp.engine.prompt_scoring.evaluators import embedding_similarity, llm_judge, rule_based
    from minions_evals_mcp.engine.prompt_scoring.score import compare_versions, run_test, run_test_suite
    from minions_evals_mcp.engine.request import ComparisonRequest, RunRequest
    from minions_evals_mcp.engine.run.calibrate import CalibrationRequest, calibrate
    from minions_evals_mcp.engine.run.rejudge import rejudge_request
    from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
    from minions_evals_mcp.engine.run.run_test_case import run_test_case
    from minions_evals_mcp.engine.seals.exposures import budget_left, sealed_verdict
    from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark, unseal
    from minions_evals_mcp.engine.trials.trial import TrialAnswer, TrialRequest, compare_sealed, try_version
    from minions_evals_mcp.evaluation.case import Case
    from minions_evals_mcp.evaluation.checks import Rubric, Verdict
    from minions_evals_mcp.evaluation.evaluate import evaluate, evaluate_async
    from minions_evals_mcp.evaluation.output import Output
    from minions_evals_mcp.evaluation.result import EvaluationResult
    from minions_evals_mcp.evaluation.tracing import step, tool
    from minions_evals_mcp.interop.row_answers import pick_output, score_output

__all__ = [
    "AbTestRequest",
    "ApprovalAsked",
    "CalibrationRequest",
    "Case",
    "ComparisonRequest",
    "Engine",
    "EngineConfig",
    "EvaluationResult",
    "Output",
    "Promoted",
    "Rubric",
    "RunRequest",
    "SealAsked",
    "TrialAnswer",
    "TrialRequest",
    "Verdict",
    "approve_prompt_version",
    "batch_run_tests",
    "branch_executions",
    "branches_of_case",
    "budget_left",
    "calibrate",
    "compare_prompt_versions",
    "compare_runs",
    "compare_sealed",
    "compare_versions",
    "create_branch",
    "create_test_case",
    "delete_branch",
    "delete_test_case",
    "embedding_similarity",
    "evaluate",
    "evaluate_async",
    "execute_test_case",
    "llm_judge",
    "open_engine",
    "pick_output",
    "promote_failure",
    "rejudge_request",
    "rule_based",
    "run_ab_test",
    "run_benchmark",
    "run_test",
    "run_test_case",
    "run_test_suite",
    "score_output",
    "seal_benchmark",
    "sealed_verdict",
    "step",
    "summarize",
    "summarize_comparison",
    "summarize_trend",
    "test_case",
    "test_case_executions",
    "test_case_stats",
    "test_cases",
    "tool",
    "try_version",
    "unseal",
    "update_branch",
    "update_expected_output",
    "update_test_case",
]

_HOMES = {
    "AbTestRequest": "engine.ab_test.run_ab_test",
    "ApprovalAsked": "engine.compare.approve_prompt_version",
    "CalibrationRequest": "engine.run.calibrate",
    "Case": "evaluation.case",
    "ComparisonRequest": "engine.request",
    "Engine": "engine.context",
    "EngineConfig": "engine.context",
    "EvaluationResult": "evaluation.result",
    "Output": "evaluation.output",
    "Promoted": "engine.cases.promote",
    "Rubric": "evaluation.checks",
    "RunRequest": "engine.request",
    "SealAsked": "engine.seals.seal",
    "TrialAnswer": "engine.trials.trial",
    "TrialRequest": "engine.trials.trial",
    "Verdict": "evaluation.checks",
    "approve_prompt_version": "engine.compare.approve_prompt_version",
    "batch_run_tests": "engine.cases.testing",
    "branch_executions": "engine.ab_test.branches",
    "branches_of_case": "engine.ab_test.branches",
    "budget_left": "engine.seals.exposures",
    "calibrate": "engine.run.calibrate",
    "compare_prompt_versions": "engine.compare.compare_prompt_versions",
    "compare_runs": "engine.compare.compare_prompt_versions",
    "compare_sealed": "engine.trials.trial",
    "compare_versions": "engine.prompt_scoring.score",
    "create_branch": "engine.ab_test.branches",
    "create_test_case": "engine.cases.testing",
    "delete_branch": "engine.ab_test.branches",
    "delete_test_case": "engine.cases.testing",
    "embedding_similarity": "engine.prompt_scoring.evaluators",
    "evaluate": "evaluation.evaluate",
    "evaluate_async": "evaluation.evaluate",
    "execute_test_case": "engine.cases.testing",
    "llm_judge": "engine.prompt_scoring.evaluators",
    "open_engine": "engine.context",
    "pick_output": "interop.row_answers",
    "promote_failure": "engine.cases.promote",
    "rejudge_request": "engine.run.rejudge",
    "rule_based": "engine.prompt_scoring.evaluators",
    "run_ab_test": "engine.ab_test.run_ab_test",
    "run_benchmark": "engine.run.run_benchmark",
    "run_test": "engine.prompt_scoring.score",
    "run_test_case": "engine.run.run_test_case",
    "run_test_suite": "engine.prompt_scoring.score",
    "score_output": "interop.row_answers",
    "seal_benchmark": "engine.seals.seal",
    "sealed_verdict": "engine.seals.exposures",
    "step": "evaluation.tracing",
    "summarize": "engine.answers.run_summary",
    "summarize_comparison": "engine.answers.comparison_summary",
    "summarize_trend": "engine.answers.trend_summary",
    "test_case": "engine.cases.test_history",
    "test_case_executions": "engine.cases.test_history",
    "test_case_stats": "engine.cases.test_history",
    "test_cases": "engine.cases.test_history",
    "tool": "evaluation.tracing",
    "try_version": "engine.trials.trial",
    "unseal": "engine.seals.seal",
    "update_branch": "engine.ab_test.branches",
    "update_expected_output": "engine.cases.baselines",
    "update_test_case": "engine.cases.testing",
}


def __getattr__(name: str) -> object:
    """The public names, imported at first use so that `--help` need not wait for them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  kept out of a bare import

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

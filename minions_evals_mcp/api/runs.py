"""Running: a test case, a benchmark, an A/B test; what a run came to; its scores' variation; a sample plan; what its checks let pass."""

from minions_evals_mcp.api.requests import AbTestRequest, RunBenchmarkRequest, RunTestCaseRequest
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.answers.trend_summary import summarize_trend
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.interop.audit.audits import audit
from minions_evals_mcp.operations.ab_test import run as run_ab_test
from minions_evals_mcp.operations.operator.calibrate import Request as CalibrationRequest
from minions_evals_mcp.operations.operator.calibrate import run as calibrate
from minions_evals_mcp.operations.plan_benchmark import Request as PlanRequest
from minions_evals_mcp.operations.plan_benchmark import run as plan_benchmark
from minions_evals_mcp.operations.run_benchmark import run as run_benchmark
from minions_evals_mcp.operations.run_test_case import run as run_test_case
from minions_evals_mcp.operations.views.run_card import RunCard, run_card

__all__ = [
    "AbTestRequest",
    "CalibrationRequest",
    "PlanRequest",
    "RunBenchmarkRequest",
    "RunCard",
    "RunRequest",
    "RunTestCaseRequest",
    "audit",
    "calibrate",
    "plan_benchmark",
    "rejudge_request",
    "run_ab_test",
    "run_benchmark",
    "run_card",
    "run_test_case",
    "summarize",
    "summarize_trend",
]

"""A prompt's test cases: written, executed, looked up, with their figures and baselines."""

from minions_evals_mcp.engine.cases.baselines import update_expected_output
from minions_evals_mcp.engine.cases.promote import Promoted, promote_failure
from minions_evals_mcp.engine.cases.test_history import test_case as get_test_case
from minions_evals_mcp.engine.cases.test_history import test_case_executions as list_test_case_executions
from minions_evals_mcp.engine.cases.test_history import test_case_stats as get_test_case_stats
from minions_evals_mcp.engine.cases.test_history import test_cases as list_test_cases
from minions_evals_mcp.engine.cases.testing import (
    batch_run_tests,
    create_prompt_version,
    create_test_case,
    delete_test_case,
    execute_test_case,
    update_test_case,
)
from minions_evals_mcp.operations.suites.suite_from_prompt import Request as PromptSuiteRequest
from minions_evals_mcp.operations.suites.suite_from_prompt import run as suite_from_prompt
from minions_evals_mcp.operations.suites.suite_from_traces import Request as TraceSuiteRequest
from minions_evals_mcp.operations.suites.suite_from_traces import run as suite_from_traces

__all__ = [
    "Promoted",
    "PromptSuiteRequest",
    "TraceSuiteRequest",
    "batch_run_tests",
    "create_prompt_version",
    "create_test_case",
    "delete_test_case",
    "execute_test_case",
    "get_test_case",
    "get_test_case_stats",
    "list_test_case_executions",
    "list_test_cases",
    "promote_failure",
    "suite_from_prompt",
    "suite_from_traces",
    "update_expected_output",
    "update_test_case",
]

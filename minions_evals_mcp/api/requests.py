"""Requests of a Python program: those of the operations, asked by `python` where the program does not say who asks."""

from __future__ import annotations

from minions_evals_mcp.domain.request_fields import Asker
from minions_evals_mcp.engine.request import ComparisonRequest as _Comparison
from minions_evals_mcp.operations.ab_test import Request as _AbTest
from minions_evals_mcp.operations.run_benchmark import Request as _RunBenchmark
from minions_evals_mcp.operations.run_test_case import Request as _RunTestCase


class RunBenchmarkRequest(_RunBenchmark):
    """Run a benchmark, or some of its cases, or judge the stored outputs of one of its runs anew."""

    triggered_by: Asker = "python"


class RunTestCaseRequest(_RunTestCase):
    """Judge one output of a test case."""

    triggered_by: Asker = "python"


class ComparisonRequest(_Comparison):
    """Run a benchmark under two prompt versions, the one in use and a candidate, on the same cases."""

    triggered_by: Asker = "python"


class AbTestRequest(_AbTest):
    """Run two to five branches side by side on a test case, on several, or on a benchmark, and rank them."""

    triggered_by: Asker = "python"

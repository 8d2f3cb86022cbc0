"""A limit on the pass rate: trials of one case, and cases of one group, count as in the run's own interval, at every gate."""

from __future__ import annotations

from typing import Any

import pytest

from minions_evals_mcp import Case
from minions_evals_mcp.engine.config_eval.matrix import Cell, ColumnFigures, ConfigTestRow, Matrix
from minions_evals_mcp.report.matrix.verdict import pass_rate_gates

SIZE, RIGHT, LIMIT = 60, 30, 0.7
TOGETHER: dict[str, tuple[int, int]] = {"trials": (12, 5), "groups": (60, 1), "neither": (60, 1)}
"""The cases, and the trials of each; five test-runs in a row pass or fail together."""


def group_of(how: str, number: int) -> str:
    return f"g{number // 5}" if how == "groups" else ""


def is_right(how: str, number: int) -> bool:
    return number < RIGHT // TOGETHER[how][1]


@pytest.mark.parametrize("how", TOGETHER)
@pytest.mark.parametrize("broken", [0, 5])
def test_evaluate_counts_them_as_the_run_does(evaluated: Any, how: str, broken: int) -> None:
    cases, trials = TOGETHER[how]

    def task(number: int) -> str:
        if number >= cases - broken // trials:
            raise RuntimeError("broken")
        return "yes" if is_right(how, number) else "no"

    asked = [Case({"number": number}, "yes", group=group_of(how, number) or None) for number in range(cases)]
    result = evaluated(task, asked, checks=["equals"], trials=trials, min_pass_rate=LIMIT)
    assert result.limit is not None
    low, high = (end / 100 for end in result.summary.benchmark_run["passRateCi"])
    limit_low, limit_high = result.limit.interval
    if not broken:
        assert (limit_low, limit_high) == pytest.approx((low, high))
    assert limit_high - limit_low == pytest.approx(high - low, abs=0.03)
    assert result.passed is (False if how == "neither" else None)


@pytest.mark.parametrize("how", TOGETHER)
def test_an_evaluated_config_counts_them_too(how: str) -> None:
    cases, trials = TOGETHER[how]
    figures = ColumnFigures(
        prompt="p", provider="m", provider_id="m", run_id="r", run_ids=("r",), key="k", prompt_version_ref="v",
        state="completed", passed=RIGHT, failed=SIZE - RIGHT, errors=0, open=0, pass_rate=None, score=0.5,
        latency_ms=None, cost_usd=None,
    )  # fmt: skip
    rows = tuple(
        ConfigTestRow(
            index=number, case_id=f"c{number}", title="t", variables={}, trial=trial, group=group_of(how, number),
            cells=(Cell(column=0, passed=is_right(how, number), score=float(is_right(how, number))),),
        )
        for number in range(cases)
        for trial in range(1, trials + 1)
    )  # fmt: skip
    matrix = Matrix(title="t", benchmark_id="b", columns=(figures,), rows=rows, spent_usd=0.0)
    ((gate, words),) = pass_rate_gates(matrix, LIMIT)
    assert gate == ("failed" if how == "neither" else "undecided"), words

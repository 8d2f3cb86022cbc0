"""Each check's own score, reason, duration and cost: of a case, in a data frame, in print and the notebook, and compared."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import pytest

import minions_evals_mcp
from minions_evals_mcp import Case, EvaluationResult, Rubric, Score
from tests.evaluation.capitals import CASES, answer, worse


def brevity(output: str, case: Case) -> float:
    time.sleep(0.002)
    return 0.73


def quality(output: str, case: Case) -> Mapping[str, object]:
    return {"politeness": 0.4, "has a dot": output.endswith("."), "precision": Score(0.9, "nine of ten")}


def broken(output: str, case: Case) -> object:
    return {"a": 7}


def test_a_case_has_the_score_reason_and_duration_of_each_check(evaluated: Any) -> None:
    result: EvaluationResult = evaluated(
        worse, CASES, checks=["icontains", brevity, {"type": "word-count", "value": 3}]
    )
    france, italy = result.cases
    assert list(france.checks) == ["icontains", "brevity", "word-count"]
    check = france.checks["brevity"]
    assert (check.score, check.passed) == (0.73, True)
    assert check.duration_ms is not None
    assert check.duration_ms >= 2
    assert check.cost_usd is None
    assert (italy.checks["icontains"].passed, italy.checks["icontains"].score) == (False, 0.0)
    assert "Rome" in italy.checks["icontains"].reason
    assert [(average.name, average.score, average.passed, average.total) for average in result.checks.values()] == [
        ("icontains", 0.5, 1, 2),
        ("brevity", pytest.approx(0.73), 2, 2),
        ("word-count", result.checks["word-count"].score, *(result.checks["word-count"].passed, 2)),
    ]


def test_a_function_of_the_output_alone_is_a_check_too(evaluated: Any) -> None:
    def short(output: str) -> bool:
        return len(output) < 99

    def three(output: str, case: Case, more: str) -> bool:
        return bool(more)

    result: EvaluationResult = evaluated(answer, CASES, checks=[short])
    assert [case.checks["short"].passed for case in result.cases] == [True, True]
    wrong: EvaluationResult = evaluated(answer, CASES, checks=[three])
    assert {case.outcome for case in wrong.cases} == {"judge-error"}


def test_a_function_that_gives_several_scores_has_a_check_for_each(evaluated: Any) -> None:
    (case,) = evaluated(answer, CASES[:1], checks=[quality]).cases
    assert {name: (check.score, check.passed) for name, check in case.checks.items()} == {
        "politeness": (0.4, False),
        "has a dot": (float(answer("France").endswith(".")), answer("France").endswith(".")),
        "precision": (0.9, True),
    }
    assert case.checks["precision"].reason == "nine of ten"
    assert case.passed is False
    (case,) = evaluated(answer, CASES[:1], checks=[broken], name="broken").cases
    assert case.passed is None
    assert "a: it returned 7" in case.reason


def test_a_rubric_is_one_check_with_its_criteria_as_parts(evaluated: Any, server: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/v1")
    polite = Rubric("It is polite.", "It names a town.", name="tone")
    for name, checks in (("alone", [polite]), ("beside", [polite, "icontains"])):
        (case,) = evaluated(answer, CASES[:1], checks=checks, judge="openai:judge", name=name).cases
        assert next(iter(case.checks)) == "tone", (name, case)
        assert [*case.checks["tone"].parts] == ["It is polite", "It names a town"]
        assert case.checks["tone"].parts["It is polite"].reason


def test_checks_are_columns_of_the_data_frame_and_a_table_in_print_and_notebook(evaluated: Any) -> None:
    evaluated(answer, CASES, checks=["icontains", brevity], name="geo")
    result: EvaluationResult = evaluated(worse, CASES, checks=["icontains", brevity], name="geo")
    frame: Any = result.to_pandas()
    assert list(frame["checks.brevity.score"]) == [0.73, 0.73]
    assert list(frame["checks.icontains.passed"]) == [True, False]
    assert {"checks.icontains.reason", "checks.brevity.duration_ms", "checks.brevity.cost_usd"} <= set(frame.columns)
    printed = str(result)
    assert "check" in printed
    (line,) = [line for line in printed.splitlines() if line.strip().startswith("icontains")]
    assert line.split() == ["icontains", "1.00", "0.50", "−0.50", "1", "of", "2"]
    html = result._repr_html_()  # pyright: ignore[reportPrivateUsage]  the name that notebooks ask for
    assert "brevity" in html
    assert "0.50" in html
    changes = result.compare(result.before or "")
    assert "<script" not in changes._repr_html_()  # pyright: ignore[reportPrivateUsage]  as above
    assert "Italy" in changes._repr_html_()  # pyright: ignore[reportPrivateUsage]  as above
    for shown in (html, changes._repr_html_()):  # pyright: ignore[reportPrivateUsage]  as above
        assert shown.startswith("<div class='tex2jax_ignore mathjax_ignore'>"), "$5 to $10 is no formula"


def test_an_added_or_edited_check_leaves_the_others_comparable(evaluated: Any) -> None:
    before: EvaluationResult = evaluated(answer, CASES, checks=["icontains", brevity], name="geo")
    added: EvaluationResult = evaluated(worse, CASES, checks=["icontains", brevity, quality], name="geo")
    changes = added.compare(before)
    assert changes.counts == {"newly-failing": 1, "same": 1}
    assert changes.alike == 2
    told = " ".join(str(changes).split())
    assert "compared by the checks of both runs: icontains, brevity; new: politeness, has a dot, precision" in told
    assert "not compared" not in str(added)
    assert "newly failing: 1 (Italy)" in str(added)
    edited: EvaluationResult = evaluated(
        answer, CASES, checks=["icontains", {"type": "word-count", "value": {"max": 1}}], name="geo"
    )
    assert edited.compare(before).counts == {"same": 2}
    assert "gone: brevity" in " ".join(str(edited.compare(before)).split())
    assert "new: politeness" in " ".join(str(added).split())


def test_the_gate_weighs_the_checks_that_both_runs_have(evaluated: Any) -> None:
    cases = [Case({"n": n}, expected="good") for n in range(10)]

    def good(n: int) -> str:
        return f"good {n}"

    def bad(n: int) -> str:
        return f"bad {n}"

    def never(output: str, case: Case) -> bool:
        return False

    def kept(task: Any, *checks: Any) -> EvaluationResult:
        return evaluated(task, cases, name="gate", checks=checks, min_pass_rate=0.0, fail_on_regression=True)

    kept(good, "contains")
    stricter = kept(good, "contains", never)
    assert (stricter.passed, stricter.is_regression) == (True, False)
    assert "as the run before: 10 of 10 passed before, 10 of 10 now" in str(stricter)
    worse_now = kept(bad, "contains")
    assert (worse_now.passed, worse_now.is_regression) == (False, True)


def test_a_run_of_other_cases_than_before_is_no_pass_of_the_regression_gate(evaluated: Any) -> None:
    def good(n: int) -> str:
        return f"good {n}"

    def kept(numbers: range) -> EvaluationResult:
        cases = [Case({"n": n}, expected="good") for n in numbers]
        return evaluated(good, cases, name="other", checks="contains", fail_on_regression=True)

    assert kept(range(3)).passed is True
    other = kept(range(5, 8))
    assert other.passed is None
    assert "gate undecided: not compared with run" in str(other)
    assert kept(range(5, 8)).passed is True


def test_dir_lists_the_public_names() -> None:
    code = "import minions_evals_mcp as m, sys; print(sorted(n for n in dir(m) if not n.startswith('_')))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(minions_evals_mcp.__all__) <= set(eval(told))  # noqa: S307  a list of ours
    assert "annotations" not in told

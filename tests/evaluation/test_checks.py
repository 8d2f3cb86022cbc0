"""What decides in `evaluate`: checks by name, in code, as functions and as rubrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from minions_evals_mcp import Case, EvaluationResult, Output, Rubric, Verdict, evaluate_async
from minions_evals_mcp.engine.context import open_engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from tests.evaluation.capitals import CAPITALS, CASES, answer, worse
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import Server
from tests.workshop import config_in


def short(output: str, case: Case) -> bool:
    """A check of the user's."""
    assert case.inputs
    return len(output) < 12


async def graded(output: Output, case: Case) -> float:
    """A check that gives a share."""
    assert output.text == str(output)
    return 1.0 if str(case.expected) in output else 0.2


async def test_checks_that_wait_do_so_at_the_same_time(tmp_path: Path) -> None:
    asked: list[str] = []
    all_asked = anyio.Event()

    async def waiting(output: str, _: Case) -> bool:
        asked.append(output)
        if len(asked) == len(CASES):
            all_asked.set()
        await all_asked.wait()
        return True

    with anyio.fail_after(HANG_S):
        found = await evaluate_async(answer, CASES, checks=waiting, store=tmp_path / "evals.db", progress=False)
    assert found.passed is True


def declining(output: str, case: Case) -> Verdict:
    """A check that cannot tell."""
    return Verdict(None, "no idea of geography")


def broken(output: str, case: Case) -> bool:
    """A check that raises."""
    raise ZeroDivisionError("oops")


@pytest.mark.parametrize(
    ("check", "passed", "outcomes"),
    [
        (short, False, {"scored": 2}),
        (graded, True, {"scored": 2}),
        (declining, None, {"not-judgeable": 2}),
        (broken, None, {"judge-error": 2}),
    ],
)
def test_a_function_is_a_check(evaluated: Any, check: Any, passed: bool | None, outcomes: dict[str, int]) -> None:
    found: EvaluationResult = evaluated(answer, CASES, checks=[check], name="own")
    assert (found.passed, found.summary.outcomes) == (passed, outcomes)


def ends_well(output: str, case: Case) -> bool:
    """Has a full stop at the end."""
    return output.endswith(".") and len(output) > 13


def test_a_check_of_ones_own_that_failed_is_the_cause_by_its_name_and_one_with_a_slip_no_verdict(
    evaluated: Any,
) -> None:
    text = str(evaluated(answer, CASES, checks=[ends_well], name="own"))
    assert "2 of 2 failed cases: the check ends_well failed\n   Next: Compare the costliest case" in text
    text = str(evaluated(answer, CASES, checks=[{"type": "python", "value": "len(output) > 20"}], name="code"))
    assert "the check python len(output) > 20 failed" in text
    assert "format-error" not in text
    slip = evaluated(answer, CASES, checks=[{"type": "python", "value": "output.strp() == 'x'"}], name="slip")
    assert slip.summary.outcomes == {"judge-error": 2}


def named(output: str, case: Case) -> Verdict:
    """A check that says why."""
    return Verdict(str(case.expected) in output, "no capital is named")


def test_a_failed_function_is_named_with_its_reason_before_what_was_expected(evaluated: Any) -> None:
    result = evaluated(worse, CASES, checks=[named, short], name="own")
    assert "failed check named: no capital is named\n   Got “no idea”" in str(result)
    assert ">failed check named: no capital is named<" in result._repr_html_()


class Evaluator:
    """A check as other libraries have it."""

    def evaluate(self, context: Any) -> bool:
        return bool(context)


def test_an_evaluator_of_another_library_is_refused_by_its_name(evaluated: Any) -> None:
    for check, named in ((Evaluator(), r"Evaluator\(\) is not a check"), (Evaluator, "Evaluator is not a check")):
        with pytest.raises(BadInputError, match=named) as refused:
            evaluated(worse, CASES, checks=[check], name="own")
        assert "evaluator or metric of another library" in refused.value.remedy


def undecided(output: str, case: Case) -> Any:
    """A check that returns what is no answer."""
    return "yes"


def test_a_check_may_return_what_numpy_compares(evaluated: Any) -> None:
    def some(output: str, case: Case) -> Any:
        return np.array([len(output)])[0] > 0

    def half(output: str, case: Case) -> Any:
        return np.float32(0.5)

    assert [one.score for one in evaluated(answer, CASES, checks=[some, half], name="own").cases] == [0.75, 0.75]


def test_what_a_check_returns_that_is_no_answer_was_not_raised(evaluated: Any) -> None:
    (reason, _) = [one.reason for one in evaluated(answer, CASES, checks=[undecided], name="own").cases]
    assert (
        "undecided: it returned 'yes'; return a bool, a number from 0 to 1, a Score, a Verdict, or a mapping of them"
        in reason
    )
    assert "raised" not in reason


async def test_a_check_that_is_a_function_is_refused_where_only_its_name_is_known(tmp_path: Path) -> None:
    await evaluate_async(answer, CASES, checks=[short], name="own", store=tmp_path / "evals.db", progress=False)
    async with open_engine(config_in(tmp_path)) as engine:
        with pytest.raises(UnsupportedError, match="Python function 'short'"):
            await run_benchmark(engine, RunRequest(subject_id="own"))


def test_an_unknown_check_is_refused_with_the_nearest_name(evaluated: Any) -> None:
    with pytest.raises(UnsupportedError, match="did you mean 'icontains'"):
        evaluated(answer, CASES, checks=["icontain"])


def test_a_check_by_name_needs_what_the_case_expects(evaluated: Any) -> None:
    with pytest.raises(BadInputError, match="no `expected`"):
        evaluated(answer, [Case({"country": "France"})], checks=["icontains"])


def with_confidence(country: str) -> dict[str, Any]:
    """Returns a record of two keys, of which one is a text."""
    return {"answer": CAPITALS[country], "confidence": 0.9}


def test_checks_in_code_parse_what_a_task_returned_read_its_keys_or_search_its_text(evaluated: Any) -> None:
    checks = [
        {"type": "is-json"}, "icontains",
        {"type": "python", "value": "json.loads(output)['confidence'] == 0.9"},
        {"type": "python", "value": "output['answer'] in ('Paris', 'Rome')"},
        {"type": "python", "value": "len(output) < 6"},
        {"type": "javascript", "value": "JSON.parse(output).confidence === 0.9"},
        {"type": "equals", "value": 0.9, "transform": "output.confidence"},
    ]  # fmt: skip
    result = evaluated(with_confidence, CASES, checks=checks)
    assert result.passed is True, result
    assert result.cases[0].output == {"answer": "Paris", "confidence": 0.9}


def test_a_rubric_alone_waits_for_who_judges_it_where_there_is_no_model(evaluated: Any) -> None:
    found: EvaluationResult = evaluated(answer, CASES, checks=[Rubric("It names a city.")], name="rubric")
    assert (found.passed, found.summary.state) == (None, "awaiting-judgments")
    assert found.cases[0].reason == "waits to be judged (llm)"


def test_a_check_that_bears_the_name_of_a_rubric_is_asked_beside_it(evaluated: Any) -> None:
    def rubric(output: str, _case: Case) -> bool:
        return output == "another"

    result = evaluated(answer, CASES, checks=[rubric, Rubric("It is polite.")])
    assert [case.passed for case in result.cases] == [False] * len(CASES)


def test_rules_beside_a_rubric_that_no_model_grades_still_fail_what_is_wrong(evaluated: Any) -> None:
    result = evaluated(worse, CASES, checks=["icontains", Rubric("It is polite.")])
    assert result.summary.outcomes == {"scored": 1, "not-judgeable": 1}
    assert result.passed is False
    assert "no model judges it" in str(result)


def tells_a_capital(country: str) -> str:
    """An answer that the fake judge does not like."""
    return "Paris is BAD"


def test_a_judges_reason_is_the_first_line_of_a_failure_and_no_comparison_is_claimed(
    evaluated: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    rubric = Rubric("Mentions a river.")
    for checks in (["icontains", rubric], [rubric], [rubric, Rubric("Is long.")]):
        result = evaluated(
            tells_a_capital, CASES[:1], checks=checks, name=f"of{len(checks)}", judge="anthropic:judge-1"
        )
        text = str(result)
        why = "The answer leaves the matter"
        assert f"Mentions a river): {why}" in text or f"Mentions a river (0 of 1): {why}" in text, text
        assert "Expected" not in text
        assert why in result._repr_html_()

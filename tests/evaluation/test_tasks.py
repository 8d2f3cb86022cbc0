"""What `evaluate` is given: how a task is called, what it may return, and where cases come from."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minions_evals_mcp import Case, EvaluationResult, Output, evaluate_async
from minions_evals_mcp.errors import BadInputError
from tests.evaluation.capitals import CAPITALS, CASES, answer


def test_a_parameter_that_is_called_as_an_input_is_not_given_all_of_them(evaluated: Any) -> None:
    def agent(question: Any) -> str:
        return str(question)

    with pytest.raises(BadInputError, match=r"\(Capital of France.*unexpected keyword argument 'region'"):
        evaluated(agent, [Case({"question": "France?", "region": "EU"}, name="Capital of France")], name="own")


def test_inputs_that_the_task_does_not_take_are_refused_before_anything_runs(evaluated: Any) -> None:
    of_question: Any = lambda q: q.upper()  # pyright: ignore  # noqa: E731, PGH003  without annotations, as users write it

    def of_two(question: str, language: str) -> str:
        return question + language

    refused: list[tuple[Any, dict[str, str], str]] = [
        (answer, {"land": "France"}, r"there is no input 'country' \(nearest: 'land'\)\."),
        (of_question, {"question": "x"}, r"there is no input 'q' \(nearest: 'question'\)\."),
        (of_question, {"questions": "x", "topic": "y"}, r"there is no input 'q' \(nearest: 'questions'\)\."),
        (of_two, {"questions": "x", "language": "de"}, r"there is no input 'question' \(nearest: 'questions'\)\."),
    ]
    for task, inputs, words in refused:
        with pytest.raises(BadInputError, match=f"does not take these inputs: {words}"):
            evaluated(task, [Case(inputs, expected="Paris")], checks=["icontains"], name="n")


def by_name(country: str) -> str:
    """Takes the input by its name."""
    return f"{country}: Paris"


def by_mapping(inputs: dict[str, str]) -> str:
    """Takes all inputs as one."""
    return f"{inputs['country']}: Paris"


def as_mapping(country: str) -> dict[str, str]:
    """Gives a mapping."""
    return {"output": "Paris", "country": country}


def as_output(country: str) -> Output:
    """Gives what is known besides."""
    return Output(f"Paris, {country}", usage={"input_tokens": 3, "output_tokens": 1}, cost_usd=0.01)


@pytest.mark.parametrize(
    "task",
    [by_name, by_mapping, as_mapping, as_output],
)
def test_a_task_is_called_by_its_signature_and_may_return_what_it_likes(evaluated: Any, task: Any) -> None:
    found: EvaluationResult = evaluated(task, CASES[:1], checks=["contains"], name="forms")
    assert found.passed is True


def test_a_single_value_is_the_tasks_argument(evaluated: Any) -> None:
    assert evaluated(answer, [("France", "Paris")], checks=["contains"]).passed is True


def test_a_task_that_raises_is_an_error_with_its_line_and_no_pass(evaluated: Any) -> None:
    def raising(country: str) -> str:
        raise ValueError(f"no {country}")

    found: EvaluationResult = evaluated(raising, CASES, checks=["contains"], name="raising")
    assert found.passed is None
    assert "raised ValueError: no France (test_tasks.py:" in str(found)
    assert found.error_count == 2


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ({"cost_usd": -1}, "cost_usd is -1; give US dollars as a number from 0"),
        ({"cost_usd": float("nan")}, "cost_usd is nan; give"),
        ({"cost_usd": "1"}, "cost_usd is '1'; give"),
        ({"usage": {"input_tokens": -5}}, "usage: input_tokens is -5; give a whole number from 0"),
        ({"usage": "lots"}, "usage is 'lots'; give"),
    ],
)
def test_what_cannot_have_been_measured_is_refused_by_its_name(measured: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        Output("A", **measured)


def test_a_cost_below_zero_is_an_error_of_its_case_and_the_cases_are_read(evaluated: Any) -> None:
    def changed(country: str) -> Output:
        """Sets the cost behind the back of `Output`."""
        output = Output(f"It is {CAPITALS[country]}")
        output.cost_usd = -1
        return output

    result = evaluated(changed, CASES, checks=["icontains"])
    assert result.passed is None
    assert "cost_usd is -1; give" in result.cases[0].reason


def test_cases_come_from_files_frames_and_generators(evaluated: Any, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("country,expected,id\nFrance,Paris,fr\nItaly,Rome,it\n")
    (tmp_path / "cases.yaml").write_text(
        "cases:\n- {inputs: {country: France}, expected: Paris}\n- inputs: {country: Italy}\n  checks: [{type: contains, value: Rome}]\n"
    )
    frame = pd.read_csv(tmp_path / "cases.csv")

    def generated() -> Iterator[Case]:
        yield from CASES

    for given in (tmp_path / "cases.csv", frame, generated()):
        assert evaluated(answer, given, checks=["icontains"], name="sources").passed_count == 2
    assert evaluated(answer, str(tmp_path / "cases.yaml"), name="yaml").passed_count == 2


async def test_an_async_generator_streams_cases(tmp_path: Path) -> None:
    async def generated() -> AsyncIterator[Case]:
        for one in CASES:
            yield one

    found = await evaluate_async(
        answer, generated(), checks=["contains"], name="s", store=tmp_path / "e.db", progress=False
    )
    assert found.passed_count == 2


DATA_SET = """
name: capitals
cases:
- {name: france, inputs: Capital of France?, expected_output: Paris, metadata: {level: easy}, evaluators: [EqualsExpected]}
- {name: italy, inputs: Capital of Italy?, evaluators: [{Contains: Rome}]}
evaluators: [{IsInstance: str}]
"""


def test_a_data_set_of_pydantic_evals_is_evaluated_as_it_stands(evaluated: Any, tmp_path: Path) -> None:
    file = tmp_path / "capitals.yaml"
    file.write_text(DATA_SET, "utf-8")

    def capital(question: str) -> str:
        return "Paris" if "France" in question else "It is Milan"

    result = evaluated(capital, str(file), name="capitals")
    assert [case.passed for case in result.cases] == [True, False]
    assert [sorted(case.checks) for case in result.cases] == [["equals", "python"], ["contains", "python"]]
    file.write_text(DATA_SET.replace("IsInstance: str", "OwnJudge: {}"), "utf-8")
    with pytest.raises(BadInputError, match="no check is the same as the evaluator OwnJudge"):
        evaluated(capital, str(file), name="capitals")


OURS = """
{evaluators}cases:
- {{inputs: {{question: Capital of France?}}, expected: Paris, checks: [equals]{metadata}}}
"""


@pytest.mark.parametrize(
    ("evaluators", "metadata", "named"),
    [("", ", metadata: {owner: me}", "metadata"), ("evaluators: [EqualsExpected]\n", "", "checks")],
)
def test_a_case_of_ours_is_never_read_as_one_of_pydantic_evals(
    evaluated: Any, tmp_path: Path, evaluators: str, metadata: str, named: str
) -> None:
    """What it expects and its checks would be lost: it is refused by the key that is not its own."""
    file = tmp_path / "ours.yaml"
    file.write_text(OURS.format(evaluators=evaluators, metadata=metadata), "utf-8")
    with pytest.raises(BadInputError, match=f"case 1: unknown key '{named}'"):
        evaluated(answer, str(file), name="ours")

"""A Python function over cases: judged, kept like any run, and compared with the last run of its name."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pandas as pd
import pytest

from minions_evals_mcp import Case, EvaluationResult, Output, Rubric, Verdict, evaluate, evaluate_async
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.engine.context import open_engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.store import records
from tests.hang import HANG_S
from tests.workshop import config_in

CAPITALS = {"France": "Paris", "Italy": "Rome"}


def answer(country: str) -> str:
    """Knows two capitals."""
    return f"It is {CAPITALS.get(country, 'unknown')}."


def worse(country: str) -> str:
    """Knows one capital."""
    return "It is Paris." if country == "France" else "no idea"


CASES = [Case({"country": name}, expected=capital) for name, capital in CAPITALS.items()]


@pytest.fixture
def evaluated(tmp_path: Path) -> Any:
    """`evaluate` on a store of the test's, without progress."""
    return partial(evaluate, store=tmp_path / "evals.db", progress=False)


def test_the_result_tells_pass_and_what_changed_since_the_last_run_of_the_name(evaluated: Any) -> None:
    before: EvaluationResult = evaluated(answer, CASES, checks=["icontains"], name="geography")
    assert before.passed is True
    assert "first run of this name" in str(before)
    after: EvaluationResult = evaluated(worse, CASES, checks=["icontains"], name="geography")
    assert after.passed is False
    assert [one.name for one in after.failures] == ["Italy"]
    assert after.before == before.run_id
    said = str(after)
    assert "2 of 2 passed before, 1 of 2 now" in said
    assert "newly failing: 1 (Italy)" in said
    assert re.search(r"version: \S+ → \S+", said)
    assert f"minions-evals diff {before.run_id[:8]} {after.run_id[:8]}" in said
    assert repr(after).endswith("; failed: Italy>")
    assert after.compare(before).counts["newly-failing"] == 1
    assert "✗ Italy  newly failing: 1.00 → 0.00" in str(after.compare(before))
    again = str(evaluated(worse, CASES, checks=["icontains"], name="geography"))
    assert f"failing since {before.run_id[:8]}: 1 (Italy)" in again
    assert "newly failing" not in again


async def test_it_is_kept_as_a_benchmark_that_every_other_door_knows(tmp_path: Path) -> None:
    result = await evaluate_async(answer, CASES, name="geo", store=tmp_path / "evals.db", progress=False)
    async with open_engine(config_in(tmp_path)) as engine:
        kept = await engine.store.read(lambda db: records.find(db, result.run_id))
        assert kept is not None
        assert isinstance(kept.fields, BenchmarkRun)
        assert (kept.fields.benchmark_id, kept.fields.passed_count) == ("geo", 2)
        again = await run_benchmark(engine, RunRequest(subject_id="geo", rejudge_run_id=result.run_id))
        assert again.state == "completed"
        with pytest.raises(BadInputError) as refused:
            await run_benchmark(engine, RunRequest(subject_id="geo"))
        assert "the Python program that evaluates them" in refused.value.remedy


async def test_it_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def later(country: str) -> str:
        await anyio.lowlevel.checkpoint()
        return answer(country)

    found = evaluate(later, CASES, checks="icontains", name="a", store=tmp_path / "evals.db", progress=False)
    assert found.passed is True


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
        (broken, False, {"judge-error": 2}),
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
    assert "2 of 2 failed cases: the check ends_well failed\n   Next: Read the costliest case" in text
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
    assert "failed check named: no capital is named\n   Expected “Rome”, got “no idea”\n" in str(result)
    assert ">failed check named: no capital is named<" in result._repr_html_()


def undecided(output: str, case: Case) -> Any:
    """A check that returns what is no answer."""
    return "yes"


def test_a_check_may_return_what_numpy_compares(evaluated: Any) -> None:
    def some(output: str, case: Case) -> Any:
        return np.array([len(output)])[0] > 0

    def half(output: str, case: Case) -> Any:
        return np.float32(0.5)

    assert [one.score for one in evaluated(answer, CASES, checks=[some, half], name="own").cases] == [0.75, 0.75]


def test_a_parameter_that_is_called_as_an_input_is_not_given_all_of_them(evaluated: Any) -> None:
    def agent(question: Any) -> str:
        return str(question)

    with pytest.raises(BadInputError, match=r"\(Capital of France.*unexpected keyword argument 'region'"):
        evaluated(agent, [Case({"question": "France?", "region": "EU"}, name="Capital of France")], name="own")


def test_what_a_check_returns_that_is_no_answer_was_not_raised(evaluated: Any) -> None:
    (reason, _) = [one.reason for one in evaluated(answer, CASES, checks=[undecided], name="own").cases]
    assert "undecided: it returned 'yes'; return a bool, a number from 0 to 1, or a Verdict" in reason
    assert "raised" not in reason


@pytest.mark.parametrize(("field", "value"), [("max_cost_usd", 0), ("trials", 0)])
def test_a_number_out_of_its_range_is_refused_by_its_name(evaluated: Any, field: str, value: int) -> None:
    with pytest.raises(BadInputError, match=f"{field} is 0: input should be greater") as refused:
        evaluated(answer, CASES, checks=["icontains"], **{field: value})
    assert refused.value.remedy == f"Give another {field}, or leave it out."


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


def test_inputs_that_the_task_does_not_take_are_refused_before_anything_runs(evaluated: Any) -> None:
    with pytest.raises(BadInputError, match="does not take these inputs: missing a required argument: 'country'"):
        evaluated(answer, [Case({"land": "France"}, expected="Paris")], checks=["icontains"])


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


def test_a_single_value_is_the_tasks_argument(evaluated: Any) -> None:
    assert evaluated(answer, [("France", "Paris")], checks=["contains"]).passed is True


def test_a_task_that_raises_is_an_error_with_its_line_and_no_pass(evaluated: Any) -> None:
    def raising(country: str) -> str:
        raise ValueError(f"no {country}")

    found: EvaluationResult = evaluated(raising, CASES, checks=["contains"], name="raising")
    assert found.passed is False
    assert "raised ValueError: no France (test_evaluate.py:" in str(found)
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
    assert result.passed is False
    assert "cost_usd is -1; give" in result.cases[0].reason


def test_nothing_to_judge_by_is_no_verdict(evaluated: Any) -> None:
    result = evaluated(answer, [Case({"country": "France"})], name="bare")
    assert result.passed is None
    assert "next: minions-evals judge --db " in str(result)


def test_a_minimum_pass_rate_decides_in_place_of_every_case(evaluated: Any) -> None:
    assert evaluated(worse, CASES, checks=["icontains"], name="half", min_pass_rate=0.5).passed is True
    assert evaluated(worse, CASES, checks=["icontains"], name="half", min_pass_rate=0.6).passed is False

    def raising(country: str) -> str:
        return answer(country) if country == "France" else str(1 / 0)

    broke = partial(evaluated, raising, checks=["icontains"])
    assert broke(CASES, min_pass_rate=0.5).passed is True
    assert broke(CASES, min_pass_rate=0.6).passed is False
    assert broke(CASES[1:], min_pass_rate=0.0).passed is False, "nothing was judged"


def test_history_gates_only_where_it_is_asked_to(evaluated: Any) -> None:
    cases = [Case({"n": n}, expected="good") for n in range(8)]
    kept = partial(evaluated, name="gate", checks=["contains"], min_pass_rate=0.0)

    def good(n: int) -> str:
        return f"good {n}"

    def bad(n: int) -> str:
        return f"bad {n}"

    kept(good, cases)
    assert kept(bad, cases).passed is True
    kept(good, cases)
    gated = partial(kept, bad, cases, fail_on_regression=True)
    assert gated().passed is False
    again = gated()
    assert again.passed is False, "the same run again is no better than what it fell from"
    assert "8 of 8 passed before, 0 of 8 now" in str(again)
    assert f"minions-evals accept {again.run_id[:8]} --db" in str(again)
    again.accept()
    assert gated().passed is True
    assert kept(good, cases, fail_on_regression=True).passed is True
    assert gated().passed is False, "what was accepted is no excuse once a run was better"


def test_what_broke_is_no_pass_for_the_gate_and_is_told_as_the_gate_counts_it(evaluated: Any) -> None:
    cases = [Case({"n": n}, expected="good") for n in range(10)]
    kept = partial(
        evaluated, cases=cases, name="broke", checks=["contains"], min_pass_rate=0.1, fail_on_regression=True
    )

    def broken(n: int) -> str:
        if n:
            raise RuntimeError("down")
        return "good"

    def good(n: int) -> str:
        return f"good {n}"

    def wrong(n: int) -> str:
        return "bad" if n else "good"

    said = "worse than the run before: 10 of 10 passed before; 1 passed and 9 broke now; more than noise"
    assert kept(good).passed is True
    for fell in (kept(broken), kept(broken)):
        assert (fell.passed, fell.gate) == (False, "failed")
        assert said in repr(fell)
    regressed = kept(wrong)
    assert "a regression: 10 of 10 passed before, 1 of 10 now; more than noise" in repr(regressed)
    assert regressed.passed is False


def test_a_fall_that_too_few_cases_decide_is_no_verdict(evaluated: Any) -> None:
    cases = [Case({"n": n}, expected="good") for n in range(10)]
    kept = partial(evaluated, name="few", checks=["contains"], min_pass_rate=0.0, fail_on_regression=True)

    def answered(limit: int, **asked: Any) -> Any:
        def task(n: int) -> str:
            return "bad" if n < limit else "good"

        return kept(task, cases, **asked)

    assert answered(0).passed is True
    fallen = answered(5)
    assert (fallen.passed, fallen.is_regression, fallen.gate) == (None, True, "undecided")
    assert "a regression: 10 of 10 passed before" in str(fallen)
    assert (answered(5).passed, answered(4).passed) == (None, True), "undecided until a case gets better"
    assert (answered(0).passed, answered(5).passed, answered(8).passed) == (True, None, False)
    for missed in (None, 0.9):
        assert answered(0).passed is True
        assert answered(5, min_pass_rate=missed).passed is False, "an undecided fall excuses no failed case"


def silent(output: str, case: Case) -> bool:
    return False


def test_checks_that_were_edited_in_every_case_call_no_regression_and_are_measured_against_from_then_on(
    evaluated: Any,
) -> None:
    cases = [Case({"n": n}, expected="good") for n in range(10)]
    kept = partial(evaluated, cases=cases, name="edited", min_pass_rate=0.0, fail_on_regression=True)

    def good(n: int) -> str:
        return "good"

    def bad(n: int) -> str:
        return "bad"

    kept(good)
    edited = kept(good, checks=["contains", silent])
    assert (edited.passed, edited.is_regression, edited.gate) == (True, False, "held")
    assert "no case is measured as in the run before" in str(edited)
    assert kept(good, checks=["contains"]).is_regression is False
    assert (fallen := kept(bad, checks=["contains"])).passed is False
    assert fallen.is_regression is True


def test_names_that_differ_beyond_ascii_share_no_id(evaluated: Any) -> None:
    names = ("größe", "grüße", "gr-e", "café", "cafe\u0301", "cafe", "geo graphy", "é" * 80)
    ids = [evaluated(answer, CASES[:1], name=name).name for name in names]
    assert (ids[2], ids[3], ids[5], ids[6]) == ("gr-e", ids[4], "cafe", "geo-graphy")
    assert len(set(ids)) == len(names) - 1, "only the two spellings of café are one"
    assert re.fullmatch(r"gro-e-[0-9a-f]{8}", ids[0])
    assert len(ids[7]) == 60


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


def test_the_result_is_a_data_frame_a_report_and_a_notebooks_cell(evaluated: Any, tmp_path: Path) -> None:
    found: EvaluationResult = evaluated(worse, CASES, checks=["icontains"], name="<geo>", trials=2)
    frame: Any = found.to_pandas()
    assert list(frame["passed"]) == [True, True, False, False]
    assert list(frame["inputs.country"]) == ["France", "France", "Italy", "Italy"]
    page = found.report(tmp_path / "report.html").read_text("utf-8")
    assert "Italy" in page
    html = found._repr_html_()  # pyright: ignore[reportPrivateUsage]  the name that notebooks ask for
    assert "2 of 4 trials passed" in html
    assert "<script" not in html


def test_an_edited_task_is_another_version_and_the_same_one_is_not(evaluated: Any, tmp_path: Path) -> None:
    versions = [
        evaluated(task, CASES, checks=["contains"], name="v").summary.benchmark_run["promptVersionRef"]
        for task in (answer, worse, answer)
    ]
    assert versions[0] == versions[2] != versions[1]
    assert (
        evaluated(answer, CASES, name="v", version="2026-11").summary.benchmark_run["promptVersionRef"] == "v@2026-11"
    )


def test_a_benchmark_that_was_imported_is_not_written_over(evaluated: Any, tmp_path: Path) -> None:
    from tests.workshop import benchmark, case, opened, save  # noqa: PLC0415  the test's own

    async def imported() -> None:
        async with opened(config_in(tmp_path)) as engine:
            await save(engine, case("c"), benchmark("suite", "c"))

    anyio.run(imported)
    with pytest.raises(BadInputError, match="'suite' is the id of a benchmark that was imported"):
        evaluated(answer, CASES, name="suite")


def test_a_rubric_alone_waits_for_who_judges_it_where_there_is_no_model(evaluated: Any) -> None:
    found: EvaluationResult = evaluated(answer, CASES, checks=[Rubric("It names a city.")], name="rubric")
    assert (found.passed, found.summary.state) == (None, "awaiting-judgments")
    assert found.cases[0].reason == "waits to be judged (llm)"


class ZMQInteractiveShell:
    """The shell by whose name rich knows that it runs in a notebook, where it would write to the page."""


def test_in_a_notebook_the_result_has_its_text_too(evaluated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert "2 of 2 passed" in str(evaluated(answer, CASES, name="n"))


def test_a_notebook_says_what_waits_and_what_has_no_verdict_any_more(evaluated: Any) -> None:
    waiting = evaluated(answer, CASES, checks=[Rubric("It names a town.")], name="waits")
    assert "0 of 2 judged, 2 wait for a judge" in waiting._repr_html_()

    def breaking(country: str) -> str:
        return answer(country) if country == "France" else str(1 / 0)

    evaluated(answer, CASES, name="breaks")
    broken = evaluated(breaking, CASES, name="breaks")
    assert "without a verdict now, or gone: 1 (Italy)" in broken._repr_html_()
    assert "color:#fff" in broken._repr_html_()


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


def test_a_judge_without_its_provider_is_refused_with_it(evaluated: Any) -> None:
    with pytest.raises(BadInputError, match="here openai:gpt-4"):
        evaluated(answer, CASES, judge="gpt-4")


def test_a_stopped_run_goes_on_under_its_key(evaluated: Any) -> None:
    calls: list[str] = []

    def stopping(country: str) -> str:
        calls.append(country)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return answer(country)

    run = partial(evaluated, stopping, CASES, checks=["contains"], name="k", key="k1", concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert run().passed_count == 2
    assert calls.count("France") == 1


def test_a_refusal_is_raised_from_the_callers_own_line_in_the_words_of_python(evaluated: Any) -> None:
    graded = partial(evaluated, answer, CASES, checks=[{"type": "llm-rubric", "value": "polite"}])
    refused: list[tuple[Any, str]] = [
        (graded, 'or name one with judge="provider:model".'),
        (partial(evaluated, answer, CASES, checks=[Rubric("Polite.")], judge="llm"), 'judge="llm" needs a model'),
        (partial(evaluated, lambda: "Paris", CASES), 'Give one: evaluate(…, name="geography").'),
    ]
    for call, words in refused:
        with pytest.raises(BadInputError) as found:
            call()
        assert words in str(found.value)
        assert "--judge" not in str(found.value)
        assert [Path(str(entry.path)).name for entry in found.traceback] == ["test_evaluate.py", "evaluate.py"]
        assert found.value.__cause__ is None
        assert found.value.__suppress_context__


def test_what_a_users_generator_raises_shows_the_users_line_and_none_of_ours_between(evaluated: Any) -> None:
    def broken() -> Iterator[Case]:
        yield CASES[0]
        raise LookupError("no more rows")

    with pytest.raises(LookupError) as found:
        evaluated(answer, broken())
    assert [Path(str(entry.path)).name for entry in found.traceback] == [
        "test_evaluate.py",
        "evaluate.py",
        "test_evaluate.py",
    ]


def test_an_output_that_waits_for_want_of_a_judge_says_what_would_be_one(evaluated: Any) -> None:
    waits = str(evaluated(answer, CASES, checks=[Rubric("It is polite.")]))
    assert "no model judges: set ANTHROPIC_API_KEY or OPENAI_API_KEY" in " ".join(waits.split())
    assert "no model judges" not in str(
        evaluated(answer, CASES, checks=[Rubric("It is polite.")], judge="human", name="h")
    )


INTERRUPTED = """
import os, signal, sys
import anyio
from minions_evals_mcp import evaluate

async def task(question):
    if question == "2" and len(sys.argv) < 3:
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()
    return question

key = sys.argv[2] if len(sys.argv) > 2 else None
cases = [({"question": str(number)}, str(number)) for number in range(4)]
print(evaluate(task, cases, name="asked", store=sys.argv[1], key=key, concurrency=1).passed_count)
"""


def test_an_interrupted_evaluation_names_the_key_under_which_it_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    run = [sys.executable, str(script), str(tmp_path / "e.db")]
    stopped = subprocess.run(run, capture_output=True, text=True, check=False, timeout=120)
    named = re.search(r"evaluate\(…, key='(asked/[0-9a-f-]+)'\) goes on", stopped.stderr)
    assert named is not None, stopped.stderr
    again = subprocess.run([*run, named[1]], capture_output=True, text=True, check=False, timeout=120)
    assert again.stdout == "4\n", again.stderr

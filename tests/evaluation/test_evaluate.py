"""A Python function over cases: judged, kept like any run, and compared with the last run of its name."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from minions_evals_mcp import Case, EvaluationResult, Rubric, Verdict, evaluate, evaluate_async
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.engine.context import open_engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store import records
from tests.evaluation.capitals import CASES, answer, worse
from tests.hang import HANG_S
from tests.shared.cli.standby import STANDBYS, Asked
from tests.shared.cli.terminal import inherited
from tests.workshop import config_in


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
        assert "A Python program evaluates its cases" in refused.value.remedy


async def test_it_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def later(country: str) -> str:
        await anyio.lowlevel.checkpoint()
        return answer(country)

    found = evaluate(later, CASES, checks="icontains", name="a", store=tmp_path / "evals.db", progress=False)
    assert found.passed is True


@pytest.mark.parametrize(("field", "value"), [("max_cost_usd", 0), ("trials", 0)])
def test_a_number_out_of_its_range_is_refused_by_its_name(evaluated: Any, field: str, value: int) -> None:
    with pytest.raises(BadInputError, match=f"{field} is 0: input should be greater") as refused:
        evaluated(answer, CASES, checks=["icontains"], **{field: value})
    assert refused.value.remedy == f"Give another {field}, or leave it out."


def test_nothing_to_judge_by_is_no_verdict(evaluated: Any) -> None:
    result = evaluated(answer, [Case({"country": "France"})], name="bare")
    assert result.passed is None
    assert "Next: minions-evals judge --db " in str(result)


def test_a_minimum_pass_rate_decides_in_place_of_every_case(evaluated: Any) -> None:
    assert evaluated(worse, CASES, checks=["icontains"], name="half", min_pass_rate=0.5).passed is True
    below = partial(evaluated, worse, CASES, checks=["icontains"], name="half", min_pass_rate=0.6)
    assert below().passed is None, "two cases leave it to chance"
    assert "gate undecided: pass rate 0.500 < 0.6" in str(below())
    assert [below(**said).passed for said in ({"literal": True}, {"undecided": "fail"}, {"undecided": "pass"})] == [
        False, False, True,
    ]  # fmt: skip
    with pytest.raises(BadInputError, match="undecided is 'maybe'"):
        below(undecided="maybe")

    def raising(country: str) -> str:
        return answer(country) if country == "France" else str(1 / 0)

    broke = partial(evaluated, raising, checks=["icontains"])
    assert broke(CASES, min_pass_rate=0.5).passed is True
    assert broke(CASES, min_pass_rate=0.6).passed is None
    for said in ({"literal": True}, {"undecided": "fail"}, {"undecided": "pass"}):
        assert broke(CASES, min_pass_rate=0.6, **said).passed is None, "nobody decides on a verdict that is missing"
    assert broke(CASES[1:], min_pass_rate=0.0).passed is None, "nothing was judged"


@pytest.mark.parametrize("breaks", ["task", "check"])
@pytest.mark.parametrize(("fails", "passed"), [(False, None), (True, False)])
def test_what_broke_has_no_verdict_and_what_failed_has(
    evaluated: Any, breaks: str, fails: bool, passed: bool | None
) -> None:
    def task(country: str) -> str:
        if country == "France":
            return "Rome" if fails else "Paris"
        return str(1 / 0) if breaks == "task" else "down"

    def check(output: str, case: Case) -> bool:
        if output == "down":
            raise ConnectionError("no judge")
        return output == case.expected

    found = evaluated(task, CASES, checks=[check], name="broke")
    assert found.passed is passed
    assert repr(found).startswith(f"<broke: {'failed' if fails else 'no verdict'};")
    assert (found.missing_count, found.error_count, found.unjudged_count) == (1, 1, 0)
    alone = evaluated(task, CASES[1:], checks=[check], name="alone")
    assert (alone.passed, alone.pass_rate) == (None, None)
    assert repr(alone).startswith("<alone: no verdict;")


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


def test_what_broke_leaves_the_gate_open_whatever_undecided_says(evaluated: Any) -> None:
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

    said = "undecided beside the run before: 10 of 10 passed before; 1 passed and 9 broke now"
    assert kept(good).passed is True
    for fell in (kept(broken), kept(broken), kept(broken, undecided="pass")):
        assert (fell.passed, fell.gate) == (None, "undecided")
        assert said in repr(fell)
    regressed = kept(wrong)
    assert "a regression: 10 of 10 passed before, 1 of 10 now; significant" in repr(regressed)
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
    assert "a possible regression: 10 of 10 passed before" in str(fallen)
    assert (answered(5).passed, answered(4).passed) == (None, True), "undecided until a case gets better"
    assert (answered(0).passed, answered(5).passed, answered(8).passed) == (True, None, False)
    for missed in (None, 0.9):
        assert answered(0).passed is True
        assert answered(5, min_pass_rate=missed).passed is False, "an undecided fall excuses no failed case"


def test_a_case_that_nobody_judged_is_no_pass_whatever_the_others_did(evaluated: Any) -> None:
    cases = [Case({"country": "France"}, expected="Paris"), Case({"country": "Spain"})]
    kept = partial(evaluated, answer, cases, name="waits")
    assert [kept(min_pass_rate=rate).passed for rate in (None, 0.5, 0.9)] == [None, None, None]
    assert kept(min_pass_rate=0.9, undecided="pass").passed is None, "a missing verdict is nobody's to decide"


def test_what_a_check_cannot_judge_is_no_pass(evaluated: Any) -> None:
    def shrug(output: str, case: Case) -> Verdict:
        return Verdict(None, "the question has no answer") if case.inputs == {"country": "Spain"} else Verdict(True)

    cases = [Case({"country": "France"}, expected="Paris"), Case({"country": "Spain"}, expected="Madrid")]
    assert evaluated(answer, cases, checks=[shrug], name="shrug").passed is None


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
    assert (edited.passed, edited.is_regression, edited.gate) == (None, False, "undecided")
    assert "no case is comparable with the run before" in str(edited)
    assert "gate undecided: not compared with run" in str(edited)
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
        (graded, 'or name a model with judge="provider:model". Then: `evaluate(…)` runs it.'),
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
    run = Asked([str(script), str(tmp_path / "e.db")], str(tmp_path), inherited(), "python")
    _, _, err = STANDBYS.carried_out(run, b"", HANG_S)
    named = re.search(r"evaluate\(…, key='(asked/[0-9a-f-]+)'\)", err.decode())
    assert named is not None, err.decode()
    again = replace(run, arguments=[*run.arguments, named[1]])
    _, out, err = STANDBYS.carried_out(again, b"", HANG_S)
    assert out == b"4\n", err.decode()


def test_checks_of_none_are_no_checks_and_the_expected_text_decides(evaluated: Any) -> None:
    result: EvaluationResult = evaluated(answer, CASES, checks=None, name="unchecked")
    assert result.passed is True


def test_a_result_plans_how_many_cases_a_difference_takes(evaluated: Any) -> None:
    cases = [Case({"n": n}, expected="good") for n in range(20)]

    def half(n: int) -> str:
        return "good" if n % 2 else "bad"

    result = evaluated(half, cases, checks=["contains"], name="planned")
    plan = result.plan(effect=0.2)
    assert (plan.unit, plan.units, plan.is_bound) == ("case", 20, True)
    assert plan.units_needed > 20
    assert f"you need {plan.units_needed} cases" in plan.summary
    assert "a comparison detects a difference of" in " ".join(str(result).split())


@pytest.mark.parametrize("as_rows", [False, True], ids=["cases", "rows"])
def test_cases_of_one_group_count_as_one(evaluated: Any, *, as_rows: bool) -> None:
    """24 questions on 8 documents, all of three documents worse: 9 changed cases decide, 3 changed groups do not."""
    cases = [
        {"question": f"{document} {number}", "group": f"document {document}"}
        for document in range(8)
        for number in range(3)
    ]
    given: Any = cases if as_rows else [Case({"question": one["question"]}, group=one["group"]) for one in cases]
    good = evaluated(_good, given, checks=[_is_good], name="papers", version="1")
    bad = evaluated(_bad_on_three, given, checks=[_is_good], name="papers", version="2")
    reading = bad.compare(good).reading
    assert (reading.cases, reading.worse) == (24, 9)
    assert reading.verdict == "inconclusive"
    assert reading.p_value == pytest.approx(0.25)  # 2 of 2³ flips of whole documents


def _good(question: str) -> str:
    return "good" if question else ""


def _bad_on_three(question: str) -> str:
    return "good" if int(question[0]) > 2 else "bad"


def _is_good(output: str) -> bool:
    return output == "good"


def _fails_fifteen(number: int) -> str:
    return "good" if number >= 15 else "bad"


def _breaks_on_ten(number: int) -> str:
    if number >= 20:
        raise RuntimeError("503")
    return "good" if number < 8 or number >= 15 else "bad"


def test_outputs_that_broke_make_no_improvement(evaluated: Any) -> None:
    """8 of 15 failures pass now, and 10 that passed broke: "improved" on what is left, undecided with what is missing."""
    cases = [{"number": number} for number in range(30)]
    before = evaluated(_fails_fifteen, cases, checks=[_is_good], name="broke", version="1")
    after = evaluated(_breaks_on_ten, cases, checks=[_is_good], name="broke", version="2")
    reading = after.compare(before).reading
    assert (reading.verdict, reading.better, reading.worse) == ("inconclusive", 8, 0)
    assert reading.p_value < 0.05
    shown = " ".join(str(after.compare(before)).split())
    assert (
        "but 10 outputs are missing: if missing outputs count as failures, the verdict would be inconclusive" in shown
    )
    assert "not statistically significant" not in shown


def test_cases_that_a_suite_no_longer_has_are_not_missing(evaluated: Any) -> None:
    cases = [{"number": number} for number in range(30)]
    before = evaluated(_fails_fifteen, cases, checks=[_is_good], name="shrank", version="1")
    after = evaluated(_breaks_on_ten, cases[:20], checks=[_is_good], name="shrank", version="2")
    assert after.compare(before).reading.verdict == "improved"

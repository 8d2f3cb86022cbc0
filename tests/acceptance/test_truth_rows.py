"""What studies on other people's data found, row by row, and the tests that show it through an interface.

Each row is a finding of those studies. Its tests stand in the file of what they test, and those of rows that had none stand here.
"""

from __future__ import annotations

import ast
import json
import math
import random
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.results import EvalTrend
from minions_evals_mcp.engine.context import Engine
from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import ROOT, Json, Terminal
from tests.workshop import all_of, first, fleet, measured, outbox

HERE = "acceptance/test_truth_rows.py"
GROUPS, SAME = "cli/run/test_groups_and_falls.py", "cli/decide/test_same_outputs.py"
CHECKED, PROBED = "engine/ab_test/test_checks_beside_quality.py", "engine/people/test_judge_check.py"
LIMITS = "engine/licences/test_licence_limits.py"

ROWS: dict[int, tuple[str, tuple[tuple[str, str], ...]]] = {
    1: ("cases that belong together count as independent", (
        (GROUPS, "test_a_comparison_counts_groups_and_says_how_many_independent_cases_they_are_worth"),
        (GROUPS, "test_the_intervals_of_a_run_and_its_regression_test_count_groups"),
        (GROUPS, "test_inputs_that_share_a_document_are_pointed_out_where_no_group_is_set"),
        ("interop/logs/test_groups.py", "test_a_sample_belongs_to_what_its_log_names"),
    )),
    2: ("root causes of real logs are chance, and what a user says is dropped", (
        (HERE, "test_of_an_imported_talk_no_step_is_accused_and_what_the_user_said_is_known"),
        ("scoring/failures/test_log_faults.py",
         "test_in_a_talk_with_a_user_no_step_is_named_and_a_hand_over_is_no_timeout"),
        ("scoring/failures/test_log_faults.py",
         "test_a_step_is_named_where_the_counted_share_is_at_least_one_half"),
    )),
    3: ("looking again changes the verdict, and text and --json disagree", (
        (SAME, "test_the_same_outputs_compared_again_are_the_same_comparison_at_every_interface"),
        (SAME, "test_a_new_output_is_a_new_comparison"),
    )),
    4: ("no verdict is exported as a pass", (
        ("acceptance/test_no_verdict_is_no_pass.py", "test_no_export_of_a_config_calls_a_pass_what_has_no_verdict"),
        ("acceptance/test_no_verdict_in_a_run.py", "test_no_report_calls_a_pass_what_has_no_verdict"),
        ("acceptance/test_no_verdict_in_a_run.py", "test_a_case_without_a_verdict_ends_no_command_with_0"),
    )),
    5: ("earlier attempts silence harm, and the order of benchmarks decides", (
        (SAME, "test_a_fall_is_decided_at_the_same_level_whatever_was_tried_before"),
        ("engine/compare/test_benchmark_families.py", "test_attempts_spent_do_not_depend_on_the_order_and_only_grow"),
    )),
    6: ("an agent approves on a judge that loves length", (
        (PROBED, "test_an_agent_approves_on_a_models_judgments_only_once_probes_speak_for_the_judge"),
    )),
    7: ("errors on hard cases make equal versions better", (
        (HERE, "test_a_version_that_answers_503_on_the_cases_it_would_fail_is_not_better"),
        (SAME, "test_an_equal_version_that_lacks_its_hard_outputs_is_not_equivalent_or_better"),
    )),
    8: ("trials count as cases", ((GROUPS, "test_trials_of_a_case_are_one_group"),)),
    9: ("certain falls pass silently", (
        (GROUPS, "test_a_fall_that_is_more_than_chance_fails_the_gate_whatever_its_size_and_stays"),
    )),
    10: ("a recipe of the README fails unchanged builds", (
        (HERE, "test_the_readme_gates_a_build_on_regressions_and_not_on_a_figure"),
        (HERE, "test_unchanged_builds_fail_no_limit_below_what_they_score_in_truth"),
        ("stats/test_regression.py", "test_unchanged_builds_end_failed_or_undecided_in_at_most_one_of_twenty"),
    )),
    11: ("imported tau-bench runs get another verdict than the reward", (
        ("interop/logs/test_agent_logs.py", "test_a_trial_of_tau_bench_is_an_epoch_with_its_calls_gold_actions_and_reward"),
        ("interop/logs/test_state_rule.py", "test_the_reading_stands_beside_the_reward_of_tau_bench_and_tau2"),
        ("cli/keep/test_log_outcomes.py", "test_a_recorded_verdict_counts_in_its_run_and_is_not_available_for_another_output"),
    )),
    12: ("another answering model of the judge is called the agent's regression", (
        ("engine/conclude/test_answering_model.py",
         "test_a_fall_with_another_answering_model_is_no_regression_and_begins_a_series"),
    )),
    13: ("flat histories fall, and a season hides steps", (
        (HERE, "test_a_score_that_comes_and_goes_in_waves_is_told_no_fall"),
        ("stats/test_season.py", "test_a_flat_history_is_rarely_told_that_it_fell"),
        ("stats/test_season.py", "test_a_step_is_seen_within_five_runs"),
    )),
    14: ("an audit is clean for a used tool alone", (
        ("engine/audit/test_audit.py", "test_a_tool_that_was_used_alone_says_nothing_of_what_it_was_used_with"),
    )),
    15: ("A/B corrects too much, leaves its bounds and does not look at the checks", (
        (CHECKED, "test_the_winner_of_equal_branches_is_rarely_supported_and_more_branches_cost_no_power"),
        (CHECKED, "test_an_interval_stays_within_what_the_figure_can_be"),
        (CHECKED, "test_the_first_line_says_that_the_winner_fails_its_checks_and_another_passes"),
    )),
    16: ("times and costs are covered too little, and skewed scores regress falsely", (
        (CHECKED, "test_a_skewed_time_is_compared_as_a_ratio_and_equal_branches_are_rarely_called_faster"),
        (HERE, "test_skewed_scores_of_equal_versions_are_rarely_a_regression"),
    )),
    17: ("the margin of equivalence is fixed", (
        ("cli/decide/test_comparing.py", "test_a_margin_asks_whether_the_new_version_is_worse_by_no_more_than_that"),
    )),
    18: ("calibrate covers too little, a probe needs twenty outputs, and two sentences disagree", (
        ("stats/test_noise.py", "test_the_floor_holds_the_difference_of_two_runs_however_few_repeats_showed_it"),
        (LIMITS, "test_a_probe_fails_from_six_outputs_where_more_are_wrong_than_chance_allows"),
        (HERE, "test_what_max_score_selects_and_the_verdict_are_told_in_sentences_that_agree"),
    )),
}  # fmt: skip


@lru_cache
def _tests_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_tests_that_exist(row: int) -> None:
    _, tests = ROWS[row]
    assert tests
    assert not [(file, name) for file, name in tests if name not in _tests_of(file)]


@pytest.fixture
def at(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def scored(before: Sequence[float], after: Sequence[float], *, name: str = "b") -> list[Json]:
    """A benchmark of that name and two versions whose outputs hold so much of the words that each case wants."""
    words = [f"w{number}." for number in range(10)]
    wanted: list[JsonValue] = [{"type": "contains", "value": word} for word in words]
    cases = [f"{name}{number}" for number in range(len(before))]
    records = versions(name)
    for ident, *scores in zip(cases, before, after, strict=True):
        records.append(record(ident, "test-case", name=ident, inputs={"q": ident}, assertions=wanted, threshold=0.5))
        for number, score in enumerate(scores, 1):
            said = " ".join(words[: round(10 * score)]) or "none"
            records.append(answer(f"{ident}/{number}", ident, said, promptVersionRef=f"{name}-v{number}"))
    return [*records, benchmark(name, *cases)]


def versions(name: str = "b") -> list[Json]:
    """Versions of a prompt of the benchmark's own."""
    return [
        record(f"{name}-v{n}", "prompt-version", content=f"{n}", versionNumber=n, promptId=name)
        for n in (1, 2)
    ]  # fmt: skip


def passing(passes: Sequence[bool], *, name: str = "b", version: str | None = None) -> list[Json]:
    """Answers to the cases of that name, with those cases."""
    of: Json = {} if version is None else {"promptVersionRef": version}
    return [
        made
        for number, passed in enumerate(passes)
        for made in (
            case(f"{name}{number}"),
            answer(f"{name}{number}/{version}", f"{name}{number}", "green" if passed else "red", **of),
        )
    ]


def compared(name: str = "b") -> list[str]:
    return ["compare", name, "--from", f"{name}-v1", "--to", f"{name}-v2", "--json"]


def kept(at: Terminal, records: Sequence[Json]) -> None:
    """Imports the records, each case once."""
    held = {str(one["id"]): one for one in records}
    told = at.run("import", at.file("s.json", suite(*held.values())))
    assert told.code == 0, told.err


def test_of_an_imported_talk_no_step_is_accused_and_what_the_user_said_is_known(at: Terminal) -> None:
    call: Json = {"id": "c1", "function": {"name": "cancel_order", "arguments": '{"order_id": "W-9"}'}}
    trajectory: list[JsonValue] = [
        {"role": "user", "content": "I want to cancel an order."}, {"role": "assistant", "content": "Which one?"},
        {"role": "user", "content": "The one with the lamp, W-7."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "cancel_order", "content": "cancelled"},
        {"role": "assistant", "content": "W-7 is cancelled."},
    ]  # fmt: skip
    gold: list[JsonValue] = [{"name": "cancel_order", "kwargs": {"order_id": "W-7"}}]
    task: Json = {"user_id": "mia", "instruction": "Cancel the lamp.", "actions": gold, "outputs": []}
    row: Json = {"task_id": 1, "trial": 0, "reward": 0.0, "info": {"task": task}, "traj": trajectory}
    at.file("m-retail.json", [row])
    ended = at.run("import", "m-retail.json")
    (line,) = [line for line in ended.out.splitlines() if "judge it here" in line]
    assert at.run(*line.partition("minions-evals ")[2].split(), "--json").one()["state"] == "completed"
    cause = at.run("list", "eval-failure", "--json").out
    assert "No step can be named (in conversations with a user" in cause
    assert "; the talk did not end as its checks ask" in cause
    assert "step 1" not in cause


NAMES = [f"b{letter}" for letter in "abcdef"]


def test_a_version_that_answers_503_on_the_cases_it_would_fail_is_not_better(at: Terminal) -> None:
    draw = random.Random(1)  # noqa: S311  outputs, no secret
    records: list[Json] = []
    for name in NAMES[:3]:
        records += versions(name) + passing([draw.random() < 0.6 for _ in range(40)], name=name, version=f"{name}-v1")
        for number in range(40):
            ident = f"{name}{number}"
            if draw.random() < 0.6:
                records.append(answer(f"{ident}/2", ident, "green", promptVersionRef=f"{name}-v2"))
            else:
                records.append(
                    record(
                        f"{ident}/2", "agent-run", agentId="a", inputs={"q": ident}, promptVersionRef=f"{name}-v2",
                        status="failed", errorMessage="HTTP 503 Service Unavailable",
                    )
                )  # fmt: skip
        records.append(benchmark(name, *(f"{name}{number}" for number in range(40))))
    kept(at, records)
    for ended in at.many(*map(compared, NAMES[:3])):
        told = ended.one()
        assert told["verdict"] not in {"improved", "equivalent"}
        assert told["recommendation"] != "ship"
        assert ended.code == 3, "not all of what was asked for could be compared"


def test_the_readme_gates_a_build_on_regressions_and_not_on_a_figure() -> None:
    recipe = (ROOT / "README.md").read_text(encoding="utf-8").partition("## In CI")[2].partition("\n## ")[0]
    assert "--fail-on-regression" in recipe
    assert "--min-" not in recipe


def test_unchanged_builds_fail_no_limit_below_what_they_score_in_truth(at: Terminal) -> None:
    draw = random.Random(4)  # noqa: S311  outputs, no secret
    records: list[Json] = []
    for name in NAMES:
        records += passing([draw.random() < 0.8 for _ in range(20)], name=name)
        records.append(benchmark(name, *(f"{name}{number}" for number in range(20))))
    kept(at, records)
    ended = at.many(*(["run-benchmark", name, "--min-score", "0.75"] for name in NAMES))
    codes = [one.code for one in ended]
    assert 1 not in codes, "17 of 100 did"
    assert 3 in codes, "of these, some score below the limit by chance"


async def test_a_score_that_comes_and_goes_in_waves_is_told_no_fall(engine: Engine) -> None:
    await fleet(engine, 25)
    for day in range(1, 25):  # over the crest and down to the trough
        await measured(engine, f"v{day}", first(round(25 * (0.8 + 0.08 * math.sin(2 * math.pi * day / 30))), 25))
    (trend,) = await all_of(engine, EvalTrend)
    assert len(json.loads(trend.fields.data_points)) == 24
    assert (trend.fields.change_points, await outbox(engine, "agent-message")) == ((), [])


def test_skewed_scores_of_equal_versions_are_rarely_a_regression(at: Terminal) -> None:
    draw = random.Random(2)  # noqa: S311  outputs, no secret
    records: list[Json] = []
    for name in NAMES:
        before, after = ([max(0.0, 1 - draw.expovariate(6)) ** 2 for _ in range(15)] for _ in range(2))
        records += scored(before, after, name=name)
    kept(at, records)
    verdicts = [ended.one()["verdict"] for ended in at.many(*map(compared, NAMES))]
    assert verdicts.count("regressed") <= 1, "a fifth of them did"


def test_what_max_score_selects_and_the_verdict_are_told_in_sentences_that_agree(at: Terminal) -> None:
    kept(at, [*scored([0.9] * 10, [0.6] * 10), *scored([0.9] * 6, [0.9] * 6, name="e")])
    explained, told, equal = at.many([*compared()[:-1], "--explain"], compared(), compared("e"))
    lines = explained.out.splitlines()
    assert lines[0].startswith("REGRESSED  Hold b@2: it scores 0.300 lower than b@1")
    assert "  winner by score: b@1" in lines
    assert "  max-score selects b@1 in 10 of the cases, b@2 in 0" in lines
    assert (told.one()["verdict"], told.one()["winner"], told.one()["recommendation"]) == ("regressed", "b-v1", "hold")
    assert (equal.one()["winner"], equal.one()["verdict"]) == ("tie", "inconclusive")

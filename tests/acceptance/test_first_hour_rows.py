"""What the first hour of four users found, row by row, and the tests that show it through an interface.

The rows are those of the issue First hour. Their tests stand in the file of what they test, and those of rows that had none stand here.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

import pytest

from minions_evals_mcp import Case, EvaluationResult, evaluate
from tests.shared.cli.terminal import ROOT
from tests.workshop import place_store

HERE = "acceptance/test_first_hour_rows.py"
CASES = [
    Case({"question": "Capital of France?"}, expected="Paris"),
    Case({"question": "Capital of Italy?"}, expected="Rome"),
]
SYNC, SCORES, CHECKS = "evaluation/test_run_sync.py", "evaluation/test_check_scores.py", "evaluation/test_checks.py"
OPTIONS, MATRIX = "cli/run/test_eval_options.py", "cli/run/test_configs.py"
ROWS: dict[int, tuple[str, tuple[tuple[str, str], ...]]] = {
    1: ("a second evaluate() finds the event loop closed", (
        (SYNC, "test_a_client_that_pools_connections_serves_one_evaluation_after_another"),
        (SYNC, "test_from_a_running_loop_the_calls_share_another"),
    )),
    2: ("two folders with the same name make a false regression", (
        (HERE, "test_two_folders_outside_a_project_share_no_name"),
        ("server/test_project_option.py", "test_the_server_keeps_what_it_is_given_in_the_projects_store"),
    )),
    3: ("a check's own score is in no output", (
        (SCORES, "test_a_case_has_the_score_reason_and_duration_of_each_check"),
        (SCORES, "test_checks_are_columns_of_the_data_frame_and_a_table_in_print_and_notebook"),
        (SCORES, "test_an_added_or_edited_check_leaves_the_others_comparable"),
    )),
    4: ("the judge's reason gets lost", (
        (CHECKS, "test_a_judges_reason_is_the_first_line_of_a_failure_and_no_comparison_is_claimed"),
    )),
    5: ("nothing erases", (
        ("cli/keep/test_forgetting.py", "test_a_person_is_forgotten_everywhere_and_the_figures_stay"),
        ("store/test_forgetting.py", "test_a_canary_in_every_text_of_every_row_leaves_no_byte"),
    )),
    6: ("judged traces are invisible", (
        ("view/test_production.py", "test_pages_show_judged_traces_where_no_benchmark_ever_ran"),
        ("cli/look/test_live.py", "test_live_shows_rates_causes_and_the_newest_failing_and_runs_name_no_trace"),
    )),
    8: ("what did not change is asked again", (
        ("cli/run/test_eval_cache.py", "test_only_new_cells_are_asked_and_the_summary_counts_those_from_the_cache"),
    )),
    9: ("a matrix cannot be handed on, and is no gate", (
        (MATRIX, "test_the_whole_matrix_is_written_from_the_store_in_every_form_as_eval_writes_it"),
        ("cli/run/test_eval_gates.py", "test_a_column_that_passes_fewer_tests_than_before_fails_the_command_that_ran_it"),
    )),
    10: ("cases of another form stop with an error of Python", (
        (HERE, "test_cases_are_read_from_json_lines"),
        ("evaluation/test_tasks.py", "test_inputs_that_the_task_does_not_take_are_refused_before_anything_runs"),
    )),
    11: ("rows of a matrix look alike", ((MATRIX, "test_the_matrix_shows_every_output_with_its_scores_and_what_is_selected"),)),
    12: ("promptfoo's options are refused", (
        (OPTIONS, "test_tests_are_chosen_by_description_number_or_failure"),
        (OPTIONS, "test_another_option_of_promptfoo_is_named_with_what_to_do"),
        (OPTIONS, "test_a_command_of_another_tool_is_answered_with_a_command_of_ours"),
    )),
    13: ("one machine, one web user, alerts as files", (
        ("acceptance/test_team_queue.py", "test_a_queue_is_judged_once_by_whom_it_is_meant_for"),
        ("view/test_team.py", "test_an_editor_divides_what_waits_and_each_queue_begins_with_its_own"),
        ("agent/integrations/test_webhooks.py", "test_the_agent_posts_what_its_file_names_and_needs_the_variables"),
        ("test_team_example.py", "test_its_three_commands_work_over_one_folder"),
    )),
}  # fmt: skip
"""Row 7 (a named target over MCP) has a test of the engine only: `test_case_outputs.py`."""


@lru_cache
def _tests_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_tests_that_exist(row: int) -> None:
    _, tests = ROWS[row]
    assert tests
    assert not [(file, name) for file, name in tests if name not in _tests_of(file)]


def right(question: str) -> str:
    return "Paris" if "France" in question else "Rome"


def wrong(question: str) -> str:
    return f"Is it {question[-7:-1]}?"


def test_two_folders_outside_a_project_share_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("MINIONS_EVALS_DB", raising=False)
    found: list[EvaluationResult] = []
    for folder, task in (("a", right), ("b", wrong), ("deep/b", wrong), ("a", wrong)):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        found.append(evaluate(task, CASES, checks=["icontains"], name="capitals", progress=False))
    first, second, third, again = found
    assert [result.name for result in found] == ["capitals", "b/capitals", "b-2/capitals", "capitals"]
    assert "b/capitals: failed; the first run of this name" in str(second)
    assert "as b/capitals: capitals is the name of another folder's evaluation there" in str(second)
    assert "the first run of this name" in str(third)
    assert again.before == first.run_id
    assert "regression" in str(again)


def test_cases_are_read_from_json_lines(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(
        '{"question": "Capital of France?", "expected": "Paris"}\n{"question": "Capital of Italy?", "expected": "Rome"}\n'
    )
    store = place_store(tmp_path)
    result = evaluate(right, str(tmp_path / "cases.jsonl"), checks=["icontains"], store=store, progress=False)
    assert result.passed_count == 2

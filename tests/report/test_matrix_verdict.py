"""What a config's matrix says in words: the best column, how sure that is, and the command that follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.engine.config_eval.matrix import Cell, ColumnBefore, ColumnFigures, ConfigTestRow, Matrix
from minions_evals_mcp.report.matrix.cells import reasons
from minions_evals_mcp.report.matrix.prompts import prompts_over_providers
from minions_evals_mcp.report.matrix.verdict import headline, next_step, verdict

RUNS = ("11111111-aaaa-bbbb-cccc-000000000000", "22222222-aaaa-bbbb-cccc-000000000000")


def column(passed: int, total: int, run_id: str | None) -> ColumnFigures:
    return ColumnFigures(
        prompt="p", provider="m", provider_id="m", run_id=run_id, run_ids=() if run_id is None else (run_id,), key="k",
        prompt_version_ref="v", state="completed", passed=passed, failed=total - passed, errors=0, open=0,
        pass_rate=None, score=passed / total if total else None, latency_ms=None, cost_usd=None,
    )  # fmt: skip


def matrix(*columns: list[bool]) -> Matrix:
    """A matrix whose tests came out so in each column."""
    rows = tuple(
        ConfigTestRow(
            index=number, case_id=f"c{number}", title="t", variables={}, trial=1,
            cells=tuple(Cell(column=at, passed=good, score=float(good)) for at, good in enumerate(outcomes)),
        )
        for number, outcomes in enumerate(zip(*columns, strict=True))
    )  # fmt: skip
    figures = (column(sum(one), len(one), run) for one, run in zip(columns, (*RUNS, *RUNS), strict=False))
    return Matrix(title="t", benchmark_id="b", columns=tuple(figures), rows=rows, spent_usd=0.0)


def test_a_column_that_is_better_beyond_chance_is_said_to_be_and_the_two_are_put_side_by_side() -> None:
    better = matrix([False] * 12, [True] * 12)
    (said,) = verdict(better)
    assert said.startswith("[1] scores 1.000 higher than [0], statistically significant (95 % CI ")
    assert next_step(better) == "Next: minions-evals diff 11111111 22222222"


def test_two_tests_can_be_chance() -> None:
    (said,) = verdict(matrix([True, True], [False, False]))
    assert said.startswith("[0] scores 1.000 higher than [1], not significant")
    assert said.endswith("To decide: about 4 more tests.")


def test_where_test_and_interval_disagree_the_sentence_says_which_decides() -> None:
    (said,) = verdict(matrix([True] * 5 + [False] * 5, [False] * 10))
    assert "not significant: the test decides and cannot tell, though the interval leaves 0 out (95 % CI +0.084" in said


def test_prompts_that_begin_alike_are_named_from_where_they_differ() -> None:
    alike = "Answer the customer as politely as you can in everything you say: "
    found = matrix([True] * 2, [False] * 2, [True] * 2, [False] * 2)
    names = [f"{alike}{'be short' if at % 2 else 'say it all'}" for at in range(4)]
    columns = tuple(
        one.model_copy(update={"prompt": name, "prompt_version_ref": name[-5:], "provider": f"m{at // 2}", "provider_id": f"m{at // 2}"})
        for at, (one, name) in enumerate(zip(found.columns, names, strict=True))
    )  # fmt: skip
    (told,) = prompts_over_providers(found.model_copy(update={"columns": columns}))
    assert told.startswith("Over the 2 providers “…you say: say it all” scores 1.000 higher than “…you say: be short”")


def test_equal_columns_are_called_equal() -> None:
    (said,) = verdict(matrix([True, False], [False, True]))
    assert said == "[0] and [1] score equally."


def test_a_single_column_leads_to_its_failures_or_to_the_page() -> None:
    assert verdict(matrix([True, False])) == ["1 of 2 tests passed."]
    assert next_step(matrix([True, False])) == "Next: minions-evals report 11111111 -o report.html"
    assert verdict(matrix([True])) == ["1 of 1 test passed."]
    assert next_step(matrix([True])) == "Next: minions-evals view"


def test_a_store_that_was_named_is_named_in_the_next_command() -> None:
    assert next_step(matrix([True]), Path("my evals.db")) == "Next: minions-evals view --db 'my evals.db'"


def test_where_nothing_was_judged_the_verdict_says_whether_it_can_be() -> None:
    broken = Matrix(title="t", benchmark_id="b", columns=(column(0, 0, None),), rows=(), spent_usd=0.0)
    assert (verdict(broken), next_step(broken)) == (["No output could be judged."], "")
    waiting = broken.model_copy(update={"columns": (column(0, 0, RUNS[0]).model_copy(update={"open": 1}),)})
    assert (verdict(waiting), next_step(waiting)) == (["No output has been judged yet."], "Next: minions-evals judge")


def test_the_best_of_several_columns_is_named_with_what_is_sure_of_it() -> None:
    good, bad, one_bad = [True] * 20, [False] * 20, [True] * 19 + [False]
    several = matrix(good, bad, one_bad, good)
    assert headline(several) == (
        "[0] and [3] score highest (1.000), significantly higher than [1], not significantly higher than [2]."
    )
    assert [line[:33] for line in verdict(several)[1:3]] == [
        "[0] scores 0.050 higher than [2],",
        "[0] scores 1.000 higher than [1],",
    ]
    assert headline(matrix(good, good, good)) == "All 3 columns score equally (1.000)."
    columns = (several.columns[0].model_copy(update={"errors": 1, "open": 2}), *several.columns[1:])
    unsure = headline(several.model_copy(update={"columns": columns}))
    assert unsure.endswith("than [2]. 1 output ended in an error. 2 outputs wait to be judged.")


def test_the_best_prompt_over_all_providers_is_named_each_test_counted_once() -> None:
    good, bad = [True] * 12, [False] * 12
    four = matrix(bad, good, bad, good)
    asked = [("p0", "a"), ("p1", "a"), ("p0", "b"), ("p1", "b")]
    both = [
        column(6, 12, f"{at}{RUNS[0]}").model_copy(
            update={"prompt": prompt, "prompt_version_ref": prompt, "provider": provider, "provider_id": provider}
        )
        for at, (prompt, provider) in enumerate(asked)
    ]
    said = verdict(four.model_copy(update={"columns": tuple(both)}))
    (over,) = [line for line in said if line.startswith("Over")]
    assert over.startswith(
        "Over the 2 providers “p1” scores 1.000 higher than “p0”, statistically significant (95 % CI "
    )
    assert over.endswith("; 12 tests).")
    alone = verdict(four.model_copy(update={"columns": tuple(both[:2])}))
    assert not [line for line in alone if line.startswith("Over")]


def test_a_changed_column_is_put_beside_its_wording_before() -> None:
    before = ColumnBefore(
        column=1, run_id=RUNS[0], reworded=True, delta=-0.25, interval=(-0.5, -0.1), p_value=0.01,
        verdict="regressed", cases=12, tests=1,
    )  # fmt: skip
    said = verdict(matrix([True], [True]).model_copy(update={"before": (before,)}))
    assert said[1] == (
        "[1] scores 0.250 lower than the previous version of this prompt (run 11111111),"
        " statistically significant (95 % CI -0.500 to -0.100, p = 0.01; 12 tests)."
    )


def test_an_output_that_was_not_chosen_counts_in_the_comparison_as_in_the_figures() -> None:
    """The sentence put the outputs' own scores, which are equal, beside figures in which one of them is 0."""
    found = matrix([True] * 3, [False] * 3)
    cells = tuple(Cell(column=at, passed=True, score=1.0, selected=at == 0) for at in range(2))
    rows = tuple(row.model_copy(update={"cells": cells}) for row in found.rows)
    (said, *_) = verdict(found.model_copy(update={"rows": rows}))
    assert said.startswith("[0] scores 1.000 higher than [1]")


def test_a_column_with_the_higher_mean_may_be_the_lower_one_where_both_were_judged() -> None:
    found = matrix([True, False, True], [True, True, False])
    rows = [row.model_copy(update={"cells": (row.cells[0], row.cells[1])}) for row in found.rows]
    rows[2] = rows[2].model_copy(update={"cells": (rows[2].cells[0], Cell(column=1))})
    columns = (column(2, 3, RUNS[0]), column(1, 2, RUNS[1]))
    (said, *_) = verdict(found.model_copy(update={"rows": tuple(rows), "columns": columns}))
    assert said.startswith("[0] scores 0.500 lower than [1]")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (Cell(column=0, outcome="awaiting-judgments", reason="human"), "waits to be judged"),
        (
            Cell(column=0, outcome="awaiting-judgments", reason="human", undecided="select-best: no reply"),
            "select-best: no reply",
        ),
        (Cell(column=0, outcome="target-error", reason="HTTP 500"), "HTTP 500"),
    ],
)
def test_an_output_without_a_verdict_says_why_and_never_by_a_judges_name(cell: Cell, said: str) -> None:
    assert reasons(cell) == said

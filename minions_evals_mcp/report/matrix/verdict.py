"""The verdict on a config's matrix: which column is best, how sure that is, and the command that follows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.engine.answers.run_diff import APART
from minions_evals_mcp.engine.config_eval.baselines import ColumnGate
from minions_evals_mcp.engine.config_eval.matrix import JUDGED, ColumnBefore, ColumnFigures, Matrix
from minions_evals_mcp.report.matrix.prompts import EQUAL, MOST, how_sure, prompts_over_providers
from minions_evals_mcp.report.next_command import next_line
from minions_evals_mcp.stats.case_pairs import CasePair
from minions_evals_mcp.stats.comparison import ERROR, compare
from minions_evals_mcp.stats.intervals import grouped_pass_rate
from minions_evals_mcp.stats.limits import limit_gate
from minions_evals_mcp.stats.regression import Gate


def verdict(matrix: Matrix) -> list[str]:
    """The answer in a sentence, then how sure each comparison is."""
    return [headline(matrix), *details(matrix)]


def headline(matrix: Matrix) -> str:
    """Which column scores highest and whether that is significant, then how many outputs have no verdict."""
    best, others = _ranked(matrix)
    if best is None:
        is_waiting = any(column.open for column in matrix.columns)
        return "No output has been judged yet." if is_waiting else "No output could be judged."
    return " ".join([_answer(matrix, best, others), *_without_verdict(matrix)])


def details(matrix: Matrix) -> list[str]:
    """The figures behind the headline: the best column beside the nearest others, each prompt, and the runs before."""
    best, others = _ranked(matrix)
    if best is None:
        return []
    lower = _lower(matrix, best, others)[:MOST] if len(others) > 1 else []
    return [
        *(_beside(matrix, best, other, level=1 - ERROR / len(others)) for other in lower),
        *prompts_over_providers(matrix),
        *(_since(column) for column in matrix.before),
    ]


def next_step(matrix: Matrix, store: Path | None = None) -> str:
    """The command that follows, in the store that was named; empty where nothing was judged and nothing waits."""
    best, others = _ranked(matrix)
    if best is not None:
        return next_line(_next(matrix, best, others), store)
    return next_line("judge", store) if any(column.open for column in matrix.columns) else ""


def _ranked(matrix: Matrix) -> tuple[int | None, list[int]]:
    """The best judged column, the first of equals, and the others, the best first."""
    judged = [number for number, column in enumerate(matrix.columns) if column.score is not None]
    best, *others = sorted(judged, key=lambda number: -_score(matrix.columns[number])) or [None]
    return best, [number for number in others if number is not None]


def _lower(matrix: Matrix, best: int, others: Sequence[int]) -> list[int]:
    top = _score(matrix.columns[best])
    return [number for number in others if top - _score(matrix.columns[number]) > EQUAL]


def _score(column: ColumnFigures) -> float:
    assert column.score is not None
    return column.score


def _answer(matrix: Matrix, best: int, others: Sequence[int]) -> str:
    level = 1 - ERROR / max(1, len(others))
    if not others:
        return _alone(matrix.columns[best])
    if len(others) == 1:
        return _beside(matrix, best, others[0], level=level)
    lower = _lower(matrix, best, others)
    score = f"{_score(matrix.columns[best]):.3f}"
    if not lower:
        return f"All {1 + len(others)} columns score equally ({score})."
    top = [best, *(number for number in others if number not in lower)]
    is_sure = {number: _is_sure(matrix, best, number, level) for number in lower[:MOST]}
    sure = [number for number, holds in is_sure.items() if holds]
    doubtful = [number for number, holds in is_sure.items() if not holds]
    parts = [f"significantly higher than {_named(sure)}"] if sure else []
    parts += [f"not significantly higher than {_named(doubtful)}"] if doubtful else []
    return f"{_named(top)} {'scores' if len(top) == 1 else 'score'} highest ({score}), {', '.join(parts)}."


def _is_sure(matrix: Matrix, best: int, other: int, level: float) -> bool:
    pairs = list(_pairs(matrix, other, best))
    return bool(pairs) and compare(pairs, level=level).verdict == "improved"


def _named(numbers: Sequence[int]) -> str:
    *first, last = (f"[{number}]" for number in sorted(numbers))
    return f"{', '.join(first)} and {last}" if first else last


def _without_verdict(matrix: Matrix) -> Iterator[str]:
    errors = sum(column.errors for column in matrix.columns)
    waiting = sum(column.open for column in matrix.columns)
    if errors:
        yield f"{errors} {'output' if errors == 1 else 'outputs'} ended in an error."
    if waiting:
        yield f"{waiting} {'output waits' if waiting == 1 else 'outputs wait'} to be judged."


def _alone(column: ColumnFigures) -> str:
    total = column.passed + column.failed
    return f"{column.passed} of {total} {'test' if total == 1 else 'tests'} passed."


def _beside(matrix: Matrix, best: int, other: int, *, level: float) -> str:
    pairs = list(_pairs(matrix, other, best))
    if not pairs:
        return f"[{best}] and [{other}] have no test in common."
    difference = compare(pairs, level=level)
    if abs(difference.delta) < EQUAL:
        return f"[{best}] and [{other}] score equally{_over(len(pairs), len({row.case_id for row in matrix.rows}))}."
    settle = f" To decide: {difference.settle.replace(' case', ' test')}." if difference.settle else ""
    by = f"{abs(difference.delta):.3f} {'higher' if difference.delta > 0 else 'lower'}"
    return f"[{best}] scores {by} than [{other}], {how_sure(difference, level, len(pairs))}.{settle}"


def _over(both: int, tests: int) -> str:
    return "" if both == tests else f" over the {'test' if both == 1 else f'{both} tests'} that both have"


def _since(before: ColumnBefore) -> str:
    """A column beside the run that stood in its place before."""
    what = "the previous version of this prompt" if before.reworded else "its run before"
    if abs(before.delta) < EQUAL:
        return f"[{before.column}] scores the same as {what} (run {short_id(before.run_id)})."
    by = f"{abs(before.delta):.3f} {'higher' if before.delta > 0 else 'lower'}"
    sure = how_sure(before, 1 - ERROR / before.tests, before.cases)
    return f"[{before.column}] scores {by} than {what} (run {short_id(before.run_id)}), {sure}."


def column_words(matrix: Matrix, gate: ColumnGate) -> str:
    """A column that fell beside its baseline, or could not be compared with it, in words."""
    diff = gate.diff
    column = matrix.columns[gate.column]
    if diff is None:
        apart = f"has no test in common with run {short_id(gate.before)}" if gate.before else "is not in the baseline"
        return f"[{gate.column}] {column.provider} {apart}: nothing to compare with"
    fell, rose = diff.counts.get("newly-failing", 0), diff.counts.get("newly-passing", 0)
    passed = f"{diff.before.passed} → {diff.after.passed} of {diff.after.trials} passed"
    return (
        f"[{gate.column}] {column.provider} passes fewer tests than run {short_id(gate.before)}: {passed}"
        f" ({fell} newly failing, {rose} newly passing)"
    )


def apart_words(matrix: Matrix, gate: ColumnGate) -> str:
    """How many failing tests of a column are new or edited, so that its gate says nothing of them; empty where none is."""
    if gate.diff is None:
        return ""
    apart = [change.after for change in gate.diff.changes if change.kind in APART and change.after is not None]
    failing = sum(measure.passed < measure.trials for measure in apart)
    if not failing:
        return ""
    tests = "1 test is" if len(apart) == 1 else f"{len(apart)} tests are"
    fail = "it fails" if len(apart) == 1 else f"{failing} of them {'fails' if failing == 1 else 'fail'}"
    name = f"[{gate.column}] {matrix.columns[gate.column].provider}"
    return f"{name}: {tests} new or edited since run {short_id(gate.before)} and not compared with it; {fail}"


def whole_pass_rate_gate(matrix: Matrix, limit: float) -> str:
    """Why too small a share of all outputs passes, as promptfoo counts them: errors too, chance not weighed; empty where it holds."""
    cells = [cell for row in matrix.rows for cell in row.cells]
    passed = sum(cell.success for cell in cells)
    held = bool(cells) and limit_gate(passed / len(cells), None, limit, cases=len(cells), literal=True).gate == "held"
    share = 100 * passed / len(cells) if cells else 0.0
    words = f"{passed} of {len(cells)} outputs pass ({share:.2f} %), below PROMPTFOO_PASS_RATE_THRESHOLD ({100 * limit:g} %)"
    return "" if held else words


def pass_rate_gates(matrix: Matrix, limit: float) -> list[tuple[Gate, str]]:
    """Each column beside the pass rate that it is to reach, in words; a column in which nothing was judged is undecided."""
    return [
        _pass_rate_gate(matrix, number, limit)
        for number, column in enumerate(matrix.columns)
        if column.run_id is not None
    ]


def _pass_rate_gate(matrix: Matrix, number: int, limit: float) -> tuple[Gate, str]:
    column = matrix.columns[number]
    judged = column.passed + column.failed
    name = f"[{number}] {column.provider}"
    found = grouped_pass_rate(
        (row.group or row.case_id, row.cells[number].success)
        for row in matrix.rows
        if row.cells[number].verdict in JUDGED
    )
    if not judged or found is None:
        return "undecided", f"{name} has no judged test"
    found = limit_gate(column.passed / judged, found.bounds, limit, cases=judged)
    words = f"{name} passes {column.passed} of {judged} tests, fewer than {limit:g}"
    if found.gate == "undecided":
        more = f"; about {found.cases_needed} tests would decide" if found.cases_needed else ""
        words += f", which is not significant{more}"
    return found.gate, words


def _pairs(matrix: Matrix, a: int, b: int) -> Iterator[CasePair]:
    """The tests that were judged in both columns, their trials side by side."""
    scores: dict[str, tuple[list[float], list[bool], list[float], list[bool]]] = defaultdict(lambda: ([], [], [], []))
    for row in matrix.rows:
        for column, at in ((a, 0), (b, 2)):
            cell = row.cells[column]
            if cell.counted is not None and cell.verdict in JUDGED:
                case_scores = scores[row.case_id]
                (case_scores[0] if at == 0 else case_scores[2]).append(cell.counted)
                (case_scores[1] if at == 0 else case_scores[3]).append(cell.success)
    groups = {row.case_id: row.group for row in matrix.rows}
    for case_id, (score_a, passed_a, score_b, passed_b) in scores.items():
        if score_a and score_b:
            trials = (tuple(score_a), tuple(score_b), tuple(passed_a), tuple(passed_b))
            yield CasePair(case_id, *trials, group=groups[case_id])


def _next(matrix: Matrix, best: int, others: Sequence[int]) -> str:
    """Two columns are looked at case by case, a failure in its report, and all else on the page."""
    run_id = matrix.columns[best].run_id
    other_id = matrix.columns[others[0]].run_id if others else None
    if run_id is not None and other_id is not None and run_id != other_id:
        return f"diff {short_id(other_id)} {short_id(run_id)}"
    if run_id is not None and matrix.columns[best].failed:
        return f"report {short_id(run_id)} -o report.html"
    return "view"

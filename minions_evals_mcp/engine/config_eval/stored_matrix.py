"""The matrix of an evaluation as the store has it: its columns, every output with every score, and what each test chose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

from minions_evals_mcp.domain.definitions import Benchmark, TestCase
from minions_evals_mcp.domain.metric_scores import CheckScore
from minions_evals_mcp.domain.request_fields import OF_A_CONFIG
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.config_eval.columns_before import columns_before
from minions_evals_mcp.engine.config_eval.kept_columns import NOT_ASKED, KeptPart, kept_part
from minions_evals_mcp.engine.config_eval.matrix import (
    JUDGED,
    AssertionScore,
    Cell,
    ColumnFigures,
    ConfigTestRow,
    Matrix,
    Selected,
)
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import newest
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.config_labels import CHOSEN, EVALUATED, target_label
from minions_evals_mcp.store.queries.pages.matrix_cells import newest_of_versions
from minions_evals_mcp.targets.prompted import written_prompt

MOST_VERSIONS = 12


@dataclass(frozen=True, slots=True)
class _Column:
    """A column's runs, the first of which names it."""

    label: str
    parts: tuple[KeptPart, ...]

    def cell(self, number: int, case_id: str, trial: int) -> Cell:
        part = next((part for part in self.parts if (case_id, trial) in part.units), None)
        if part is None:
            return Cell(column=number, asked=False, reason=NOT_ASKED)
        cell = part.cell(number, case_id, trial)
        unit = part.units[case_id, trial]
        run = part.runs.get(unit.test_run_id or "")
        prompt = None if unit.observed is None else written_prompt(unit.observed.output)
        scores = () if run is None else tuple(_score(score) for score in run.fields.checks)
        return cell.model_copy(update={"prompt": prompt, "scores": scores})


def is_evaluated(db: Db, benchmark_id: str) -> bool:
    """Whether the benchmark's newest runs are the columns of an evaluated config."""
    return newest(db, EVALUATED, benchmark_id) is not None


def stored_matrix(db: Db, benchmark_id: str) -> Matrix:
    """The newest evaluation of that benchmark: the columns of its config, else the newest run of each version.

    Raises `BadInputError` where it has no run.
    """
    benchmark = records.require(db, benchmark_id, Benchmark)
    noted = newest(db, EVALUATED, benchmark_id) or {}
    columns = [
        _Column(label, tuple(kept_part(db, ident) for ident in idents))
        for label, idents in _runs(db, benchmark_id, noted)
    ]
    if not columns:
        raise BadInputError(
            f"{benchmark_id} has no run yet.",
            remedy=f"{Next('run-benchmark', {'benchmark_id': benchmark_id}, 'makes one')}.",
        )
    rows = _rows(db, benchmark.fields.test_case_ids, columns, _choices(db, benchmark_id, columns))
    names = version_names(db, (_asked(column.parts[0].job, "promptVersionRef") for column in columns))
    figures = tuple(_figures(db, number, column, rows, names) for number, column in enumerate(columns))
    spent = {part.job.id: part.job.spent.get("costUsd", 0.0) for column in columns for part in column.parts}
    return Matrix(
        title=benchmark.title,
        benchmark_id=benchmark_id,
        columns=figures,
        rows=rows,
        spent_usd=math.fsum(spent.values()),
        before=columns_before(
            db, run_ids=[figure.run_id or "" for figure in figures], before=cast("list[str]", noted.get("before") or [])
        ),
    )


def _runs(db: Db, benchmark_id: str, noted: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The label and the runs of each column."""
    run_ids = cast("list[str]", noted.get("runIds") or [])
    labels = cast("list[list[str]]", noted.get("labels") or [[ident, ""] for ident in run_ids])
    by_run = dict(labels)
    if parts := cast("list[list[str]]", noted.get("parts") or []):
        if len(parts) == len(labels) and all(ident in idents for (ident, _), idents in zip(labels, parts, strict=True)):
            return [(label, idents) for (_, label), idents in zip(labels, parts, strict=True)]  # two may share a run
        return [
            (next((by_run[ident] for ident in idents if ident in by_run), ""), idents) for idents in parts if idents
        ]
    if labels:
        return [(label, [ident]) for ident, label in labels]
    return [("", [ident]) for ident in newest_of_versions(db, benchmark_id, limit=MOST_VERSIONS)]


def _rows(
    db: Db, case_ids: Sequence[str], columns: Sequence[_Column], choices: Mapping[tuple[str, int], list[Selected]]
) -> tuple[ConfigTestRow, ...]:
    cases = records.get_all(db, case_ids, TestCase)
    trials = max(trial for column in columns for part in column.parts for _, trial in part.units or {("", 1): None})
    rows: list[ConfigTestRow] = []
    for index, case_id in enumerate(case_ids):
        case = cases.get(case_id)
        if case is None:
            continue
        for trial in range(1, trials + 1):
            cells = tuple(column.cell(number, case_id, trial) for number, column in enumerate(columns))
            if not any(cell.asked for cell in cells):
                continue
            picks = choices.get((case_id, trial), [])
            cells = tuple(_selected(cell, picks) for cell in cells)
            rows.append(
                ConfigTestRow(
                    index=index,
                    case_id=case_id,
                    title=case.title,
                    variables=case.fields.inputs,
                    trial=trial,
                    cells=cells,
                    selections=tuple(picks),
                )
            )
    return tuple(rows)


def _selected(cell: Cell, picks: Iterable[Selected]) -> Cell:
    picks = [*picks]
    return cell.model_copy(update={"selected": all(pick.selected == cell.column for pick in picks)}) if picks else cell


def _choices(db: Db, benchmark_id: str, columns: Sequence[_Column]) -> dict[tuple[str, int], list[Selected]]:
    """What each test chose, where that is noted of these columns."""
    noted = newest(db, CHOSEN, benchmark_id)
    if noted is None or noted["runIds"] != [column.parts[0].job.id for column in columns]:
        return {}
    rows = cast("list[tuple[str, int, list[dict[str, Any]]]]", noted["rows"])
    return {
        (case_id, trial): [
            Selected(type=pick["type"], selected=pick["selected"], scores=tuple(pick.get("scores", ())))
            for pick in picks
        ]
        for case_id, trial, picks in rows
    }


def _score(score: CheckScore) -> AssertionScore:
    parts = tuple(_score(part) for part in score.parts)
    return AssertionScore(
        type=score.name, passed=score.passed, score=score.score, reason=score.reason, weight=score.weight, parts=parts
    )


def _figures(
    db: Db, number: int, column: _Column, rows: Sequence[ConfigTestRow], names: Mapping[str, str]
) -> ColumnFigures:
    cells = [row.cells[number] for row in rows if row.cells[number].asked]
    judged = [cell for cell in cells if cell.verdict in JUDGED]
    passed = sum(cell.success for cell in judged)
    errors = sum(cell.verdict == "error" for cell in cells)
    job = column.parts[0].job
    version = _asked(job, "promptVersionRef")
    return ColumnFigures(
        prompt=named(names, version) or "no version",
        provider=column.label or (target_label(db, job) or "").removeprefix(OF_A_CONFIG),
        provider_id=_asked(job, "target").removeprefix(OF_A_CONFIG),
        run_id=job.id,
        run_ids=tuple(part.job.id for part in column.parts),
        key=job.key,
        prompt_version_ref=version,
        state=next((part.job.state for part in column.parts if part.job.state != "completed"), "completed"),
        passed=passed,
        failed=len(judged) - passed,
        errors=errors,
        open=len(cells) - len(judged) - errors,
        pass_rate=100 * passed / len(judged) if judged else None,
        score=fmean(cell.counted or 0.0 for cell in judged) if judged else None,
        latency_ms=_mean(cell.latency_ms for cell in cells),
        cost_usd=_sum(cell.cost_usd for cell in cells),
        metrics=_metrics(db, column),
    )


def _metrics(db: Db, column: _Column) -> dict[str, float]:
    """Each named metric's mean over the column's first run."""
    return {mean.title: mean.score for mean in runs.means(db, column.parts[0].job.id)}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def _asked(job: Job, name: str) -> str:
    request = job.spec.get("request")
    value = request.get(name) if isinstance(request, dict) else None
    return str(value) if value is not None else ""

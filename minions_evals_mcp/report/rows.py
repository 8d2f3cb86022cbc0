"""A report for programs: JSON with everything in it, and CSV with a row for each trial of each case."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.engine.answers.report_values import Report, ReportedCase
from minions_evals_mcp.report.sentences import answer

CELL = 32_000
"""Spreadsheets take 32,767 characters in a cell."""
_UNSEEN = " \xa0\u1680\u2000-\u200f\u202a-\u202f\u205f-\u206f\u3000\ufeff\x00-\x08\x0e-\x1b\x7f"
_CELL_START = re.compile(
    rf'(^|[;\t\n\x0b\x0c\r\x1c-\x1f\x85\u2028\u2029])(?=[{_UNSEEN}"]*[=+\-@\uff1d\uff0b\uff0d\uff20])'
)
"""Where a cell begins for some reader, be it one that splits at semicolons or in every line, and a formula follows.

Signs of full width count, which East Asian spreadsheets read like plain ones, and so do those behind what cannot be seen.
"""
FIXED = (
    "testCaseId", "title", "trial", "status", "outcome", "score", "points", "possible", "before", "change", "failureType",
    "severity", "latencyMs", "costUsd", "testRunId", "inputs", "expected", "output", "rationale", "rootCause", "reason",
    "cautions",
)  # fmt: skip


async def json_text(report: Report, cases: AsyncIterator[ReportedCase]) -> AsyncGenerator[str]:
    """One JSON document: the answer, the figures, then the cases, whole."""
    head = {"answer": answer(report), **report.model_dump(mode="json")}
    if report.diff is not None:
        head["diff"] = report.diff.model_dump(mode="json", exclude={"changes", "more"})  # each case has its own change
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "cases": ['
    between = "\n"
    async for case in cases:
        yield between + case.model_dump_json(exclude_none=True)
        between = ",\n"
    yield "\n]}\n"


async def csv_text(report: Report, cases: AsyncIterator[ReportedCase]) -> AsyncGenerator[str]:
    """A table whose cells no spreadsheet takes for a formula: those that might be one begin with an apostrophe."""
    criteria = [criterion.id for criterion in report.criteria]
    names = [_heading(criterion.title) for criterion in report.criteria]
    yield csv_row([*FIXED, *names])
    async for case in cases:
        yield csv_row([*_cells(case), *_scores(case, criteria)])


def _heading(title: str) -> str:
    """A criterion's column, told from the others where it has the name of one of them."""
    return f"criterion {title}" if title in FIXED else title


def _cells(case: ReportedCase) -> list[object]:
    shown, cause = case.either_trial, case.either_trial.cause
    return [
        case.test_case_id, case.title, case.trial, case.status, shown.outcome, shown.score, shown.points, shown.possible,
        case.before.score if case.before is not None and case.change is not None else None,
        case.change.kind if case.change is not None else None, cause.failure_type if cause is not None else None,
        cause.severity if cause is not None else None, shown.latency_ms, shown.cost_usd, shown.test_run_id, canonical(case.inputs),
        None if case.expected is None else canonical(case.expected), shown.text,
        "\n".join(f"{judgment.criterion_id}: {judgment.rationale}" for judgment in shown.judgments),
        cause.root_cause if cause is not None else None, shown.reason,
        "\n".join(shown.cautions),
    ]  # fmt: skip


def _scores(case: ReportedCase, criteria: Sequence[str]) -> list[object]:
    scores = {
        **case.either_trial.metrics,
        **{judgment.criterion_id: judgment.score for judgment in case.either_trial.judgments},
    }
    return [scores.get(ident) for ident in criteria]


def csv_row(cells: Sequence[object]) -> str:
    """The cells as a line of CSV; a text that a spreadsheet would take for a formula is told as a text."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow([_cell(cell) for cell in cells])
    return buffer.getvalue()


def _cell(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\0", "") if len(cell) <= CELL else cell[:CELL].replace("\0", "") + "…"
    plain = _CELL_START.sub(r"\1'", text)
    return f"'{plain}" if plain.startswith(("\t", "\r", "\n")) else plain

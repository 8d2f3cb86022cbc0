"""What an erasure reaches, in words: records by their type, and the rows that were made of them."""

from __future__ import annotations

from collections.abc import Mapping

ROWS = {
    "test_run": "output", "eval_judgment": "judgment", "eval_failure": "failure", "failure_cause": "cause",
    "unit": "case of a run", "verdict": "answer of a judge", "inbox": "message", "outbox": "notification",
    "expected": "expected output", "trace_reading": "reading of a trace", "talk": "conversation",
    "user_label": "label", "output_note": "note", "probe_verdict": "judge probe", "test_branch_execution": "A/B output",
    "benchmark_run": "benchmark run", "job": "run", "handed_in": "submitted judgment",
}  # fmt: skip
"""What a row of a table is; any other is called as its table, a record as its type."""
PLURALS = {"case of a run": "cases of runs", "answer of a judge": "answers of judges", "reading of a trace": "readings of traces",
           "person": "people", "rubric criterion": "rubric criteria"}  # fmt: skip


def amounts(rows: Mapping[str, int]) -> str:
    """The rows by kind, the most first: "12 outputs, 12 judgments, 1 agent run"."""
    return ", ".join(_counted(number, kind) for kind, number in sorted(rows.items(), key=lambda row: (-row[1], row[0])))


def _counted(number: int, kind: str) -> str:
    word = ROWS.get(kind, kind.replace("_", " ").replace("-", " "))
    return f"{number:,} {word if number == 1 else PLURALS.get(word, f'{word}s')}"

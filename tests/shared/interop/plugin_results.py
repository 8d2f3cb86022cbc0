"""Results as `claude plugin eval` writes them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def grader(name: str, *, passed: bool, weight: float = 1, **more: object) -> Json:
    """A grader's result in a run."""
    held: Json = {"name": name, "passed": passed, "weight": weight, "explanation": f"{name}: {passed}"}
    return {**held, "withOnly": False, "scored": True, **more}


def run(*graders: Json) -> Json:
    """One run of a case."""
    return {
        "score": 0, "passed": False, "turns": 3, "costUsd": 0.05, "durationSeconds": 2, "error": None, "graders": [*graders],
        "startedAt": "2026-11-26T15:43:59.818Z", "skippedPaidGraders": False,
    }  # fmt: skip


def results(cases: dict[str, dict[str, list[Json]]], *, started: str = "2026-11-26T15:43:59.796Z") -> Json:
    """A whole file: by the case's name, the runs of its arms."""
    return {
        "schemaVersion": 1, "claudeVersion": "2.1.332", "startedAt": started, "durationSeconds": 16, "costUsd": 0.2,
        "suite": {"root": "units", "threshold": 1, "plugins": [{"name": "units", "version": "0.1.0"}]},
        "cases": [
            {"name": name, "dir": f"evals/{name}", "promptMarkdown": f"Do {name}.", "runsPerCase": 1, "graders": [], "arms": arms}
            for name, arms in cases.items()
        ],
        "aggregates": {},
    }  # fmt: skip

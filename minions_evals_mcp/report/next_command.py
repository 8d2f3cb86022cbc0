"""The command that follows from an answer, as it is typed next."""

from __future__ import annotations

import shlex
from pathlib import Path

from minions_evals_mcp.domain.request_fields import OF_A_CONFIG, OF_A_FUNCTION
from minions_evals_mcp.domain.results import NO_OUTPUT
from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.stats.series.trend import SMALLEST_WINDOW

NEXT = "Next: minions-evals "
PAGE = "view"
"""The command where no other follows."""


def next_line(command: str, store: Path | None) -> str:
    """The line behind the verdict; a store that the last command line named is named in it, too."""
    return f"{NEXT}{command}" if store is None else f"{NEXT}{command} --db {shlex.quote(str(store))}"


def run_command(benchmark_id: str, *, target: str | None, version: str | None = None) -> str:
    """Returns the command that runs a benchmark as it ran; the page where only a config or a program can run it."""
    if target is not None and target.startswith((OF_A_CONFIG, OF_A_FUNCTION)):
        return PAGE
    options = (("--prompt-version", version), ("--target", target))
    return " ".join(
        ["run-benchmark", benchmark_id, *(f"{name} {shlex.quote(given)}" for name, given in options if given)]
    )


def next_command(summary: RunSummary) -> str:
    """Returns what to type after `minions-evals`; empty where the run is not over, which says itself how it goes on."""
    if summary.state != "completed":
        return ""
    if summary.kind == "test-case":
        return f"history {summary.subject_id}"
    before = None if summary.regression is None else summary.regression.get("previousRunId")
    if isinstance(before, str):
        return f"diff {short_id(before)} {short_id(summary.run_id)}"
    if any(line.reason.startswith(NO_OUTPUT) for line in summary.unscored):
        return f"run-benchmark {summary.subject_id} --rerun-failed {short_id(summary.run_id)} --target TARGET"
    if summary.failures or summary.unscored:
        return f"report {short_id(summary.run_id)} -o report.html"
    if summary.audit is not None and summary.audit.state != "audited":
        return f"audit {summary.subject_id}"
    points = 0 if summary.trend is None else summary.trend["points"]
    return f"trend {summary.subject_id}" if isinstance(points, int) and points >= SMALLEST_WINDOW else "view"

"""What the tests of one run judged, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minions_evals_mcp.configured import db_path
from minions_evals_mcp.settings import settings_here

SHOWN = 20


def summary_lines(told: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The checks counted, each evaluation with its verdict against the run before, where it is kept, what to do next."""
    checks = [one for one in told if one["kind"] == "check"]
    evaluations = [one for one in told if one["kind"] == "evaluation"]
    if checks:
        passed = sum(1 for one in checks if one["passed"])
        yield f"{passed} of {len(checks)} checks passed"
        for one in [one for one in checks if not one["passed"]][:SHOWN]:
            ended = "failed" if one["passed"] is False else "not judged"
            yield f"  {ended}: {one['name']} (minions-evals history {one['name']})"
    for one in evaluations[:SHOWN]:
        yield str(one["line"])
    if len(evaluations) > SHOWN:
        yield f"and {len(evaluations) - SHOWN} more evaluations"
    yield f"kept in {db_path(None, settings_here())}"
    failed = [one for one in evaluations if one["passed"] is not True]
    yield f"next: {failed[0]['next'] if failed else 'minions-evals view'}"

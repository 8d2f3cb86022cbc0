"""The verdicts of one test run, in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from minions_evals_mcp.configured import db_path, default_db
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.settings import settings_here

SHOWN = 20


def summary_lines(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The checks counted, each evaluation with its verdict against the run before, where it is kept, what to do next."""
    checks = [entry for entry in entries if entry["kind"] == "check"]
    evaluations = [entry for entry in entries if entry["kind"] == "evaluation"]
    db = db_path(None, settings_here())
    store = None if db == default_db() else db
    if checks:
        passed = sum(1 for check in checks if check["passed"])
        lost = [check for check in checks if not check["passed"]]
        allowed = sum(1 for check in lost if check["green"])
        within = f"; {allowed} that did not {'is' if allowed == 1 else 'are'} of tests that passed" if allowed else ""
        open_verdicts = sum(1 for check in checks if check["passed"] is None)
        missing = f", {open_verdicts} without a verdict" if open_verdicts else ""
        yield f"{passed} of {len(checks)} checks passed{missing}{within}"
        red = Counter((check["name"], check["passed"] is False) for check in lost if not check["green"])
        for (name, is_judged), often in [*red.items()][:SHOWN]:
            ended = ("failed" if is_judged else "not judged") + (f" {often} times" if often > 1 else "")
            yield f"  {ended}: {name} ({in_store('minions-evals history', store)} {name})"
        if len(red) > SHOWN:
            yield f"  and {len(red) - SHOWN} more checks"
    for check in evaluations[:SHOWN]:
        yield str(check["line"])
    if len(evaluations) > SHOWN:
        yield f"and {len(evaluations) - SHOWN} more evaluations"
    yield f"saved in {db}"
    failed = [evaluation for evaluation in evaluations if evaluation["passed"] is not True]
    yield f"next: {failed[0]['next'] if failed else in_store('minions-evals view', store)}"

"""The lines at the end of a test run."""

from __future__ import annotations

import pytest

from minions_evals_mcp.pytest_plugin.summary import summary_lines


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ((True, False), "1 of 2 checks passed"),
        ((True, False, None), "1 of 3 checks passed, 1 without a verdict"),
        ((None, None), "0 of 2 checks passed, 2 without a verdict"),
    ],
)
def test_checks_without_a_verdict_are_counted_apart(verdicts: tuple[bool | None, ...], said: str) -> None:
    entries = [
        {"kind": "check", "name": f"c{number}", "passed": passed, "green": passed is True}
        for number, passed in enumerate(verdicts)
    ]
    first, *rest = summary_lines(entries)
    assert first == said
    assert sum(line.startswith("  not judged: ") for line in rest) == verdicts.count(None)

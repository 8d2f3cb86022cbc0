"""Outputs that speak of a broken instrument rather than of a bad agent: mostly empty, or all alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.store.queries.outputs import RunOutput

FEWEST = 3
"""Fewer outputs show nothing."""


def strange_outputs(outputs: Iterable[RunOutput], total: int) -> Iterator[str]:
    """Yields what to look at before the figures are believed, each in words; `total` are all outputs.

    No more of them are read than it takes: unlike ones of which most say something are not strange, whatever follows.
    """
    count = empty = 0
    first, is_alike, all_passed = "", True, True
    cases: set[str] = set()
    for seen, output in enumerate(outputs, 1):
        if not output.timed_out:
            text = output_text(output.output).strip()
            first = first if count else text
            count, empty, is_alike = count + 1, empty + (not text), is_alike and text == first
        if len(cases) < FEWEST:
            cases.add(output.test_case_id)
        all_passed = all_passed and output.passed
        if not is_alike and total - seen <= count - 2 * empty:
            return
    if count < FEWEST:
        return
    if 2 * empty > count:
        yield f"warning: {empty} of {count} outputs are empty. Check that the target works"
    elif is_alike and len(cases) >= FEWEST and not all_passed:
        yield f"warning: all {count} outputs are identical. Check that the target works"

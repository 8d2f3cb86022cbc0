"""Outputs that speak of a broken instrument rather than of a bad agent: mostly empty, or all alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.store.queries.outputs import RunOutput

FEWEST = 3
"""Fewer outputs show nothing."""


def strange_outputs(found: Sequence[RunOutput]) -> Iterator[str]:
    """What to look at before the figures are believed: each in words."""
    texts = [output_text(one.output).strip() for one in found if not one.timed_out]
    if len(texts) < FEWEST:
        return
    empty = texts.count("")
    if 2 * empty > len(texts):
        yield f"warning: {empty} of {len(texts)} outputs are empty; does what made them work?"
    elif (
        len(set(texts)) == 1
        and len({one.test_case_id for one in found}) >= FEWEST
        and not all(one.passed for one in found)
    ):
        yield f"warning: all {len(texts)} outputs are alike; does what made them work?"

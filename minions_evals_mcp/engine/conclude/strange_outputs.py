"""Outputs that speak of a broken instrument rather than of a bad agent: mostly empty, or all alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.store.queries.outputs import RunOutput

FEWEST = 3
"""Fewer outputs show nothing."""


def strange_outputs(outputs: Sequence[RunOutput]) -> Iterator[str]:
    """Yields what to look at before the figures are believed: each in words."""
    texts = [output_text(output.output).strip() for output in outputs if not output.timed_out]
    if len(texts) < FEWEST:
        return
    empty = texts.count("")
    if 2 * empty > len(texts):
        yield f"warning: {empty} of {len(texts)} outputs are empty; does what made them work?"
    elif (
        len(set(texts)) == 1
        and len({output.test_case_id for output in outputs}) >= FEWEST
        and not all(output.passed for output in outputs)
    ):
        yield f"warning: all {len(texts)} outputs are alike; does what made them work?"

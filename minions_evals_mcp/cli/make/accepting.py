"""What is said of drafts that were accepted, and how they are run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from minions_evals_mcp.cli.telling import as_typed


def accepted_lines(accepted: Sequence[str], asked: Sequence[str]) -> Iterator[str]:
    """Each draft that is active now, how many of those named, and the command that runs them."""
    yield from (f"{ident}: active" for ident in accepted)
    yield f"{len(accepted)} of {len(asked)} drafts are active now"
    if accepted:
        yield as_typed(f"Next: minions-evals run {' '.join(accepted)} --target python:MODULE:FUNCTION")

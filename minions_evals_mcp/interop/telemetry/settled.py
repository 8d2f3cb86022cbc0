"""What is whole of the telemetry that came."""

from __future__ import annotations

from dataclasses import dataclass

from minions_evals_mcp.domain.definitions import Json


@dataclass(frozen=True, slots=True)
class Settled:
    """An agent-run on the wire, or none, and the rows of the parts that nothing more is made of.

    `unless`: the run is only made of parts that came late where the store has one whose id begins so.
    """

    run: Json | None
    rows: tuple[int, ...] = ()
    unless: str = ""

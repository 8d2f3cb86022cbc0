"""Options for a quick look at some of a benchmark's cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minions_evals_mcp.cli.derived import options_of
from minions_evals_mcp.operations.table import TABLE

CHOOSING = ("filter", "rerun_failed", "sample", "seed", "limit", "cache")
"""The fields of a benchmark's request that choose cases, and whether outputs are made anew."""

if TYPE_CHECKING:
    Choice = Any
else:
    Choice = options_of(TABLE["run_benchmark"], CHOOSING)

WHOLE = options_of(TABLE["run_benchmark"], CHOOSING)() if TYPE_CHECKING else Choice()


def chosen(choice: Choice) -> dict[str, object]:
    """What was chosen, by the names of the request."""
    values = {name: getattr(choice, name) for name in CHOOSING}
    return {name: value for name, value in values.items() if value is not None}

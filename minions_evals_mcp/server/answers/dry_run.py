"""A dry run in a line: what would be judged, called and paid at most, and what is missing."""

from __future__ import annotations

from minions_evals_mcp.engine.run.estimate import Estimate


def dry_line(*sides: Estimate) -> str:
    """The line for one run, or for those of several versions together."""
    units, missing = sum(one.units for one in sides), sum(one.missing for one in sides)
    judge, target = sum(one.model_calls for one in sides), sum(one.target_calls for one in sides)
    said = [f"dry run: {units - missing} outputs would be judged, at most {judge} model calls to judge"]
    if target:
        said.append(f"at most {target} calls to make outputs")
    if judge or target:
        said.append(_cost(sides))
    if missing:
        said.append(f"{missing} outputs are missing: save_records agent-runs, or name a target")
    return "; ".join(said)


def _cost(sides: tuple[Estimate, ...]) -> str:
    costs = [cost for one in sides for cost in (one.judge_cost_usd, one.target_cost_usd)]
    known = [cost for cost in costs if cost is not None]
    return f"at most {sum(known):.4f} USD" + ("" if len(known) == len(costs) else " and what has no known price")

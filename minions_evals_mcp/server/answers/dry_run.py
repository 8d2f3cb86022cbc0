"""A dry run in a line: what would be judged, called and paid at most, and what is missing."""

from __future__ import annotations

from minions_evals_mcp.engine.run.estimate import Estimate


def dry_line(*sides: Estimate) -> str:
    """The line for one run, or for those of several versions together."""
    units, missing = sum(side.units for side in sides), sum(side.missing for side in sides)
    judge, target = sum(side.model_calls for side in sides), sum(side.target_calls for side in sides)
    parts = [f"dry run: {units - missing} outputs would be judged, at most {judge} model calls to judge"]
    if target:
        parts.append(f"at most {target} calls to generate outputs")
    users = sum(side.user_calls for side in sides)
    if users:
        parts.append(f"at most {users} calls to play and check simulated users")
    if judge or target or users:
        parts.append(_cost(sides))
    if missing:
        parts.append(f"{missing} outputs are missing: save_records agent-runs, or name a target")
    return "; ".join(parts)


def _cost(sides: tuple[Estimate, ...]) -> str:
    costs = [cost for side in sides for cost in (side.judge_cost_usd, side.target_cost_usd, side.user_cost_usd)]
    known = [cost for cost in costs if cost is not None]
    return f"at most {sum(known):.4f} USD" + ("" if len(known) == len(costs) else " plus calls of unknown price")

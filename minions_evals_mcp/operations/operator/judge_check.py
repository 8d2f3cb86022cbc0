"""Judge-check: probe a model judge without labels, with outputs that mislead bad judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minions_evals_mcp.engine.people.judge_check import CheckEstimate, CriterionCheck
from minions_evals_mcp.engine.people.judge_check import CheckRequest as Request
from minions_evals_mcp.engine.people.judge_check import JudgeCheck as Answer

if TYPE_CHECKING:
    from minions_evals_mcp.engine.context import Engine

__all__ = ["Answer", "CheckEstimate", "CriterionCheck", "Request", "estimate", "run"]


async def run(engine: Engine, request: Request) -> Answer:
    """The probes and what the judge answered; what was asked before is not asked again."""
    from minions_evals_mcp.engine.people.judge_check import judge_check  # noqa: PLC0415  the engine, at the first call

    return await judge_check(engine, request)


async def estimate(engine: Engine, request: Request) -> CheckEstimate:
    """The calls that probing would make and the most that they can cost; nothing is asked."""
    from minions_evals_mcp.engine.people.judge_check import estimate_check  # noqa: PLC0415  as above

    return await estimate_check(engine, request)

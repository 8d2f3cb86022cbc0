"""A log of tool calls, read step by step: what is wrong in it, which step began it, and how sure that is."""

from minions_evals_mcp.scoring.failures.log.chances import NAMED_FROM, chance, shape_of
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.ranking import most_likely
from minions_evals_mcp.scoring.failures.log.reading import MOST_STEPS, Log, unread_steps

__all__ = ["MOST_STEPS", "NAMED_FROM", "Finding", "Log", "chance", "most_likely", "shape_of", "unread_steps"]

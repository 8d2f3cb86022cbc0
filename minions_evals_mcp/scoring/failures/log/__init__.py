"""A log of tool calls, read step by step: what is wrong in it, which step began it, and how sure that is."""

from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.ranking import most_likely
from minions_evals_mcp.scoring.failures.log.reading import MOST_STEPS, unread_steps

__all__ = ["MOST_STEPS", "Finding", "most_likely", "unread_steps"]

"""The class of a failure, how grave it is, and where it began."""

from minions_evals_mcp.scoring.classification.classify import classify

__all__ = ["classify"]

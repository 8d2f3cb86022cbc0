"""The reasons why an output failed, told by rule: its class, how grave, which criteria, and the step that it goes back to."""

from minions_evals_mcp.scoring.failures.failed import OWN_CHECKS, Analysis, FailedCriterion, FailedOutput

__all__ = ["OWN_CHECKS", "Analysis", "FailedCriterion", "FailedOutput"]

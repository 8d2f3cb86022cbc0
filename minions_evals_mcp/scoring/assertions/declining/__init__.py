"""Whether a text declines the task that it was given, in English, German, French, Spanish, Italian and Portuguese."""

from minions_evals_mcp.scoring.assertions.declining.verdict import Refusal, refusal, refusal_signals

__all__ = ["Refusal", "refusal", "refusal_signals"]

"""The recognition of texts that decline their task, in English, German, French, Spanish, Italian and Portuguese."""

from minions_evals_mcp.scoring.assertions.declining.verdict import Refusal, may_refuse, refusal

__all__ = ["Refusal", "may_refuse", "refusal"]

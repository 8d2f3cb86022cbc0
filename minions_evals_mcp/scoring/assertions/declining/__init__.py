"""The recognition of texts that decline their task, in English, German, French, Spanish, Italian, Portuguese, Russian, Japanese and
Chinese.
"""

from minions_evals_mcp.scoring.assertions.declining.hints import holds_no_refusal
from minions_evals_mcp.scoring.assertions.declining.verdict import Refusal, may_refuse, refusal

__all__ = ["Refusal", "holds_no_refusal", "may_refuse", "refusal"]

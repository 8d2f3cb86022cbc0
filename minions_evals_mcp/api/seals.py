"""Benchmarks of which a part is sealed, and candidates tried on them."""

from minions_evals_mcp.engine.seals.exposures import budget_left, sealed_verdict
from minions_evals_mcp.engine.seals.seal import SealAsked, seal_benchmark, unseal
from minions_evals_mcp.engine.trials.trial import TrialAnswer, TrialRequest, compare_sealed, try_version

__all__ = [
    "SealAsked",
    "TrialAnswer",
    "TrialRequest",
    "budget_left",
    "compare_sealed",
    "seal_benchmark",
    "sealed_verdict",
    "try_version",
    "unseal",
]

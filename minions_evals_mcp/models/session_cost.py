"""The cost of a coding agent's session."""

from __future__ import annotations

from minions_evals_mcp.models.prices import cost_usd
from minions_evals_mcp.models.replies import TokenUsage
from minions_evals_mcp.sessions.session import Session, Tokens


def session_cost(session: Session) -> float | None:
    """US dollars: what the program says, else what its tokens cost by the price table; None where a model has no price there."""
    if session.cost is not None:
        return session.cost
    costs = [_cost(session.provider, model, tokens) for model, tokens in session.models.items() if tokens.total]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _cost(provider: str, model: str, tokens: Tokens) -> float | None:
    usage = TokenUsage(tokens.read, tokens.written, cache_read_tokens=tokens.cached, cache_write_tokens=tokens.stored)
    return cost_usd(provider, model, usage) if model and provider else None

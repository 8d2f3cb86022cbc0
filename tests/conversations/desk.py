"""An agent of tests, which asks for an order number and pays back; each call stands in a log beside it."""

from __future__ import annotations

from minions_evals_mcp.domain.values import Json

heard: list[str] = []
"""Every message that it was told in this process."""


def desk(message: str, session: Json) -> str:
    """The answer; what it was told before is in its session."""
    heard.append(message)
    told = session.setdefault("told", [])
    assert isinstance(told, list)
    told.append(message)
    if "A1" in " ".join(map(str, told)):
        return f"Paid back, number R-7, after {len(told)} messages. Goodbye!"
    return "What is your order number?"

"""Two capitals: cases, a function that knows both, and one that knows one."""

from __future__ import annotations

from minions_evals_mcp import Case

CAPITALS = {"France": "Paris", "Italy": "Rome"}


def answer(country: str) -> str:
    """Knows two capitals."""
    return f"It is {CAPITALS.get(country, 'unknown')}."


def worse(country: str) -> str:
    """Knows one capital."""
    return "It is Paris." if country == "France" else "no idea"


CASES = [Case({"country": name}, expected=capital) for name, capital in CAPITALS.items()]

"""A function under evaluation; edit it, run it again, and read what changed."""

from minions_evals_mcp import Case, evaluate, tool

CAPITALS = {"France": "Paris", "Italy": "Rome"}


@tool
def look_up(country: str) -> str:
    return CAPITALS[country]


def answer(question: str) -> str:
    country = question.removeprefix("Capital of ").strip("?")
    return f"It is {look_up(country)}."


result = evaluate(
    answer,
    [Case({"question": f"Capital of {country}?"}, expected=capital) for country, capital in CAPITALS.items()],
    checks=["icontains", {"type": "trajectory:tool-used", "value": "look_up"}],
    name="capitals",
)
print(result)
assert result.passed

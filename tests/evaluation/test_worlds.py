"""`evaluate(…, world=…)`: the task acts on a fresh copy of the world in each case."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp import Case, evaluate, tool
from minions_evals_mcp.errors import BadInputError

WORLD: dict[str, object] = {
    "servers": {
        "shop": {
            "tools": [
                {
                    "name": "refund",
                    "rules": [
                        {
                            "changes": [{"op": "add", "path": "/refunds/-", "value": "{{arguments.order}}"}],
                            "result": "ok",
                        }
                    ],
                }
            ]
        }
    },
    "state": {"refunds": []},
}
CHECKS = [
    {"type": "state", "value": {"query": "length(refunds)", "equals": 1}},
    {"type": "effect", "value": {"tool": "refund", "times": 1}},
]


@tool
def refund(order: str) -> str:
    raise AssertionError(f"the real tool was called for {order}")


def agent(order: str) -> str:
    return refund(order)


async def twice(order: str) -> str:
    return refund(order) + refund(order)


def test_a_marked_tool_is_answered_by_the_world_of_its_case(tmp_path: Path) -> None:
    cases = [Case({"order": name}) for name in ("A1", "A2", "A3")]
    good = evaluate(agent, cases, checks=CHECKS, world=WORLD, store=tmp_path / "e.db", progress=False)
    assert good.passed_count == 3
    bad = evaluate(twice, cases, checks=CHECKS, world=WORLD, store=tmp_path / "e.db", progress=False)
    assert bad.passed_count == 0
    again = evaluate(
        twice, cases, checks=CHECKS, world="agent/world", name="again", store=tmp_path / "e.db", progress=False
    )
    assert again.passed_count == 0


@pytest.mark.parametrize(
    ("world", "told"),
    [
        ({"servers": {}}, "servers"),
        ({"servers": {"s": {}}}, "at least one tool"),
        ("nowhere", "no world with the id 'nowhere'"),
    ],
)
def test_a_world_that_does_not_fit_is_refused_before_anything_runs(tmp_path: Path, world: object, told: str) -> None:
    with pytest.raises(BadInputError, match=told):
        evaluate(agent, [Case({"order": "A1"})], checks=CHECKS, world=world, store=tmp_path / "e.db", progress=False)  # pyright: ignore[reportArgumentType]

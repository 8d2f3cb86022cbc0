"""Direct imports of engine and store from the interfaces: they only become fewer, until `operations` stands between."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BELOW = ("minions_evals_mcp.engine", "minions_evals_mcp.store")
LEFT = {
    "minions_evals_mcp/cli": 77,
    "minions_evals_mcp/server": 40,
    "minions_evals_mcp/messages": 19,
    "minions_evals_mcp/api": 19,
    "agent": 79,
}
"""Imports that are left in each interface. Lower a number when you have moved a call behind an operation; none is ever raised."""


def imported(module: Path) -> Iterator[str]:
    """The modules of engine and store that this one imports, once for each statement."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module=str() as name) if name.startswith(BELOW):
                yield name
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name.startswith(BELOW))
            case _:
                pass


@pytest.mark.parametrize("interface", LEFT)
def test_an_interface_imports_engine_and_store_less_and_less(interface: str) -> None:
    found = [name for module in sorted((ROOT / interface).rglob("*.py")) for name in imported(module)]
    assert len(found) <= LEFT[interface], (
        f"{interface}: call an operation instead; {len(found)} imports, {LEFT[interface]} are left"
    )
    assert len(found) == LEFT[interface], (
        f"{interface}: {len(found)} are left now: lower the number in LEFT, so that it stays so"
    )

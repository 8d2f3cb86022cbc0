"""Whoever installs the package has what it imports: nothing works only because a developer's environment has more."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("minions_evals_mcp", "agent")
CARRIED = {"mcp_types": "mcp", "pydantic_core": "pydantic", "pydantic_monty": "pydantic-monty"}
"""Modules that another package pins and brings along, by the package that we name."""


def imported() -> Iterator[tuple[str, Path]]:
    """Each module of another package, and who imports it."""
    for path in (file for name in OURS for file in (ROOT / name).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Import(names):
                    modules = [alias.name for alias in names]
                case ast.ImportFrom(str(module), level=0):
                    modules = [module]
                case _:
                    modules = []
            for module in modules:
                top = module.partition(".")[0]
                if top not in sys.stdlib_module_names and top not in OURS:
                    yield top, path


def declared() -> set[str]:
    """The packages that pyproject.toml names, those of the extras too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    return {plain(re.split(r"[^\w.-]", one, maxsplit=1)[0]) for one in wanted}


def plain(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def test_every_package_that_is_imported_is_declared() -> None:
    brought, known = packages_distributions(), declared()
    missing = {
        f"{top} in {path.relative_to(ROOT)}"
        for top, path in imported()
        if known.isdisjoint({plain(CARRIED.get(top, top)), *map(plain, brought.get(top, ()))})
    }
    assert missing == set()

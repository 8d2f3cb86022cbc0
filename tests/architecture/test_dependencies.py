"""Whoever installs the package has what it imports: nothing works only because a developer's environment has more."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
OURS = ("minions_evals_mcp", "agent")
CARRIED = {"mcp_types": "mcp", "pydantic_core": "pydantic", "pydantic_monty": "pydantic-monty"}
"""Modules that another package pins and brings along, by the package that we name."""


def imported() -> dict[str, set[str]]:
    """Each package of others, and our modules that import it."""
    graph = grimp.build_graph(*OURS, include_external_packages=True, cache_dir=None)
    others = {module for module in graph.modules if module.partition(".")[0] not in OURS}
    tops = {module.partition(".")[0] for module in others} - sys.stdlib_module_names
    return {
        top: {
            one
            for module in others
            if module.partition(".")[0] == top
            for one in graph.find_modules_that_directly_import(module)
        }
        for top in tops
    }


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
        top: by
        for top, by in imported().items()
        if known.isdisjoint({plain(CARRIED.get(top, top)), *map(plain, brought.get(top, ()))})
    }
    assert missing == {}


def test_the_base_install_can_ask_the_models_of_every_provider() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {"anthropic", "openai"} <= {
        plain(re.split(r"[^\w.-]", one, maxsplit=1)[0]) for one in project["dependencies"]
    }

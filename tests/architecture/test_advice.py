"""Advice is data below the interfaces: no command and no option stands in a text there, and every step names what the table holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from minions_evals_mcp.presentation.operations_table import OPERATIONS
from tests.shared.presentation.sites import ROOT, Site, docstrings, sites

BELOW = (
    "engine", "store", "scoring", "interop", "domain", "judges", "targets", "models", "sandbox", "skills", "embedding", "toolboxes",
    "stats", "messages", "operations", "errors.py", "next_steps.py",
)  # fmt: skip
COMMAND = re.compile(r"minions-evals [a-z`]|(?<![\w-])--[a-z][a-z-]+")
OF_OTHERS = {
    ("sandbox/trusted.py", "--max-old-space-size="),
    *(
        ("sandbox/node.py", option)
        for option in (
            "--no-warnings",
            "--experimental-detect-module",
            "--experimental-transform-types",
            "--import",
            "--help",
            "--version",
        )
    ),
    *(
        ("targets/coding_agents/host_commands.py", option)
        for option in ("--output-format", "--verbose", "--json", "--format", "--plugin-dir")
    ),
}
"""Options that are passed to node, and to coding agents."""
OPTIONS_OF_AGENTS = "interop/promptfoo_config/providers/coding_agents.py"
"""The table of what a config says, as the command lines of coding agents take it."""


def _files() -> Iterator[Path]:
    for room in BELOW:
        path = ROOT / room
        yield from path.rglob("*.py") if path.is_dir() else [path]


def _texts(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    shown = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in shown:
            yield node.value


def test_no_text_below_the_interfaces_holds_a_command_or_an_option() -> None:
    found = {(str(path.relative_to(ROOT)), text) for path in _files() for text in _texts(path) if COMMAND.search(text)}
    of_agents = {(file, text) for file, text in found if file == OPTIONS_OF_AGENTS}
    assert all(text.startswith("--") and " " not in text for _, text in of_agents)
    assert found - of_agents == OF_OTHERS, "name the operation by `Next`, the option by `argument`"


@pytest.mark.parametrize("site", sites(), ids=str)
def test_every_step_names_an_operation_of_the_table(site: Site) -> None:
    operation = site.operation
    assert operation in OPERATIONS, site

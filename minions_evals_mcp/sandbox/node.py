"""The node that runs JavaScript which the operator trusts, and TypeScript where it can."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from minions_evals_mcp.sandbox.child_environment import child_environment

TYPES = "--experimental-transform-types"
"""Runs TypeScript with all that is more than types (`enum`, parameter properties)."""
_FIRST = (22, 15)
"""The first version with `module.registerHooks`; of those after it 23.0 to 23.4 lack it."""
_FINDER = Path(__file__).with_name("modules.mjs")


@cache
def node_flags(node: str) -> tuple[str, ...]:
    """Returns what that node is started with: what it offers for the modules of a config."""
    offered = _said(node, "--help")
    flags = [flag for flag in ("--experimental-detect-module", TYPES) if flag in offered]
    found = ("--import", _FINDER.as_uri()) if runs_typescript(node) else ()
    return ("--no-warnings", *flags, *found)


@cache
def runs_typescript(node: str) -> bool:
    """Returns whether that node takes the types out of TypeScript and finds modules without an ending."""
    version = tuple(int(part) for part in _said(node, "--version").strip().lstrip("v").split(".")[:2] if part.isdigit())
    return version >= _FIRST and not (23, 0) <= version < (23, 5)


def node_here() -> str | None:
    """Returns the node of the PATH."""
    return shutil.which("node")


def _said(node: str, option: str) -> str:
    done = subprocess.run([node, option], capture_output=True, text=True, check=False, env=child_environment())  # noqa: S603  node itself
    return done.stdout

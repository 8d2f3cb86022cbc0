"""The place of the skills and fixtures: in the wheel beside the code, in a checkout beside the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal


def shipped_folder(name: Literal["skills", "fixtures"]) -> Path:
    """The folder of that name."""
    package = Path(str(resources.files("minions_evals_mcp")))
    inside = package / "_shipped" / name
    return inside if inside.is_dir() else package.parent / name

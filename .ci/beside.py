"""Whether we install beside what agents are written with: for each, the version of it that is chosen alone and beside us.

python .ci/beside.py

Asks the package index, by uv. Exit 1 where one cannot be installed beside us, or only in an older version.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BESIDE = (
    "langchain-mcp-adapters", "mcp-use", "langgraph", "openai-agents", "pydantic-ai-slim[mcp]", "llama-index-tools-mcp",
    "google-adk", "agno", "strands-agents", "autogen-ext[mcp]", "smolagents[mcp]", "fastmcp", "crewai", "semantic-kernel", "mcp<2",
)  # fmt: skip
"""What agents are written with, and the MCP library that many of them ask for."""


def chosen(wanted: list[str], name: str) -> str:
    """The version of that package among those that fit together; empty where none do."""
    command = ["uv", "pip", "compile", "-q", "--no-header", "--no-annotate", "--python-version", "3.12", "-"]
    done = subprocess.run(  # noqa: S603 - words of our own
        command, input="\n".join(wanted), capture_output=True, text=True, check=False
    )
    found = re.search(rf"^{re.escape(name)}==(\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else ""


def main() -> None:
    """Prints a line for each."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    held = True
    for package in BESIDE:
        name = re.split(r"[\[<]", package)[0]
        alone, both = chosen([package], name), chosen([*ours, package], name)
        held &= alone == both
        sys.stdout.write(f"{package}: alone {alone}, beside us {both or 'not installable'}\n")
    sys.exit(not held)


if __name__ == "__main__":
    main()

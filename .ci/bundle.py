"""Makes the bundle that desktop hosts install with a click: python .ci/bundle.py OUT.mcpb

It holds the source and a manifest (MCPB 0.4, server type `uv`): the host's uv installs what pyproject.toml names at the first start.
"""

from __future__ import annotations

import json
import sys
import tomllib
import zipfile
from pathlib import Path

from minions_evals_mcp.server.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
HELD = ("minions_evals_mcp", "agent", "skills", "fixtures")
BESIDE = ("pyproject.toml", "README.md", "LICENSE")
LEFT_OUT = {"__pycache__"}


def manifest() -> dict[str, object]:
    """What the bundle is, how its server is started, and which tools it has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    described = json.loads((ROOT / "minions_evals_mcp" / "server" / "server.json").read_text("utf-8"))
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": described["title"],
        "version": project["version"],
        "description": project["description"],
        "author": {"name": project["authors"][0]["name"]},
        "homepage": project["urls"]["Homepage"],
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "minions_evals_mcp/server/entry.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", project["name"]],
                "env": {
                    "MINIONS_EVALS_DB": "${user_config.store}",
                    "ANTHROPIC_API_KEY": "${user_config.anthropic_api_key}",
                },
            },
        },
        "user_config": {
            "store": {
                "type": "string",
                "title": "Store",
                "description": "The store's file; without it, one in the platform's data folder.",
                "required": False,
                "default": "",
            },
            "anthropic_api_key": {
                "type": "string",
                "title": "Anthropic API key",
                "description": "For a model as judge or target. Without any key, rules and the calling agent judge.",
                "required": False,
                "default": "",
                "sensitive": True,
            },
        },
        "tools": [
            {"name": name, "description": entry.description.partition("\n")[0]} for name, entry in CATALOGUE.items()
        ],
        "compatibility": {"platforms": ["linux"], "runtimes": {"python": project["requires-python"]}},
    }


def main(out: Path) -> None:
    """Writes the bundle."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("manifest.json", json.dumps(manifest(), indent=2))
        for name in BESIDE:
            bundle.write(ROOT / name, name)
        for path in sorted(path for held in HELD for path in (ROOT / held).rglob("*")):
            if path.is_file() and not LEFT_OUT.intersection(path.parts):
                bundle.write(path, path.relative_to(ROOT))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

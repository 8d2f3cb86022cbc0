"""What hosts and the registry read: the README's table and install lines, and server.json."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from minions_evals_mcp.server.options import read_options
from minions_evals_mcp.settings import PREFIX, read_settings
from tests.server.readme import PAGE, TABLE, table

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
SERVER_LINE = re.compile(r"^ *(?:[A-Z_]+=\S+ +|\S.* -- )*minions-evals-mcp((?: .*)?)$", re.MULTILINE)
"""The options of a line that starts the server, after variables or within a host's own command."""


def _listing() -> dict[str, Any]:
    return json.loads(files("minions_evals_mcp.server").joinpath("server.json").read_text("utf-8"))


def test_the_documented_table_of_tools_is_the_catalogues() -> None:
    found = TABLE.search(PAGE.read_text("utf-8"))
    assert found is not None
    assert found[0] == table(), "python -m tests.server.readme writes it anew"


def test_the_registrys_listing_names_this_package_and_version_and_the_readme_claims_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listing = _listing()
    (package,) = listing["packages"]
    assert (listing["version"], package["version"]) == (project["version"], project["version"])
    assert (package["registryType"], package["identifier"]) == ("pypi", project["name"])
    assert package["transport"] == {"type": "stdio"}
    assert len(listing["description"]) <= 100, "the registry's limit"
    assert f"mcp-name: {listing['name']}" in README.read_text("utf-8")
    assert project["name"] in project["scripts"], "uvx starts the script of the package's name"


def test_the_listings_variables_are_ones_that_are_read() -> None:
    (package,) = _listing()["packages"]
    told = {one["name"]: "" for one in package["environmentVariables"]}
    assert any(name.startswith(PREFIX) for name in told)
    read_settings(told)  # refuses an unknown one
    assert all(one["isSecret"] for one in package["environmentVariables"] if "KEY" in one["name"])


def test_every_documented_line_that_starts_the_server_is_understood() -> None:
    pages = [README, *sorted((ROOT / "docs").rglob("*.md"))]
    lines = {page: SERVER_LINE.findall(page.read_text("utf-8")) for page in pages}
    assert lines[PAGE]
    for options in chain.from_iterable(lines.values()):
        read_options(shlex.split(options, comments=True))

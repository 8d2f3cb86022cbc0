"""What is shipped is found, in a checkout and in an installed wheel."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import minions_evals_mcp
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.cli.terminal import Terminal

PACKAGE = Path(minions_evals_mcp.__file__).parent
LICENCES = {"0BSD": "Zero-Clause BSD", "MIT": "The MIT License", "OFL-1.1": "SIL Open Font License, Version 1.1"}


def test_the_folders_hold_what_the_demo_and_the_skills_need() -> None:
    assert (shipped_folder("fixtures") / "support-agent.yaml").is_file()
    assert (shipped_folder("skills") / "hard-rules.md").is_file()


def test_the_files_of_others_that_pages_load_are_those_that_were_published_with_their_licences() -> None:
    beside = PACKAGE / "view" / "assets"
    origins = json.loads((beside / "origins.json").read_text("utf-8"))
    named = {name: digest for one in origins for name, digest in one["files"].items()}
    found = {file.name for file in beside.iterdir()} - {"origins.json"}
    assert {name for name in found if not name.endswith(".LICENSE")} == set(named), "every file has its row"
    for name, digest in named.items():
        assert hashlib.sha256((beside / name).read_bytes()).hexdigest() == digest, name
        assert (beside / f"{name.partition('.')[0]}.LICENSE").is_file(), name
    for one in origins:
        licence = (beside / f"{next(iter(one['files'])).partition('.')[0]}.LICENSE").read_text("utf-8")
        assert LICENCES[one["licence"]] in licence
        assert one["integrity"].startswith("sha512-")
    assert sum((beside / name).stat().st_size for name in named if name.endswith(".woff2")) < 40_000


def test_an_installed_package_uses_its_own_copy(tmp_path: Path) -> None:
    """A package beside which nothing stands, as in site-packages; the code is the real one, by link."""
    package = tmp_path / "site" / "minions_evals_mcp"
    package.mkdir(parents=True)
    for part in PACKAGE.iterdir():
        if part.name != "_shipped":
            (package / part.name).symlink_to(part)
    (package / "_shipped").mkdir()
    for name in ("skills", "fixtures"):
        (package / "_shipped" / name).symlink_to(shipped_folder(name).resolve())
    at = Terminal(tmp_path, {"PYTHONPATH": str(tmp_path / "site")})
    where, demo = "doctor", "demo"
    told, shown = at.run(where, "--json"), at.run(demo)
    assert str(package / "_shipped" / "skills") in told.out
    assert shown.code == 0, shown
    assert "16 of 26 passed" in shown.out

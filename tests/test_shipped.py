"""What is shipped is found, in a checkout and in an installed wheel."""

from __future__ import annotations

from pathlib import Path

import minions_evals_mcp
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.cli.terminal import Terminal

PACKAGE = Path(minions_evals_mcp.__file__).parent


def test_the_folders_hold_what_the_demo_and_the_skills_need() -> None:
    assert (shipped_folder("fixtures") / "support-agent.yaml").is_file()
    assert (shipped_folder("skills") / "hard-rules.md").is_file()


def test_the_library_of_the_page_is_shipped_with_its_licence() -> None:
    beside = PACKAGE / "view" / "templates"
    assert 'version:"2.0.11"' in (beside / "htmx.min.js").read_text("utf-8")
    assert (beside / "htmx.LICENSE").read_text("utf-8").startswith("Zero-Clause BSD")


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

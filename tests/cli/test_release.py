"""The version is in one place, the changelog has its date, and the release check knows what is missing."""

from __future__ import annotations

import re
import subprocess
import tomllib

from tests.shared.cli.terminal import ROOT, Terminal

SECTIONS = {"Highlights", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
VERSION = str(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"])


def test_the_changelog_has_an_unreleased_part_and_the_version_with_its_date() -> None:
    first, *released = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert first == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(VERSION)}\] - \d{{4}}-\d\d-\d\d", released[0]), released
    assert set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)) <= SECTIONS
    assert all(f"\n{name}: https://" in CHANGELOG for name in re.findall(r"^## (\[[^\]]+\])", CHANGELOG, re.MULTILINE))


def test_the_programs_print_the_version_of_the_project(at: Terminal) -> None:
    told = at.run("--version")
    assert (told.code, told.out.strip()) == (0, VERSION)


def test_no_module_repeats_the_version() -> None:
    listed = subprocess.run(
        ["git", "grep", "-lF", f'"{VERSION}"', "--", "minions_evals_mcp", "agent"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert [name for name in listed.stdout.split() if name.endswith(".py")] == []


def test_the_release_check_names_what_is_missing_to_publish() -> None:
    told = subprocess.run(
        ["python3", ROOT / ".ci" / "release", "--missing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.returncode in {0, 1}, told.stderr
    assert f"minions-evals-mcp {VERSION}" in told.stdout
    assert "to publish" in told.stdout

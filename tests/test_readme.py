"""What the README and the pages in docs/ say to type works as it stands there."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from html import unescape
from pathlib import Path
from typing import cast

import pytest
import yaml

from minions_evals_mcp.cli.commands import COMMANDS, DB_COMMANDS, NOUNS
from minions_evals_mcp.cli.run.targeting import TargetFile
from minions_evals_mcp.settings import KNOWN, PREFIX
from minions_evals_mcp.shipped import shipped_folder
from tests.hang import HANG_S
from tests.shared.cli.installed import installed
from tests.shared.cli.standby import STANDBYS, Asked
from tests.shared.cli.terminal import ROOT, Ended, Terminal, inherited

README = (ROOT / "README.md").read_text("utf-8")
DOCS = ROOT / "docs"
PAGES = {str(path.relative_to(DOCS).with_suffix("")): path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))}
EVERYTHING = "\n".join([README, *PAGES.values()])
BASES = (ROOT, ROOT / "minions_evals_mcp")
"""A row of the house may leave the package's name out where it names a second file."""
SUITE = "support-agent.yaml"
Workflow = dict[str, dict[str, dict[str, list[dict[str, str]]]]]


def section(below: str) -> str:
    """What the README says under a heading."""
    return README.partition(f"\n## {below}\n")[2].partition("\n## ")[0]


def blocks(language: str, text: str) -> list[str]:
    """The code of that language in a text."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def at(tmp_path: Path) -> Terminal:
    """A terminal in an empty folder."""
    return Terminal(tmp_path)


@pytest.fixture
def project(at: Terminal) -> Generator[Terminal]:
    """A project with the demo's suite, in which the installed commands are found by name."""
    (at.folder / "suite.yaml").write_bytes((shipped_folder("fixtures") / SUITE).read_bytes())
    with installed() as programs:
        yield at.with_env(PATH=f"{programs}:{inherited()['PATH']}")


def shell(project: Terminal, script: str) -> Ended:
    """How the script ends where every command must succeed, as most build services run theirs."""
    return project.carried_out(["sh", "-eu", "-c", script])


def summary(project: Terminal) -> str:
    return unescape((project.folder / "summary.md").read_text("utf-8"))


def test_every_command_is_mentioned() -> None:
    assert {name for name in COMMANDS if not re.search(rf"(?:`|minions-evals |or ){name}\b", EVERYTHING)} == set()


def test_the_target_file_is_one() -> None:
    (block,) = (text for text in blocks("yaml", PAGES["how-to/connect-your-application"]) if text.startswith("http:"))
    found = TargetFile.model_validate(yaml.safe_load(block)).http
    assert found is not None
    assert found.headers_from == {"Authorization": "APP_TOKEN"}


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"minions-evals (?!db )([a-z][a-z-]*)", EVERYTHING))
    assert named - COMMANDS.keys() - NOUNS.keys() == set()
    assert set(re.findall(r"minions-evals db ([a-z]+)", EVERYTHING)) <= DB_COMMANDS.keys()
    assert len(named) > 8


def test_every_variable_is_in_the_table_and_every_one_in_the_table_is_read() -> None:
    assert set(re.findall(rf"^\| `{PREFIX}(\w+)` \|", PAGES["reference/settings"], re.MULTILINE)) == set(KNOWN)


def test_the_main_job_runs_as_it_is_written(project: Terminal) -> None:
    (suite, *_) = blocks("yaml", section("From a suite file"))
    (project.folder / "suite.yaml").write_text(suite)
    (first,) = blocks("sh", section("From a suite file"))
    commands = first.splitlines()
    assert [line.split()[1] for line in commands] == ["import", "run-benchmark", "runs"]
    for line in [*commands, "minions-evals report geography -o geography.html"]:
        found = shell(project, line)
        assert found.code == 0, (line, found)
        assert [
            told for told in found.err.splitlines() if not told.startswith(("running ", "Created a new store at "))
        ] == [], (line, found)
    assert "Geography passed: 1 of 1 passed" in (project.folder / "geography.html").read_text("utf-8")


def test_the_recipe_for_any_shell_passes_a_good_build_and_fails_one_that_got_worse(project: Terminal) -> None:
    kept, *_ = blocks("sh", PAGES["how-to/gate-a-pull-request"])
    good = shell(project.with_env(BUILD="1", VERSION="support/prompt@1"), kept)
    assert good.code == 0, good
    assert summary(project).startswith("**Support quality passed")
    worse = shell(project.with_env(BUILD="2", VERSION="support/prompt@2"), kept)
    assert worse.code == 1, worse
    assert summary(project).startswith("**Support quality regressed")


def test_a_build_whose_suite_is_refused_judges_nothing_in_a_shell_that_goes_on_after_an_error(
    project: Terminal,
) -> None:
    (project.folder / "suite.yaml").write_text("minions: [{id: b, type: benchmark, fields: {nam: B}}]\n")
    build = project.with_env(BUILD="1", VERSION="v1", CURRENT="v0")
    for script in blocks("sh", PAGES["how-to/gate-a-pull-request"])[:2]:
        refused = build.carried_out(["sh", "-c", script])
        assert (refused.code, refused.out) == (2, ""), refused


def test_the_recipe_without_a_kept_store_fails_on_the_verdict_regressed(project: Terminal) -> None:
    _, compared, *_ = blocks("sh", PAGES["how-to/gate-a-pull-request"])
    found = shell(project.with_env(BUILD="1", CURRENT="support/prompt@1", VERSION="support/prompt@2"), compared)
    assert found.code == 1, found
    assert "REGRESSED" in found.out
    assert summary(project).startswith("**support/prompt@2 is worse than support/prompt@1")


def test_the_recipe_for_github_actions_is_a_workflow_whose_commands_run(project: Terminal) -> None:
    text, *_ = blocks("yaml", PAGES["how-to/gate-a-pull-request"])
    workflow = cast("Workflow", yaml.safe_load(text))
    steps = workflow["jobs"]["evals"]["steps"]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", one["uses"]) for one in steps if "uses" in one)
    install, *runs = [one["run"] for one in steps if "run" in one]
    assert install == "pip install minions-evals-mcp"
    build = project.with_env(BUILD="build-7-1", GITHUB_STEP_SUMMARY=str(project.folder / "step.md"))
    for line in runs:
        assert shell(build, line).code == 0, line
    assert (project.folder / "step.md").read_text("utf-8").startswith("**Support quality")


def test_the_tests_for_pytest_pass_in_a_project_of_a_user(project: Terminal) -> None:
    (code,) = blocks("python", PAGES["how-to/gate-a-pull-request"])
    project.file("test_support.py", f"def reply(text):\n    return 'Your refund is on its way.'\n\n\n{code}")
    project.file("pytest.ini", "[pytest]\n")
    asked = Asked(["-q", "-p", "no:cacheprovider"], str(project.folder), project.environment, "pytest")
    _, out, err = STANDBYS.carried_out(asked, b"", HANG_S)
    assert b"2 passed" in out, (out, err)


def test_the_readmes_recipe_for_ci_is_the_one_that_is_tried_here_with_its_own_benchmark() -> None:
    (shown,) = blocks("sh", section("In CI"))
    tried, *_ = blocks("sh", PAGES["how-to/gate-a-pull-request"])
    options = 'support/quality --prompt-version "$VERSION" --key "build-$BUILD" \\\n    --fail'
    assert shown == tried.replace(options, 'geography --key "build-$BUILD" --fail')


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / ".ci" / "mkdocs.yml").read_text("utf-8")
    assert [name for name in PAGES if f" {name}.md\n" not in nav] == []


def test_a_page_that_the_product_names_is_there() -> None:
    named = {
        (str(path.relative_to(ROOT)), page)
        for folder in ("minions_evals_mcp", "agent", "skills", "examples", "tests", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".yaml", ".yml", ".css", ".j2", ".json", ".html"}
        and "node_modules" not in path.parts
        for page in re.findall(r"(?<![\w./])docs/[\w-]+(?:/[\w-]+)*\.md", path.read_text("utf-8"))
    }
    assert [(where, page) for where, page in sorted(named) if not (ROOT / page).is_file() and "RULES" not in page] == []
    assert len(named) > 12


def test_only_pages_for_contributors_name_what_only_a_checkout_has() -> None:
    pages = {name: text for name, text in PAGES.items() if not name.startswith("development/")}
    assert [name for name, text in pages.items() if re.search(r"python -m tests\.|`tests/\w", text)] == []
    assert [name for name, text in pages.items() if ".ci/" in text and "checkout" not in text] == []


def test_every_link_between_the_documents_leads_somewhere() -> None:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]:
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
        assert [link for link in links if not (path.parent / link).exists()] == [], path


def test_a_row_of_the_table_of_changes_names_what_is_there() -> None:
    _, _, table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("\n## To change X, open Y\n")
    rows = re.findall(r"^\| (.+ \| .+) \|$", table.partition("\n## ")[0], re.MULTILINE)
    named = [path for row in rows for path in re.findall(r"`([\w./*-]+/[\w./*-]*)`", row)]
    missing = [path for path in named if not any((base / path).exists() or any(base.glob(path)) for base in BASES)]
    assert missing == []
    assert len(named) > 15, json.dumps(named)

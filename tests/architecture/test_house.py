"""The house: who may import whom, and one name for each skill in every place."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (
    "skills/{file}/SKILL.md",
    "minions_evals_mcp/engine/{room}/{module}.py",
    "tests/engine/{room}/test_{module}.py",
)
SKILLS = {
    "run-test-case": "run",
    "run-benchmark": "run",
    "detect-trend": "conclude",
    "compare-prompt-versions": "compare",
    "classify-failure": "failures",
}
"""Skills that have landed in all their places, each with its room of the engine; the table grows and never shrinks."""

VIOLATIONS = (
    ("domain/values.py", "from minions_evals_mcp.store import rows", "The house", "minions_evals_mcp.store.rows"),
    (
        "engine/request.py",
        "from minions_evals_mcp.settings import Settings",
        "Only composition roots",
        "minions_evals_mcp.settings",
    ),
    ("engine/request.py", "import aiosqlite", "SQLite is spoken in store only", "aiosqlite"),
    ("judges/task.py", "import anthropic", "Providers' SDKs", "anthropic"),
    ("cli/keep/picking.py", "import agent", "The agent stands above the engine", "agent"),
    (
        "cli/decide/ab_tests.py",
        "from minions_evals_mcp.engine.jobs import get_job",
        "Derived interfaces",
        "minions_evals_mcp.engine.jobs",
    ),
    ("engine/request.py", "import mcp", "MCP is spoken in server, toolboxes and world only", "mcp"),
)


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """The import contracts over the package in that folder."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()", "--no-cache"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(folder)}
    )


@pytest.fixture(scope="module")
def violated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the contracts say of a copy with all those lines in it."""
    folder = tmp_path_factory.mktemp("violated")
    for package in ("minions_evals_mcp", "agent"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for file, line, _, _ in VIOLATIONS:
        with (folder / "minions_evals_mcp" / file).open("a") as broken:
            broken.write(f"\n{line}\n")
    said = lint(folder)
    assert said.returncode == 1, said.stdout + said.stderr
    return said.stdout


@pytest.mark.parametrize(("file", "line", "contract", "found"), VIOLATIONS)
def test_each_import_contract_catches_a_deliberate_violation(
    violated: str, file: str, line: str, contract: str, found: str
) -> None:
    assert re.search(rf"{re.escape(contract)}.* BROKEN", violated), violated
    importer = "minions_evals_mcp." + file.removesuffix(".py").replace("/", ".")
    (told,) = (part for part in re.split(r"\n(?=[^\n]+\n-{3,}\n)", violated) if part.startswith(contract))
    assert f"{importer} -> {found} " in told, told


def quoted_types(module: str, source: str) -> list[str]:
    """The types of a module that are names in quotes, which are types to the checker only, after the module's name."""
    return [
        f"{module}.{node.target.id}"
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and ast.unparse(node.annotation) == "TypeAlias"
        and isinstance(node.value, ast.Constant)
    ]


def asked_at_run_time(source: str) -> list[str]:
    """The types that the source asks `isinstance` or `issubclass` of, written as in the source."""
    return [
        ast.unparse(part)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"isinstance", "issubclass"}
        for part in ast.walk(node.args[1])
        if isinstance(part, ast.Attribute)
    ]


def test_no_type_in_quotes_is_asked_of_at_run_time() -> None:
    files = [*ROOT.glob("minions_evals_mcp/**/*.py"), *ROOT.glob("agent/**/*.py")]
    sources = {file: file.read_text("utf-8") for file in files}
    quoted = {name for file, text in sources.items() if "TypeAlias" in text for name in quoted_types(file.stem, text)}
    assert "get_run.Job" in quoted
    assert quoted & set(asked_at_run_time("isinstance(job, (get_run.Job, str))"))
    asked = [
        (file.name, name)
        for file, text in sources.items()
        if any(name in text for name in quoted)
        for name in asked_at_run_time(text)
        if name in quoted
    ]
    assert asked == []


def test_the_architecture_page_names_every_room() -> None:
    page = (ROOT / "docs" / "development" / "architecture.md").read_text("utf-8")
    rooms = [f"`minions_evals_mcp/{path.parent.name}/`" for path in ROOT.glob("minions_evals_mcp/*/__init__.py")]
    of_engine = [f"`{path.parent.name}`" for path in ROOT.glob("minions_evals_mcp/engine/*/__init__.py")]
    assert [room for room in rooms + of_engine if room not in page] == []
    assert len(rooms) > 10 < len(of_engine)


def test_the_import_contracts_hold() -> None:
    said = lint(ROOT)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize("skill", SKILLS)
@pytest.mark.parametrize("place", PLACES)
def test_a_skill_bears_one_name_in_every_place(skill: str, place: str) -> None:
    assert (ROOT / place.format(file=skill, room=SKILLS[skill], module=skill.replace("-", "_"))).is_file()


def test_top_level_names_are_fixed() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {line.split("/")[0] for line in listed.splitlines()}
    assert names <= {
        ".ci", ".github", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "agent", "docs", "examples", "fixtures",
        "minions_evals_mcp", "pyproject.toml", "skills", "tests",
    }  # fmt: skip


def test_the_readme_has_the_commands_that_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text()
    assert "python3 -m venv .venv && . .venv/bin/activate && pip install -q -e . && minions-evals demo" in readme
    assert "python3 -m venv .venv && .venv/bin/pip install -q -e '.[dev]' && .venv/bin/pytest -q" in readme

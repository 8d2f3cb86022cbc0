"""`--project` has the server and the agent read a project file: store, judge and limits, and a target that is a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.project import NAME, project_at
from minions_evals_mcp.settings import read_settings
from tests.shared.cli.terminal import Terminal

FILE = 'store = "kept.db"\njudge = "openai:gpt-judge"\nconcurrency = 3\ntarget = "{target}"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A project file."""
    path = tmp_path / NAME
    path.write_text(FILE.format(target="openai:gpt-4o-mini"))
    return path


def test_the_named_file_sets_up_what_the_environment_does_not(file: Path) -> None:
    settings = read_settings({}, project_at(file))
    assert (settings.db, settings.judge_model, settings.concurrency) == (
        file.parent / "kept.db", "openai:gpt-judge", 3,
    )  # fmt: skip
    assert read_settings({"MINIONS_EVALS_JUDGE_MODEL": "anthropic:m"}, project_at(file)).judge_model == "anthropic:m"


def test_a_model_is_its_target_and_a_program_is_not(file: Path) -> None:
    project = project_at(file.parent)
    assert project is not None
    assert project.model_target() == "openai:gpt-4o-mini"
    file.write_text(FILE.format(target="python:app:answer"))
    project = project_at(file)
    assert project is not None
    assert project.model_target() is None


def test_a_file_without_the_table_and_one_that_is_not_there_are_refused(tmp_path: Path) -> None:
    bare = tmp_path / "pyproject.toml"
    bare.write_text("[project]\nname = 'x'\n")
    with pytest.raises(BadInputError, match=r"has no table \[tool.minions-evals\]"):
        project_at(bare)
    with pytest.raises(BadInputError, match="cannot be read"):
        project_at(tmp_path / "none.toml")


async def test_the_server_keeps_what_it_is_given_in_the_projects_store(file: Path) -> None:
    start = StdioServerParameters(
        command=str(Path(sys.executable).with_name("minions-evals-mcp")), args=["--project", str(file)]
    )
    async with Client(stdio_client(start)) as client:
        wanted = {"id": "c", "type": "test-case", "fields": {"name": "c"}}
        await client.call_tool("save_records", {"records": [wanted]})
    assert (file.parent / "kept.db").is_file()


def test_the_agent_works_on_the_projects_store(file: Path, tmp_path: Path) -> None:
    place = Terminal(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "agent", "drain", "--project", str(file)],
        cwd=tmp_path, env={key: value for key, value in place.environment.items() if key != "MINIONS_EVALS_DB"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert (file.parent / "kept.db").is_file()

"""The project file: where it is looked for, what it says, and what it may not."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.dotenv import written_down
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.project import ProjectFields, find_project, read_project
from minions_evals_mcp.settings import read_settings


def written(file: Path, text: str) -> Path:
    """The file, with its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_it_is_found_upwards_as_far_as_the_repository_or_home(tmp_path: Path) -> None:
    home, inside = tmp_path / "home", tmp_path / "home" / "repository" / "a" / "b"
    inside.mkdir(parents=True)
    written(tmp_path / "minions-evals.toml", "concurrency = 1")
    assert find_project(inside, home) is None
    written(home / "minions-evals.toml", "concurrency = 2")
    found = find_project(inside, home)
    assert found is not None
    assert found.fields.concurrency == 2
    (home / "repository" / ".git").mkdir()
    assert find_project(inside, home) is None
    written(home / "repository" / "pyproject.toml", "[tool.minions-evals]\nconcurrency = 3\n")
    written(inside / "pyproject.toml", "[tool.other]\n")
    found = find_project(inside, home)
    assert found is not None
    assert found.fields.concurrency == 3


def test_the_environment_goes_before_the_file_and_the_file_before_the_default(tmp_path: Path) -> None:
    written(
        tmp_path / "minions-evals.toml",
        'store = "kept/a.db"\njudge = "openai:m"\nconcurrency = 3\nembedder = "semantic"',
    )
    written(
        tmp_path / ".env",
        "OPENAI_API_KEY=from-the-file-0123456789\nANTHROPIC_API_KEY=x\nOPENAI_BASE_URL=http://evil\nOTHER=1\n",
    )
    project = find_project(tmp_path, tmp_path)
    assert project is not None
    assert project.ignored == ("OPENAI_BASE_URL",)
    assert "from-the-file" not in repr(project)
    said = read_settings({"MINIONS_EVALS_CONCURRENCY": "5", "ANTHROPIC_API_KEY": "mine"}, project)
    assert (said.db, said.judge_model, said.concurrency) == (tmp_path / "kept" / "a.db", "openai:m", 5)
    assert said.providers == {"anthropic": ProviderAccess("mine"), "openai": ProviderAccess("from-the-file-0123456789")}
    assert (said.call_timeout_s, said.embedder) == (60.0, "semantic")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("min-scores = 0.9", "unknown key 'min-scores'. Did you mean min-score in .thresholds."),
        ("suitez = []", "unknown key 'suitez'. Did you mean suites"),
        ("[thresholds]\nmin_score = 1", "unknown key 'thresholds.min_score'. Did you mean min-score"),
        ("concurrency = 0", "concurrency: Input should be greater than or equal to 1"),
        ("= 1", "It is TOML"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_key(tmp_path: Path, text: str, match: str) -> None:
    written(tmp_path / "minions-evals.toml", text)
    with pytest.raises(BadInputError, match=match):
        find_project(tmp_path, tmp_path)


def test_a_pattern_that_fits_no_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "minions-evals.toml", 'suites = ["evals/*.yaml"]')
    project = find_project(tmp_path, tmp_path)
    assert project is not None
    with pytest.raises(BadInputError, match="no file matches"):
        project.suites()


OTHERS = 12_345
"""The user id of somebody else."""


def as_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


@pytest.mark.skipif(not as_root(), reason="only an administrator can make a file of another user")
@pytest.mark.parametrize("name", ["minions-evals.toml", "pyproject.toml"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_file_of_another_user_is_passed_over_unless_its_folder_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, linked: bool
) -> None:
    head = "[tool.minions-evals]\n" if name == "pyproject.toml" else ""
    theirs = written(tmp_path / ("elsewhere.toml" if linked else name), f'{head}store = "/etc/theirs.db"')
    os.chown(theirs, OTHERS, OTHERS)
    if linked:
        (tmp_path / name).symlink_to(theirs)
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert find_project(inside, tmp_path) is None
    written(tmp_path / "config/minions-evals/settings.toml", f"trusted-folders = [{json.dumps(str(tmp_path))}]")
    found = find_project(inside, tmp_path)
    assert found is not None
    assert found.store() == Path("/etc/theirs.db")


@pytest.mark.skipif(not as_root(), reason="only an administrator can make a file of another user")
def test_the_keys_of_another_users_file_are_not_used(tmp_path: Path) -> None:
    written(tmp_path / "minions-evals.toml", "concurrency = 2")
    os.chown(written(tmp_path / ".env", "OPENAI_API_KEY=theirs-0123456789"), OTHERS, OTHERS)
    found = find_project(tmp_path, tmp_path)
    assert found is not None
    assert found.keys == {}


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o703])
def test_the_search_ends_at_a_folder_that_everybody_may_write_to(tmp_path: Path, mode: int) -> None:
    written(tmp_path / "minions-evals.toml", "concurrency = 2")
    shared, inside = tmp_path / "shared", tmp_path / "shared" / "mine"
    inside.mkdir(parents=True)
    written(shared / "minions-evals.toml", "concurrency = 3")
    shared.chmod(mode)
    assert find_project(inside, tmp_path) is None
    shared.chmod(0o700)
    assert find_project(inside, tmp_path) is not None


@pytest.mark.parametrize(
    "text",
    [
        'suites = [""]',
        'suites = ["/etc/*.yaml"]', 'suites = ["a\\u0000b"]', 'store = ""', 'store = "a\\u0000"', 'store = "~nobody-here/x"',
        f"x = {'[' * 5000}{']' * 5000}", "tool = 1", 'suites = ["**x"]', 'target-config = ""',
        f"concurrency = {'9' * 5000}",
    ],
)  # fmt: skip
def test_no_project_file_breaks_the_command(tmp_path: Path, text: str) -> None:
    written(tmp_path / "minions-evals.toml", text)
    with pytest.raises(BadInputError):
        project = find_project(tmp_path, tmp_path)
        assert project is not None
        project.store()
        project.suites()
        project.path(project.fields.target_config or "")


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\nminions-evals = 3"])
def test_a_pyproject_of_another_form_breaks_nothing(tmp_path: Path, text: str) -> None:
    written(tmp_path / "pyproject.toml", text)
    try:
        assert find_project(tmp_path, tmp_path) is None
    except BadInputError as error:
        assert "not a table" in str(error)


@pytest.mark.parametrize("line", ["\n", " ", "\t\n", "A=" + " " * 100, "export ", "A = '", "\r\n"])
def test_a_long_env_file_is_read_in_no_time(tmp_path: Path, line: str) -> None:
    file = written(tmp_path / ".env", line * 300_000 + "\nB=1\n")
    began = time.process_time()
    written_down(file)
    assert time.process_time() - began < 2


def _numbers(table: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Each key of a table that is a number or a truth, with the table's name."""
    for name, info in table.model_fields.items():
        kind: Any = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from ((f"{name}.{below}", told) for below, told in _numbers(kind))
        elif {int, float, bool} & _types(kind):
            yield name, "bool" if bool in _types(kind) else "number"


def _types(kind: Any) -> set[Any]:
    """The types of a union, without what is said of them."""
    return {kind}.union(*(_types(part) for part in get_args(kind))) if get_origin(kind) is not dict else set()


@pytest.mark.parametrize(("place", "kind"), [*_numbers(ProjectFields)])
def test_a_truth_is_no_number_and_a_text_neither(tmp_path: Path, place: str, kind: str) -> None:
    """`[retention] outputs = true` was one day: it erased all that was older."""
    table, _, name = place.rpartition(".")
    head = f"[{table}]\n" if table else ""
    for value in ('"1"', "1" if kind == "bool" else "true"):
        file = written(tmp_path / "minions-evals.toml", f"{head}{name.replace('_', '-')} = {value}\n")
        with pytest.raises(BadInputError, match=name.replace("_", "-")):
            read_project(file)


def test_every_number_of_the_project_file_is_tried() -> None:
    assert {"retention.outputs", "caps.max_cost_usd", "trials", "thresholds.allow_skipped"} <= dict(
        _numbers(ProjectFields)
    ).keys()

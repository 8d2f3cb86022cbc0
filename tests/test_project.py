"""The project file: where it is looked for, what it says, and what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.domain.providers import Access
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.project import find_project
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
    assert said.providers == {"anthropic": Access("mine"), "openai": Access("from-the-file-0123456789")}
    assert (said.call_timeout_s, said.embedder) == (60.0, "semantic")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("min-scores = 0.9", "no key 'min-scores'. Did you mean min-score in .thresholds."),
        ("suitez = []", "no key 'suitez'. Did you mean suites"),
        ("[thresholds]\nmin_score = 1", "no key 'thresholds.min_score'. Did you mean min-score"),
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
    with pytest.raises(BadInputError, match="no file fits"):
        project.suites()

"""What has no wheel for a system is left out of the base install there, and the rest works without it."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path

import anyio
import pytest
from packaging.requirements import Requirement

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.sandbox import javascript
from minions_evals_mcp.sandbox.javascript import JavaScript
from minions_evals_mcp.sandbox.limits import Limits
from minions_evals_mcp.scoring import first_look, patterns
from minions_evals_mcp.scoring.checks import SnippetError
from minions_evals_mcp.store.connection import library_problem

ROOT = Path(__file__).parents[2]
SYSTEMS = {
    "Linux x86-64": ("linux", "x86_64"), "Linux arm64": ("linux", "aarch64"), "Apple Silicon": ("darwin", "arm64"),
    "Intel Mac": ("darwin", "x86_64"), "Windows": ("win32", "AMD64"), "Windows on ARM": ("win32", "ARM64"),
}  # fmt: skip
WITHOUT = {"pysqlite3": {"Linux arm64", "Intel Mac", "Windows on ARM"}, "quickjs-ng": {"Intel Mac", "Windows on ARM"}}
"""Where each has no wheel, as resolved for every Python from 3.11 to 3.14."""


@pytest.mark.parametrize("package", WITHOUT)
def test_a_package_is_asked_for_where_it_has_a_wheel(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (wanted,) = (Requirement(one) for one in project["dependencies"] if Requirement(one).name == package)
    assert wanted.marker is not None
    left_out = {
        name
        for name, (system, machine) in SYSTEMS.items()
        if not wanted.marker.evaluate({"sys_platform": system, "platform_machine": machine})
    }
    assert left_out == WITHOUT[package]


GONE = """
import sys
sys.modules["pysqlite3"] = None
"""


async def test_a_store_is_kept_by_the_standard_library_where_there_is_no_other(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(GONE, "utf-8")
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    for arguments in (["demo", "--db", "demo.db"], ["db", "check", "--db", "demo.db"], ["doctor", "--db", "demo.db"]):
        done = await anyio.run_process(
            [sys.executable, "-m", "minions_evals_mcp.cli", *arguments], check=False, env=environment, cwd=tmp_path
        )
        assert done.returncode == 0, (arguments, done.stdout.decode(), done.stderr.decode())
    assert re.search(r"SQLite: \d", done.stdout.decode())


def test_a_library_that_is_too_old_is_named_with_the_one_that_is_needed() -> None:
    assert library_problem((3, 38, 0)) == ""
    assert library_problem((3, 37, 2)) == "SQLite 3.37.2 is too old for a store, which needs 3.38.0."


async def test_javascript_without_its_engine_is_refused_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(_: str) -> None:
        return None

    monkeypatch.setattr(javascript, "find_spec", found)
    async with JavaScript(most=1) as engine:
        one = await engine.run("1", {}, Limits())
        several = await engine.run_each([("1", "{}", ()), ("2", "{}", ())], Limits())
    assert isinstance(one, SnippetError)
    assert one.kind == "missing"
    assert "minions-evals-mcp[javascript]" in one.error
    assert several == [one, one]


def test_patterns_without_the_linear_engine_are_searched_under_a_time_limit_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patterns, "re2", None)
    monkeypatch.setattr(first_look, "re2", None)
    patterns.compiled.cache_clear()
    try:
        assert isinstance(patterns.compiled("^a+$"), patterns.Elsewhere)
        with pytest.raises(InvalidRecordError, match="google-re2"):
            patterns.linear("^a+$")
        assert first_look.first_look([re.compile("never")])("anything")
    finally:
        patterns.compiled.cache_clear()

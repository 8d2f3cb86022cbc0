"""Attacks on files that are kept, folders of strangers and files that are read: none takes, tells or breaks anything.

Tried by hand besides, and held: such modules beside a config with checks in Python and JavaScript, aliases that stand for millions in YAML,
200 MB and 900 MB packed into 1 MB, and ten ways over MCP to change
the ruler (merging, deleting and making anew, promoting into the benchmark, a criterion more, the threshold, messages).
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.shared.cli.terminal import Terminal

SUITE = (
    {
        "id": "c1",
        "type": "test-case",
        "fields": {"name": "c1", "inputs": {"q": "x"}, "expectedOutputs": {"output": "y"}},
    },
    {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["c1"]}},
    {"id": "o1", "type": "agent-run", "fields": {"agentId": "a", "inputs": {"q": "x"}, "outputs": {"output": "y"}}},
)
CONFIG = "prompts: ['Say {{q}}']\nproviders: [echo]\ntests: [{vars: {q: hi}}]\n"


@pytest.fixture
def at(tmp_path: Path) -> Terminal:
    """A folder with a store that holds a run."""
    terminal = Terminal(tmp_path)
    terminal.file("suite.jsonl", "".join(f"{json.dumps(line)}\n" for line in SUITE))
    terminal.file("config.yaml", CONFIG)
    terminal.asked(["import", "suite.jsonl"], ["run-benchmark", "b"])
    return terminal


def test_no_output_is_written_over_a_store(at: Terminal) -> None:
    other = at.folder / "kept.xml"
    other.write_bytes((at.folder / "evals.db").read_bytes())
    os.link(other, at.folder / "linked.md")
    (at.folder / "pointed.csv").symlink_to(other)
    held = other.read_bytes()
    ended = at.asked(
        ["export", "b", "--format", "junit", "-o", "evals.db"],
        ["export", "b", "--format", "every-eval-ever", "-o", "kept.xml"],
        ["report", "latest", "-o", "kept.xml"],
        ["report", "latest", "-o", "linked.md"],
        ["report", "latest", "-o", "pointed.csv"],
        ["eval", "-c", "config.yaml", "-o", "linked.md"],
        ["db", "backup", "kept.xml"],
        ["db", "salvage", "evals.db"],
    )
    assert [one.code for one in ended] == [2] * len(ended), [one.err for one in ended]
    assert all("never overwritten" in one.err or "not overwritten" in one.err for one in ended), [
        one.err for one in ended
    ]
    assert other.read_bytes() == held
    assert at.run("list", "test-case").code == 0


def test_a_copy_of_a_store_is_its_owners_only(at: Terminal) -> None:
    mask = os.umask(0o022)
    try:
        at.asked(["db", "backup", "copy.db"], ["db", "salvage", "whole.db"])
    finally:
        os.umask(mask)
    for name in ("evals.db", "copy.db", "whole.db"):
        assert stat.S_IMODE((at.folder / name).stat().st_mode) == 0o600, name


def test_names_that_no_file_and_no_record_can_have_are_refused_by_name(at: Terminal) -> None:
    long = "x" * 5000
    named = (
        ["import"],
        ["audit"],
        ["db", "backup"],
        ["db", "salvage"],
        ["eval"],
        ["lift"],
        ["world", "check"],
        ["what-changed"],
    )
    ended = at.asked(*([*words, name] for words in named for name in (long, "é" * 400)), ["what-changed", ""])
    assert [one.code for one in ended] == [2] * len(ended), [
        (one.code, one.err[-200:]) for one in ended if one.code != 2
    ]
    assert all(len(one.err) < 2000 for one in ended)


def test_what_is_lifted_may_be_called_anything(at: Terminal) -> None:
    at.file("evals.json", {"skill_name": "s", "evals": [{"prompt": "p", "should_trigger": True}]})
    odd = ["a b!", "$(id)", "é" * 80, ".hidden"]
    for name in odd:
        (at.folder / name).mkdir()
    asked = ["--cases", "evals.json", "--target", "command:cat", "--yes"]
    ended = at.asked(*(["lift", name, *asked] for name in (".", "./", "..", *odd)))
    assert [one.code for one in ended if one.code not in {0, 1, 2}] == []
    assert [one.err for one in ended if "should match" in one.err] == []


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("name", ["minions-evals.toml", "pyproject.toml", ".env"])
def test_a_strangers_pipe_device_or_folder_in_place_of_a_settings_file_stops_nothing(name: str, at: Terminal) -> None:
    place = at.folder / name
    for made in (_pipe, _device, _loop, Path.mkdir):
        made(place)
        if name == ".env":
            at.file("minions-evals.toml", 'suites = ["suite.jsonl"]\n')
        assert at.run("list", "test-case").code in {0, 2}
        place.rmdir() if place.is_dir() else place.unlink()


def test_modules_that_lie_in_a_strangers_folder_are_not_imported(at: Terminal) -> None:
    """In a process of its own, whose reader of Parquet is another one."""
    table = cast("Any", pa).table({"id": ["a"], "question": ["A?"], "answer": ["1"]})
    cast("Any", parquet).write_table(table, at.folder / "t.parquet")
    for name in ("re", "json", "typing", "yaml", "numpy", "pyarrow", "sitecustomize", "usercustomize", "pydantic"):
        at.file(f"{name}.py", f"open({str(at.folder / 'ran')!r}, 'a').write({name!r})\n")
    command = [str(Path(sys.executable).with_name("minions-evals")), "import", "t.parquet", "--db", "evals.db"]
    ended = subprocess.run(command, cwd=at.folder, env=at.environment, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert not (at.folder / "ran").exists()

"""Attacks on files that are kept, folders of strangers and files that are read: none takes, tells or breaks anything."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

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
    assert all("not overwritten" in one.err or "nothing is overwritten" in one.err for one in ended), [
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

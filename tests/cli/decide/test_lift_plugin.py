"""A plugin on its own cases, laid out as for `claude plugin eval`, with a scripted host: what is run, scored, said and refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.cli.decide.test_lift import outputs
from tests.shared.cli.terminal import Ended, Json, Terminal

AGENT = Path(__file__).with_name("plugin_agent.py")
UNIT = "---\ntype: regex\nweight: 2\npattern: '\\[km\\]'\n---\n"
USED = "---\ntype: tool_used\ntool: Skill\n---\n"


def host(at: Terminal) -> Terminal:
    """The same terminal with a program `claude` on its path."""
    program = at.folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {AGENT} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return at.with_env(PATH=f"{program.parent}:{os.environ['PATH']}")  # noqa: TID251  the child's own


def put(at: Terminal, path: str, content: object) -> None:
    """Writes the file, and the folders above it."""
    (at.folder / path).parent.mkdir(parents=True, exist_ok=True)
    at.file(path, cast("JsonValue", content))


def plugin(at: Terminal, does: str = "helps", cases: int = 8, folder: str = "units", graders: str = UNIT) -> str:
    """A plugin of one skill with so many cases."""
    put(at, f"{folder}/.claude-plugin/plugin.json", {"name": "units", "version": "0.1.0"})
    put(at, f"{folder}/skills/answers/SKILL.md", f"---\nname: answers\ndescription: Units.\n---\n{does}\n")
    for number in range(cases):
        put(at, f"{folder}/evals/case-{number}/prompt.md", f"---\nruns: 1\nmax_turns: 4\n---\n\nAdd {number} km.\n")
        put(at, f"{folder}/evals/case-{number}/graders/unit.md", graders)
        put(at, f"{folder}/evals/case-{number}/graders/used.md", USED)
    return folder


def lift(at: Terminal, subject: str, *more: str) -> Ended:
    return at.run("lift", subject, "--target", "claude", "--json", *more)


def test_a_plugin_that_helps_is_said_to_with_its_interval(at: Terminal) -> None:
    at = host(at)
    ended = lift(at, plugin(at, cases=16))
    assert ended.code == 0, ended.err
    told = ended.one()
    assert told["verdict"] == "helps", told["inWords"]
    comparison = cast("Json", told["comparison"])
    assert (comparison["scoreB"], comparison["sampleSize"]) == (1.0, 16)
    low, high = cast("list[float]", told["interval"])
    assert 0 < low < high
    triggers = cast("Json", told["triggers"])
    assert cast("Json", triggers["recall"])["found"] == 16
    notes = cast("list[str]", told["notes"])
    assert "set these in your command, as the cases ask for them: max_turns" in notes
    assert any(note.startswith("not scored, as the other arm cannot pass: case-0: used") for note in notes)
    said = at.run("lift", "units", "--target", "claude").out
    assert "HELPS" in said
    assert "max_turns" in said


@pytest.mark.parametrize("does", ["does nothing", "spoils"])
def test_planted_plugins_are_never_taken_for_their_opposite(at: Terminal, does: str) -> None:
    at = host(at)
    folder = plugin(at, does, cases=0)
    for number in range(14):
        put(at, f"{folder}/evals/c{number}/prompt.md", f"---\nruns: 1\n---\nplanted 0 {number}")
        put(at, f"{folder}/evals/c{number}/graders/unit.md", UNIT)
    ended = lift(at, folder, "--fail-on-harm")
    wanted = {"does nothing": ("undecided", 3), "spoils": ("harmful", 1)}
    assert (ended.one()["verdict"], ended.code) == wanted[does], ended.one()["inWords"]


def test_the_plugin_is_laid_without_its_cases_and_the_other_arm_is_its_manifest(at: Terminal) -> None:
    at.file(
        "list.py",
        "import pathlib; print(' '.join(sorted(p.as_posix() for p in pathlib.Path().rglob('*') if p.is_file())))",
    )
    folder = plugin(at, cases=1)
    ended = at.run("lift", folder, "--target", f"command:{sys.executable} list.py", "--json")
    assert ended.code == 0, ended.err
    assert {arm: said for (arm, _), said in outputs(at).items()} == {
        "with": "plugin/.claude-plugin/plugin.json plugin/skills/answers/SKILL.md",
        "without": "plugin/.claude-plugin/plugin.json",
    }


def test_scores_are_the_share_of_weights_of_the_graders_that_both_arms_can_pass(at: Terminal) -> None:
    at = host(at)
    folder = plugin(at, cases=0)
    put(
        at,
        f"{folder}/evals/all/case.yaml",
        {
            "schema_version": "1.1",
            "name": "all",
            "execution": {"prompt": "write a file", "allowed_tools": ["Write"]},
            "runs": 2,
            "graders": [
                {"name": "said", "type": "regex", "pattern": r"\[km\]", "weight": 3},
                {"name": "file", "type": "file_exists", "path": "out/*.md"},
                {"name": "in-file", "type": "regex", "pattern": "total", "flags": "i",
                 "target": {"source": "file", "path": "out/report.md"}},
                {"name": "order", "type": "tool_order", "before": "Skill", "after": "Write"},
                {"name": "quiet", "type": "tool_used", "tool": "Bash", "min": 0, "max": 0},
                {"name": "no-write", "type": "tool_used", "tool": "Write", "input_match": "out/(?!report)", "max": 0},
                {"name": "fired", "type": "tool_used", "tool": "Skill"},
                {"name": "beside", "type": "regex", "pattern": "zzz", "scored": False},
            ],
        },
    )  # fmt: skip
    ended = lift(at, folder, "-o", "b.json")
    assert ended.code == 0, ended.err
    kept = json.loads((at.folder / "b.json").read_text("utf-8"))
    with_ = [run for run in kept["runs"] if run["configuration"] == "with_skill"]
    assert [run["run_number"] for run in with_] == [1, 2]
    assert {check["text"]: check["passed"] for check in with_[0]["expectations"]} == dict.fromkeys(
        ["said", "file", "in-file", "order", "quiet", "no-write"], True
    )
    comparison = cast("Json", ended.one()["comparison"])
    without = next(run for run in kept["runs"] if run["configuration"] == "without_skill")["expectations"]
    weights = {"said": 3, "file": 1, "in-file": 1, "order": 1, "quiet": 1, "no-write": 1}
    share = sum(weights[check["text"]] for check in without if check["passed"]) / 8
    assert (comparison["scoreA"], comparison["scoreB"]) == (pytest.approx(share), 1.0)
    assert {check["text"] for check in without if not check["passed"]} >= {"order"}


def test_cases_that_ask_for_what_is_not_carried_out_are_named_and_the_rest_runs(at: Terminal) -> None:
    at = host(at)
    folder = plugin(at, cases=2)
    put(at, f"{folder}/evals/set/case.yaml", {"schema_version": "1.1", "context": {"scaffold_script": "s.sh"},
            "execution": {"prompt": "x"}, "graders": [{"type": "regex", "pattern": "x"}]})  # fmt: skip
    put(at, f"{folder}/evals/fired/prompt.md", "hello")
    put(at, f"{folder}/evals/fired/graders/used.md", USED)
    ended = lift(at, folder)
    assert ended.code == 0, ended.err
    notes = cast("list[str]", ended.one()["notes"])
    assert "not run: set asks for scaffold_script" in notes
    assert "not run: fired has no grader that is scored in both arms" in notes
    assert {case for _, case in outputs(at)} == {"case-0", "case-1"}


def test_criteria_of_a_judge_wait_for_one(at: Terminal) -> None:
    at = host(at)
    folder = plugin(at, cases=1)
    put(at, f"{folder}/evals/case-0/graders/right.md", "---\ntype: llm\n---\nThe sum is right.\n")
    ended = at.run("lift", folder, "--target", "claude")
    assert ended.code == 0, ended.err
    assert "wait to be judged" in ended.out


REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "no cases": ({}, "has no case in evals/"),
    "no prompt": ({"a/case.yaml": 'schema_version: "1.1"\ngraders: [{type: regex, pattern: x}]'}, "a case needs a prompt"),
    "no version": ({"a/case.yaml": "execution: {prompt: x}"}, "schema_version"),
    "no grader": ({"a/prompt.md": "x"}, "a case needs a grader"),
    "a type": ({"a/prompt.md": "x", "a/graders/g.md": "---\ntype: shell\n---\n"}, "type: must be one of"),
    "a pattern": ({"a/prompt.md": "x", "a/graders/g.md": "---\ntype: regex\npattern: '['\n---\n"}, "pattern"),
    "runs": ({"a/prompt.md": "---\nruns: 99\n---\nx", "a/graders/g.md": UNIT}, "runs: must be a whole number from 1 to 50"),
    "a baseline": ({"a/prompt.md": "x", "a/graders/g.md": "---\ntype: baseline\nbaseline_file: ../../../secret\n---\n"},
                   "baseline_file"),
    "a weight": ({"a/prompt.md": "x", "a/graders/g.md": "---\ntype: regex\npattern: x\nweight: -1\n---\n"}, "weight"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_by_name_before_anything_runs(at: Terminal, name: str) -> None:
    at = host(at)
    folder = plugin(at, cases=0)
    (at.folder / "secret").write_text("s", encoding="utf-8")
    files, said = REFUSED[name]
    for path, text in files.items():
        put(at, f"{folder}/evals/{path}", text)
    ended = lift(at, folder)
    assert ended.code == 2, ended.out
    assert said in str(ended.error())
    assert at.run("runs", "--json").out.count("runId") == 0


def test_a_case_that_leads_out_of_the_plugin_is_refused(at: Terminal) -> None:
    at = host(at)
    folder = plugin(at, cases=1)
    at.file("outside.md", "secret prompt")
    (at.folder / folder / "evals/case-0/prompt.md").unlink()
    (at.folder / folder / "evals/case-0/prompt.md").symlink_to(at.folder / "outside.md")
    ended = lift(at, folder)
    assert ended.code == 2
    assert "leads out of" in str(ended.error())

"""The skills' files drive the daemon: their steps and triggers are bound, or the start is refused with file and line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from agent.actions.table import ACTIONS
from agent.binding import STEPS, bind
from agent.instructions.instruction import SKILL_DUE
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.messages.payloads import KINDS
from minions_evals_mcp.messages.payloads import OWN as OWN_KINDS
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.skills import NAMES, load_skills
from minions_evals_mcp.skills.loading import STARTS_A_SKILL, TRIGGERS
from tests.shared.agent.desk import AGENT, Desk, message
from tests.shared.agent.story import answer, case, measured, rubrics


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copied = tmp_path / "skills"
    shutil.copytree(shipped_folder("skills"), copied)
    return copied


def edit(folder: Path, name: str, old: str, new: str) -> None:
    """The skill's file says something else."""
    file = folder / name / "SKILL.md"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_every_step_of_every_shipped_skill_is_bound_in_its_order() -> None:
    folder = shipped_folder("skills")
    assert tuple(STEPS) == NAMES
    bound = bind(load_skills(folder))
    assert [doing.skill for doing in bound["test-run-recorded"]] == ["classify-failure"]
    assert [doing.skill for doing in bound["approval-decided"]] == ["run-test-case"]


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("detect-trend", "2. `append-point`", "2. `draw-chart`", ":17: nothing does the step 'draw-chart'."),
        ("detect-trend", "5. `escalate-degrading` When", "   When", ":20: the step 'escalate-degrading' is missing."),
        ("run-test-case", "1. `load-case`", "1. `get-output`", ":17: duplicate step 'get-output'."),
        ("run-benchmark", "run-benchmark schedule", "full-moon", ":5: the trigger 'full-moon' starts nothing in this skill."),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_carried_out_is_refused_with_its_line(
    folder: Path, name: str, old: str, new: str, said: str
) -> None:
    edit(folder, name, old, new)
    with pytest.raises(BadInputError) as caught:
        bind(load_skills(folder))
    assert caught.value.message == f"{folder}/{name}/SKILL.md{said}"


def test_steps_that_change_places_are_refused(folder: Path) -> None:
    edit(folder, "detect-trend", "`load-trend`", "`swapped`")
    edit(folder, "detect-trend", "`append-point`", "`load-trend`")
    edit(folder, "detect-trend", "`swapped`", "`append-point`")
    with pytest.raises(BadInputError, match="'append-point' is out of order"):
        bind(load_skills(folder))


def test_the_daemon_does_not_start_on_a_file_with_a_step_that_nothing_does(tmp_path: Path, folder: Path) -> None:
    edit(folder, "classify-failure", "`find-criteria`", "`find-culprits`")
    told = Desk(tmp_path, {"MINIONS_EVALS_SKILLS": str(folder)}).ran(AGENT, "drain")
    assert told.code == 2
    assert "classify-failure/SKILL.md:18: nothing does the step 'find-culprits'" in told.err


def test_editing_the_files_changes_what_the_agent_does(tmp_path: Path, folder: Path) -> None:
    """Half as steep a fall is a regression now, and nobody reacts to failures any more."""
    edit(folder, "run-benchmark", 'dropPoints: "10"', "dropPoints: 70")
    edit(folder, "classify-failure", "test-run-recorded classify-failure", "classify-failure")
    desk = Desk(tmp_path, {"MINIONS_EVALS_SKILLS": str(folder)})
    desk.imported(*rubrics(), *measured("b", 10, {"v1": 10, "v2": 4, "v3": 0}), case("c"), answer("a", "c", "bad"))
    desk.drained(
        *(message(version, "run-benchmark", benchmarkId="b", promptVersionRef=version) for version in ("v1", "v2"))
    )
    assert desk.result("v2")["isRegression"] is False
    assert desk.rows("SELECT count(*) FROM outbox WHERE type = 'memory-item'") == [(0,)]


OWN = """---
name: tidy-up
description: Looks at what a benchmark came to.
metadata:
  triggers: benchmark-run-recorded
  maxSteps: 2
  maxCostUsd: "0.1"
---

Look at the benchmark-run and say in one sentence what it came to.
"""


def own(folder: Path, text: str = OWN) -> Path:
    """A skill that somebody added to the folder."""
    file = folder / "tidy-up" / "SKILL.md"
    file.parent.mkdir()
    file.write_text(text)
    return file


def test_a_skill_that_was_added_is_bound_to_its_trigger_within_its_limits(folder: Path) -> None:
    own(folder)
    skills = load_skills(folder)
    (added,) = skills.own
    assert (added.limits.max_steps, added.limits.max_cost_usd, added.limits.max_seconds) == (2, 0.1, 600)
    assert [doing.skill for doing in bind(skills)["benchmark-run-recorded"]] == ["detect-trend", "tidy-up"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("benchmark-run-recorded", "full-moon", ":5: unknown trigger 'full-moon'"),
        ("maxSteps: 2", "maxSteps: 1000", ":6: maxSteps: "),
        ("maxSteps: 2", "maxStep: 2", ":6: maxStep: unknown parameter"),
        ("name: tidy-up", "name: tidy", ":2: the name is 'tidy'"),
        ("Look at the benchmark-run and say in one sentence what it came to.", "", ":9: the skill has no instructions"),
    ],
)
def test_an_added_skill_that_cannot_be_carried_out_is_refused_with_its_line(
    folder: Path, old: str, new: str, said: str
) -> None:
    file = own(folder, OWN.replace(old, new))
    with pytest.raises(BadInputError) as caught:
        bind(load_skills(folder))
    assert caught.value.message.startswith(f"{file}{said}")


def test_what_may_start_a_skill_is_what_the_agent_has_actions_and_messages_for() -> None:
    assert {name: set(names) for name, names in TRIGGERS.items()} == {name: {*names} for name, names in ACTIONS.items()}
    assert set(STARTS_A_SKILL) == {*KINDS, *OWN_KINDS} - {"instruction", SKILL_DUE}


@pytest.mark.parametrize("trigger", ["full-moon", "test-run-recordid"])
def test_every_program_refuses_a_trigger_that_nobody_knows(folder: Path, trigger: str) -> None:
    file = own(folder, OWN.replace("benchmark-run-recorded", trigger))
    with pytest.raises(BadInputError, match=f"^{re.escape(str(file))}:5: unknown trigger '{trigger}'"):
        load_skills(folder)  # what the command line, the server and the agent start with

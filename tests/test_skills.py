"""The skills as files: what ships loads, what is broken is refused with its file and line, and the numbers are the file's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from minions_evals_mcp.domain.rules import RULES
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.skills import HARD_RULES, NAMES, load_skills
from minions_evals_mcp.skills.sentences import SENTENCES

TREND = "detect-trend/SKILL.md"
BENCHMARK = "run-benchmark/SKILL.md"
CLASSIFY = "classify-failure/SKILL.md"

Edit = Callable[[str, str, str], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copied = tmp_path / "skills"
    shutil.copytree(shipped_folder("skills"), copied)
    return copied


@pytest.fixture
def edit(folder: Path) -> Edit:
    def replace_once(file: str, old: str, new: str) -> None:
        text = (folder / file).read_text("utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1), "utf-8")

    return replace_once


def refusal(folder: Path) -> str:
    """What stopped the start, with the path cut to what stands inside the folder."""
    with pytest.raises(BadInputError) as caught:
        load_skills(folder)
    return caught.value.message.removeprefix(f"{folder}/")


def test_every_shipped_skill_loads_under_its_folders_name_with_steps_and_triggers() -> None:
    skills = load_skills(shipped_folder("skills"))
    loaded = (
        skills.run_test_case,
        skills.run_benchmark,
        skills.detect_trend,
        skills.compare_prompt_versions,
        skills.classify_failure,
    )
    assert tuple(skill.name for skill in loaded) == NAMES
    assert {path.parent.name for path in shipped_folder("skills").glob("*/SKILL.md")} == set(NAMES)
    for skill in loaded:
        assert skill.steps
        assert skill.triggers
        assert skill.description
        assert all(step.text for step in skill.steps)


def test_the_shipped_numbers_are_the_seeds() -> None:
    skills = load_skills(shipped_folder("skills"))
    assert skills.run_benchmark.parameters.model_dump() == {
        "dropPoints": 10.0,
        "relative": False,
        "severity": "critical",
        "taskTitle": "Investigate benchmark regression",
        "requireAudit": False,
    }
    assert skills.detect_trend.parameters.model_dump() == {"window": 5, "variance": 0.05, "consecutive": 3}
    assert skills.compare_prompt_versions.parameters.model_dump() == {
        "tieThreshold": 0.01,
        "requireQualifiedJudge": False,
        "requireSealed": False,
        "requireAudit": False,
    }
    assert skills.classify_failure.parameters.model_dump() == {"criticalBelow": 0.25, "majorBelow": 0.6}
    assert skills.run_test_case.parameters.model_dump() == {"history": 5, "notifyRegressions": True}


def test_editing_a_number_in_the_file_changes_the_parameter(folder: Path, edit: Edit) -> None:
    edit(BENCHMARK, 'dropPoints: "10"', "dropPoints: 12.5")
    edit(TREND, 'consecutive: "3"', "consecutive: 4")
    skills = load_skills(folder)
    assert skills.run_benchmark.parameters.drop_points == 12.5
    assert skills.detect_trend.parameters.consecutive == 4


def test_a_step_is_its_whole_text_and_knows_its_line(folder: Path) -> None:
    lines = (folder / TREND).read_text("utf-8").splitlines()
    steps = load_skills(folder).detect_trend.steps
    assert [lines[step.line - 1].split("`")[1] for step in steps] == [step.id for step in steps]
    escalation = steps[-1]
    assert escalation.id == "escalate-degrading"
    assert escalation.text.endswith("for each streak.")


def test_steps_may_be_numbered_with_a_bracket_and_spaced_as_one_likes(folder: Path, edit: Edit) -> None:
    before = load_skills(folder).detect_trend.steps
    edit(TREND, "1. `load-trend` On", "1)  `load-trend`  On")
    assert load_skills(folder).detect_trend.steps == before


def test_the_body_is_what_follows_the_front_matter(folder: Path) -> None:
    body = load_skills(folder).detect_trend.body
    assert body.startswith("# Detect trends")
    assert "triggers:" not in body


def test_a_byte_order_mark_is_no_part_of_the_file(folder: Path) -> None:
    (folder / TREND).write_bytes(b"\xef\xbb\xbf" + (folder / TREND).read_bytes())
    assert load_skills(folder).detect_trend.name == "detect-trend"


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (BENCHMARK, "---\n", "", ":1: the file must begin with front matter"),
        (TREND, 'consecutive: "3"\n---', "consecutive: 3", ":1: the file must begin with front matter"),
        (TREND, 'variance: "0.05"', "variance: [0.05", ":8: no YAML:"),
        (TREND, 'variance: "0.05"', "variance: \x01", ":7: no YAML: control characters are not allowed"),
        (TREND, "name: detect-trend", "name: detect-trends", ":2: the name is 'detect-trends', the folder's is"),
        (TREND, "name: detect-trend", "name: detect-trend\ntrigger: x", ":3: trigger: unknown parameter"),
        (TREND, "benchmark-run-recorded", "Benchmark run!", ":5: triggers: "),
        (TREND, "benchmark-run-recorded detect-trend", '""', ":5: triggers: "),
        (
            TREND,
            "benchmark-run-recorded detect-trend",
            "detect-trend detect-trend",
            ":5: triggers: duplicate entry",
        ),
        (
            TREND,
            "name: detect-trend",
            "name: &a [*a]",
            ":2: not valid YAML: it is nested too deeply, or an alias refers to itself",
        ),
        (TREND, "name: detect-trend", "name: 2026-13-31", ":2: no YAML: month must be in 1..12"),
    ],
)
def test_a_file_without_proper_front_matter_is_refused(
    folder: Path, edit: Edit, file: str, old: str, new: str, said: str
) -> None:
    edit(file, old, new)
    assert refusal(folder).startswith(f"{file}{said}")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (BENCHMARK, 'dropPoints: "10"', "dropPoints: ten", ":6: dropPoints: Input should be a valid number"),
        (BENCHMARK, 'dropPoints: "10"', "dropPoints: true", ":6: dropPoints: Input should be a valid number"),
        (BENCHMARK, 'dropPoints: "10"', "dropPoints: 101", ":6: dropPoints: Input should be less than or equal to 100"),
        (BENCHMARK, 'dropPoints: "10"', "dropPoints: 10\n  dropPoints: 5", ":7: duplicate key 'dropPoints'"),
        (BENCHMARK, 'relative: "false"', "relativ: false", ":7: relativ: unknown parameter"),
        (BENCHMARK, '  relative: "false"\n', "", ":1: relative: is missing"),
        (BENCHMARK, "severity: critical", "severity: awful", ":8: severity: "),
        (TREND, 'window: "5"', "window: 2", ":6: window: Input should be greater than or equal to 3"),
        (TREND, 'window: "5"', "window: 13", ":6: window: Input should be less than or equal to 12"),
        (TREND, 'variance: "0.05"', "variance: 1", ":7: variance: Input should be less than 1"),
        (TREND, 'variance: "0.05"', "variance: .nan", ":7: variance: Input should be a finite number"),
        (TREND, 'consecutive: "3"', "consecutive: 0", ":8: consecutive: Input should be greater than or equal to 1"),
        (
            CLASSIFY,
            'criticalBelow: "0.25"',
            "criticalBelow: 0.9",
            ":4: parameters: criticalBelow 0.9 is above majorBelow",
        ),
    ],
)
def test_a_parameter_that_does_not_fit_is_refused(
    folder: Path, edit: Edit, file: str, old: str, new: str, said: str
) -> None:
    edit(file, old, new)
    assert refusal(folder).startswith(f"{file}{said}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("1. `load-trend` On", "1. On", ":16: the step begins with no id"),
        ("1. `load-trend` On", "1. `Load_Trend` On", ":16: the step begins with no id"),
        ("2. `append-point`", "2. `load-trend`", ":17: duplicate step 'load-trend'"),
    ],
)
def test_a_step_without_an_id_of_its_own_is_refused(folder: Path, edit: Edit, old: str, new: str, said: str) -> None:
    edit(TREND, old, new)
    assert refusal(folder).startswith(f"{TREND}{said}")


def test_a_skill_without_steps_is_refused(folder: Path) -> None:
    front = (folder / TREND).read_text("utf-8").partition("# Detect trends")[0]
    (folder / TREND).write_text(front + "Do what seems right.\n", "utf-8")
    assert refusal(folder) == f"{TREND}:10: the skill has no numbered steps."


def test_front_matter_that_is_no_mapping_is_refused(folder: Path) -> None:
    (folder / TREND).write_text("---\n- name\n---\n1. `load-trend` Load it.\n", "utf-8")
    assert refusal(folder) == f"{TREND}:2: the front matter must be a mapping."


@pytest.mark.parametrize("content", [None, b"\xe9"])
def test_a_file_that_is_missing_or_no_text_is_named(folder: Path, content: bytes | None) -> None:
    (folder / TREND).unlink()
    if content is not None:
        (folder / TREND).write_bytes(content)
    assert refusal(folder).startswith(f"{TREND}: cannot be read")


def test_the_hard_rules_stand_in_the_file_word_for_word_each_with_its_code_and_its_store() -> None:
    rules = load_skills(shipped_folder("skills")).hard_rules
    assert [rule.id for rule in rules] == list(RULES)
    for rule in rules:
        sentence, code, store = rule.text.partition(" Code: ")
        assert sentence == RULES[rule.id]
        assert code
        assert " Store: " in store


def test_a_hard_rule_cannot_be_changed_by_its_file(folder: Path, edit: Edit) -> None:
    edit(HARD_RULES, "never modified", "seldom modified")
    assert refusal(folder).startswith(f"{HARD_RULES}:6: a hard rule cannot be changed; HR1 begins: {RULES['HR1']}")


def test_a_hard_rule_cannot_be_left_out(folder: Path, edit: Edit) -> None:
    edit(HARD_RULES, "- `HR2`", "- HR2")
    assert refusal(folder) == f"{HARD_RULES}:1: the five rules HR1 to HR5 must stand there in order."


def test_steps_that_the_engine_does_not_take_are_refused_wherever_skills_are_loaded(folder: Path, edit: Edit) -> None:
    edit(TREND, "`append-point`", "`draw-chart`")
    assert "nothing does the step 'draw-chart'" in refusal(folder)


def test_prose_that_nothing_follows_is_marked_as_description_and_steps_are_not(folder: Path, edit: Edit) -> None:
    edit(TREND, "> Description: One bad run", "Always be kind.\nAnd short.\n\n> Description: One bad run")
    lines = load_skills(folder).detect_trend.body.splitlines()
    assert "> Description: Always be kind." in lines
    assert "> And short." in lines
    assert sum(line.startswith("> Description: > ") for line in lines) == 0
    assert lines[0] == "# Detect trends"
    assert any(line.startswith("1. `load-trend`") for line in lines)


def test_triggers_and_parameters_may_stand_at_the_top_as_before_and_numbers_in_quotes(folder: Path, edit: Edit) -> None:
    edit(TREND, '  window: "5"', '  window: "7"')
    assert load_skills(folder).detect_trend.parameters.window == 7
    old = (
        "triggers: [benchmark-run-recorded, detect-trend]\nparameters:\n  window: 5\n  variance: 0.05\n  consecutive: 3"
    )
    now = 'metadata:\n  triggers: benchmark-run-recorded detect-trend\n  window: "7"\n  variance: "0.05"\n  consecutive: "3"'
    edit(TREND, now, old)
    assert load_skills(folder).detect_trend.triggers == ("benchmark-run-recorded", "detect-trend")


SHIPPED = {skill: sorted(SENTENCES[skill]) for skill in NAMES}


@pytest.mark.parametrize(("skill", "step"), [(skill, step) for skill, steps in SHIPPED.items() for step in steps])
def test_a_changed_sentence_of_a_step_is_refused_with_file_and_line_and_the_way_to_do_it(
    folder: Path, skill: str, step: str
) -> None:
    path = folder / skill / "SKILL.md"
    lines = path.read_text("utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if f"`{step}`" in line and line[0].isdigit())
    for changed in (f"{lines[at]} Never touch the benchmark.", lines[at].partition("` ")[0] + "` Never touch it."):
        path.write_text("\n".join([*lines[:at], changed, *lines[at + 1 :]]))
        with pytest.raises(BadInputError) as caught:
            load_skills(folder)
        refused = caught.value
        assert refused.message.startswith(f"{path}:{at + 1}: the sentence of the step {step!r} was changed")
        assert "set a parameter under metadata (" in refused.remedy
        assert "a skill of your own with a trigger" in refused.remedy


@pytest.mark.parametrize("rule", RULES)
def test_nothing_can_be_added_to_a_hard_rule(folder: Path, edit: Edit, rule: str) -> None:
    edit(HARD_RULES, RULES[rule], f"{RULES[rule]} Unless the message says otherwise.")
    assert f"a hard rule cannot be changed; {rule} begins" in refusal(folder)


def test_a_copy_of_an_earlier_releases_file_loads(folder: Path, edit: Edit) -> None:
    edit(TREND, "is provisional; an escalation by it says so.", "is provisional and escalates nothing.")
    assert load_skills(folder).detect_trend.steps[2].text.endswith("escalates nothing.")

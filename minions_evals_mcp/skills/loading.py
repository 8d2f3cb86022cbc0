"""Loads the skills: Markdown with triggers, parameters and numbered steps. A file that does not parse stops the start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.rules import RULES
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.skills.front_matter import FrontMatter, closing_line, front_matter, line_of, line_starting
from minions_evals_mcp.skills.sentences import SENTENCES
from minions_evals_mcp.skills.skill import (
    ClassifyFailureParameters,
    ComparePromptVersionsParameters,
    DetectTrendParameters,
    HardRule,
    OwnSkill,
    P,
    RunBenchmarkParameters,
    RunTestCaseParameters,
    Skill,
    SkillLimits,
    Skills,
    SkillStep,
)

NAMES = ("run-test-case", "run-benchmark", "detect-trend", "compare-prompt-versions", "classify-failure")
HARD_RULES = "hard-rules.md"
STEPS: dict[str, tuple[str, ...]] = {
    "run-test-case": (
        "load-case", "get-output", "score-criteria", "make-judgments", "sum-scores", "decide-pass", "record-run",
    ),
    "run-benchmark": (
        "load-benchmark", "run-cases", "aggregate-runs", "compute-figures", "update-benchmark", "check-regression",
    ),
    "detect-trend": ("load-trend", "append-point", "compute-direction", "update-trend", "escalate-degrading"),
    "compare-prompt-versions": ("load-versions", "run-both", "record-comparison", "name-winner", "report-comparison"),
    "classify-failure": (
        "compare-outputs", "classify-type", "find-criteria", "estimate-cause", "record-failure", "store-findings",
    ),
}  # fmt: skip
"""The steps that the engine takes, by skill, in their order: a file that says others is refused."""
TRIGGERS: dict[str, tuple[str, ...]] = {
    "run-test-case": ("run-test-case", "agent-run-completed", "approval-decided"),
    "run-benchmark": ("run-benchmark", "schedule"),
    "detect-trend": ("benchmark-run-recorded", "detect-trend"),
    "compare-prompt-versions": ("compare-prompts", "approve-prompt-version"),
    "classify-failure": ("test-run-recorded", "classify-failure"),
}
"""What may start each shipped skill: the agent has an action for it."""
STARTS_A_SKILL = (
    "run-test-case", "run-benchmark", "compare-prompts", "classify-failure", "detect-trend", "agent-run-completed",
    "approve-prompt-version", "approval-decided", "get-test-cases", "get-test-case", "get-test-case-executions",
    "get-test-case-stats", "get-test-branches", "get-branch-executions", "create-test-case", "update-test-case",
    "delete-test-case", "batch-run-tests", "update-expected-output", "create-test-branch", "update-test-branch",
    "delete-test-branch", "run-ab-test", "test-run-recorded", "benchmark-run-recorded", "schedule",
)  # fmt: skip
"""The messages and events that a skill of one's own may be started by."""
STEP = re.compile(r"^\d+[.)] +(?:`([a-z][a-z0-9-]*)` +)?(.*)$")
RULE = re.compile(r"^- `(HR\d)` (.*)$")


BEGINS = "begins"
"""The words before the hard rules, among their sentences."""
RESTORED = "Write it as in the shipped file."


def load_skills(folder: Path) -> Skills:
    """The skills in that folder; raises `BadInputError` naming file and line of what does not parse."""
    return Skills(
        run_test_case=_skill(folder, "run-test-case", RunTestCaseParameters),
        run_benchmark=_skill(folder, "run-benchmark", RunBenchmarkParameters),
        detect_trend=_skill(folder, "detect-trend", DetectTrendParameters),
        compare_prompt_versions=_skill(folder, "compare-prompt-versions", ComparePromptVersionsParameters),
        classify_failure=_skill(folder, "classify-failure", ClassifyFailureParameters),
        hard_rules=_hard_rules(folder / HARD_RULES),
        own=tuple(_own_skill(path) for path in sorted(folder.glob("*/SKILL.md")) if path.parent.name not in NAMES),
    )


def _read(path: Path) -> str:
    try:
        return bounded_files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"{path}: cannot be read: {error}.", remedy="Name the skills' folder with MINIONS_EVALS_SKILLS."
        ) from None


def _skill(folder: Path, name: str, kind: type[P]) -> Skill[P]:
    path = folder / name / "SKILL.md"
    front, parameters, body, first_line = _parts(path, name, kind)
    for trigger in front.triggers:
        if trigger not in TRIGGERS[name]:
            raise BadInputError(
                f"{path}:{_line_of_triggers(path)}: the trigger {trigger!r} starts nothing in this skill.",
                remedy=f"Known triggers: {', '.join(TRIGGERS[name])}.",
            )
    steps = _steps(path, body, first_line)
    _vet_steps(path, STEPS[name], steps)
    _vet_sentences(path, name, steps, parameters)
    return Skill(name, front.description, front.triggers, parameters, steps, "\n".join(_marked(body)).strip())


def _own_skill(path: Path) -> OwnSkill:
    """A skill that stands beside ours; raises `BadInputError` naming file and line of what does not parse."""
    front, limits, body, first_line = _parts(path, path.parent.name, SkillLimits)
    for trigger in front.triggers:
        if trigger not in STARTS_A_SKILL:
            raise BadInputError(
                f"{path}:{_line_of_triggers(path)}: unknown trigger {trigger!r}.",
                remedy=f"Known triggers: {', '.join(STARTS_A_SKILL)}.",
            )
    instructions = "\n".join(body).strip()
    if not instructions:
        raise BadInputError(f"{path}:{first_line}: the skill has no instructions.", remedy="Say in words what to do.")
    return OwnSkill(front.name, front.description, front.triggers, limits, instructions, path)


def _line_of_triggers(path: Path) -> int:
    """The line at which the file says what starts the skill."""
    lines = _read(path).splitlines()
    return next((number for number, text in enumerate(lines, 1) if text.strip().startswith("triggers:")), 1)


def _parts(path: Path, name: str, kind: type[P]) -> tuple[FrontMatter, P, list[str], int]:
    """Front matter, parameters, body and the line at which that begins."""
    lines = _read(path).splitlines()
    closed = closing_line(lines)
    if closed is None:
        raise BadInputError(f"{path}:1: the file must begin with front matter between two lines of ---.")
    front, parameters = front_matter(path, lines[1:closed], kind)
    if front.name != name:
        raise BadInputError(f"{path}:{line_of(lines, 'name')}: the name is {front.name!r}, the folder's is {name!r}.")
    return front, parameters, lines[closed + 1 :], closed + 2


def _vet_steps(path: Path, known: Sequence[str], steps: tuple[SkillStep, ...]) -> None:
    """A file must say the steps that the engine takes, for it takes them whatever the file says."""
    for step in steps:
        if step.id not in known:
            raise BadInputError(
                f"{path}:{step.line}: nothing does the step {step.id!r}.", remedy=f"Known are {', '.join(known)}."
            )
    there = [step.id for step in steps]
    missing = [ident for ident in known if ident not in there]
    if missing:
        raise BadInputError(
            f"{path}:{steps[-1].line}: the step {missing[0]!r} is missing.",
            remedy="It is done whatever the file says, so the file must say it.",
        )
    if there != list(known):
        first = next(step for step, ident in zip(steps, known, strict=True) if step.id != ident)
        raise BadInputError(
            f"{path}:{first.line}: the step {first.id!r} is out of order.", remedy=f"Order: {', '.join(known)}."
        )


def _vet_sentences(path: Path, name: str, steps: Iterable[SkillStep], parameters: Value) -> None:
    """A file cannot change what a step does, so it must not say that it does: only its parameters are followed."""
    for step in steps:
        if text_digest(step.text) not in SENTENCES[name][step.id]:
            names = ", ".join(str(info.alias) for info in type(parameters).model_fields.values())
            raise BadInputError(
                f"{path}:{step.line}: the sentence of the step {step.id!r} was changed, which would change nothing.",
                remedy=f"{RESTORED} To have something else done, set a parameter under metadata ({names}), or put"
                " a skill of your own with a trigger into a folder beside this one.",
            )


def _marked(body: list[str]) -> Iterator[str]:
    """The body with prose that nothing follows marked as description; steps and headings stay as they are."""
    in_step = begun = False
    for line in body:
        if STEP.match(line):
            in_step, begun = True, False
        elif not line.strip():
            in_step = begun = False
        elif not in_step and not line.startswith(("#", ">")):
            line, begun = (f"> {line}" if begun else f"> Description: {line}"), True  # noqa: PLW2901  the line, marked
        yield line


def _steps(path: Path, body: list[str], first_line: int) -> tuple[SkillStep, ...]:
    steps: list[SkillStep] = []
    in_step = False
    for line, text in enumerate(body, first_line):
        match = STEP.match(text)
        in_step = match is not None or (in_step and bool(text.strip()))
        if match is None:
            _continue(steps, text, in_step=in_step)
            continue
        ident, sentence = match.groups()
        if ident is None:
            raise BadInputError(
                f"{path}:{line}: the step begins with no id.", remedy="Write it as: 1. `load-case` Load …"
            )
        if any(step.id == ident for step in steps):
            raise BadInputError(f"{path}:{line}: duplicate step {ident!r}.")
        steps.append(SkillStep(ident, sentence, line))
    if not steps:
        raise BadInputError(f"{path}:{first_line}: the skill has no numbered steps.")
    return tuple(steps)


def _continue(steps: list[SkillStep], text: str, *, in_step: bool) -> None:
    """A line right below a step goes on with it, as Markdown reads it, and so does an indented one."""
    if steps and text.strip() and (in_step or text.startswith(("  ", "\t"))):
        steps[-1] = replace(steps[-1], text=f"{steps[-1].text} {text.strip()}")


def _hard_rules(path: Path) -> tuple[HardRule, ...]:
    lines = _read(path).splitlines()
    rules = _rules(lines)
    if [rule.id for rule in rules] != list(RULES):
        raise BadInputError(f"{path}:1: the five rules HR1 to HR5 must stand there in order.")
    _refuse_reworded(path, lines, rules)
    _refuse_added(path, lines)
    return tuple(rules)


def _rules(lines: Iterable[str]) -> list[HardRule]:
    rules: list[HardRule] = []
    for text in lines:
        match = RULE.match(text)
        if match is not None:
            rules.append(HardRule(*match.groups()))
        elif rules and text.startswith("  "):
            rules[-1] = HardRule(rules[-1].id, f"{rules[-1].text} {text.strip()}")
    return rules


def _refuse_added(path: Path, lines: list[str]) -> None:
    """Nothing but the rules is followed, so nothing else may stand in their file than the words that they begin with."""
    first = next(number for number, text in enumerate(lines) if RULE.match(text))
    begins = " ".join(text.strip() for text in lines[:first] if text.strip())
    if text_digest(begins) not in SENTENCES["hard-rules"][BEGINS]:
        raise BadInputError(
            f"{path}:1: the words before the rules were changed, which would change nothing.", remedy=RESTORED
        )
    for number, text in enumerate(lines[first:], first + 1):
        if text.strip() and RULE.match(text) is None and not text.startswith("  "):
            raise BadInputError(
                f"{path}:{number}: this line is no hard rule and would change nothing.",
                remedy=f"{RESTORED} For what else is to be done write a skill of your own with a trigger.",
            )


def _refuse_reworded(path: Path, lines: list[str], rules: Iterable[HardRule]) -> None:
    """A file cannot change a rule, so it must not say that it does."""
    for rule in rules:
        if text_digest(rule.text) not in SENTENCES["hard-rules"][rule.id]:
            sentence = f"a hard rule cannot be changed; {rule.id} begins: {RULES[rule.id]}"
            raise BadInputError(f"{path}:{line_starting(lines, f'- `{rule.id}`')}: {sentence}")

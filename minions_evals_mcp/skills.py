"""Loads the skills: Markdown with triggers, parameters and numbered steps. A file that does not parse stops the start."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Generic, Literal, Self, TypeVar

import yaml
from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails, to_json
from yaml.reader import ReaderError

from minions_evals_mcp.domain.rules import RULES
from minions_evals_mcp.domain.values import Text, Unit, Value
from minions_evals_mcp.errors import BadInputError

NAMES = ("run-test-case", "run-benchmark", "detect-trend", "compare-prompt-versions", "classify-failure")
HARD_RULES = "hard-rules.md"
STEP = re.compile(r"^\d+[.)] +(?:`([a-z][a-z0-9-]*)` +)?(.*)$")
RULE = re.compile(r"^- `(HR\d)` (.*)$")

Trigger = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
"""The type of a message or an event."""


class RunTestCaseParameters(Value):
    """With how many earlier runs of its case a run is compared; the rubric says what passes."""

    history: Annotated[int, Field(ge=1, le=100)]


class RunBenchmarkParameters(Value):
    """What counts as a regression (percentage points, or percent of the earlier rate), and what it sets off.

    `require_audit`: a benchmark is run only if its checks were audited as they are now.
    """

    drop_points: Annotated[float, Field(gt=0, le=100)]
    relative: bool
    severity: Literal["critical", "major", "minor"]
    task_title: Text
    require_audit: bool = False


class DetectTrendParameters(Value):
    """How many points a trend looks at, within what share they count as stable, and how many in a row escalate."""

    window: Annotated[int, Field(ge=3, le=12)]
    variance: Annotated[float, Field(gt=0, lt=1)]
    consecutive: Annotated[int, Field(ge=1)]


class ComparePromptVersionsParameters(Value):
    """Below what difference two scores are a tie; whether a judge whose licence is unknown backs no approval.

    `require_sealed`: an approval needs a comparison on sealed cases; `require_audit`: one on checks that were audited as
    they are now.
    """

    tie_threshold: Annotated[float, Field(ge=0, le=1)]
    require_qualified_judge: bool = False
    require_sealed: bool = False
    require_audit: bool = False


class ClassifyFailureParameters(Value):
    """Below what share of the score a failure is critical, or major."""

    critical_below: Unit
    major_below: Unit

    @model_validator(mode="after")
    def _critical_is_worse_than_major(self) -> Self:
        if self.critical_below > self.major_below:
            raise ValueError(f"criticalBelow {self.critical_below:g} is above majorBelow {self.major_below:g}")
        return self


def _each_once(triggers: tuple[Trigger, ...]) -> tuple[Trigger, ...]:
    """A trigger that came twice would have its work done twice."""
    if len(set(triggers)) < len(triggers):
        raise ValueError("one comes twice")
    return triggers


class _FrontMatter(Value):
    name: Text
    description: Text
    triggers: Annotated[tuple[Trigger, ...], Field(strict=False, min_length=1), AfterValidator(_each_once)]


P = TypeVar("P", bound=Value)


@dataclass(frozen=True, slots=True)
class Step:
    """One numbered step: its id, what it says, and the line of the file at which it stands."""

    id: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Skill(Generic[P]):
    """One skill as its file says it."""

    name: str
    description: str
    triggers: tuple[str, ...]
    parameters: P
    steps: tuple[Step, ...]
    body: str


@dataclass(frozen=True, slots=True)
class HardRule:
    """A rule that nothing gets round, and where it is enforced."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Skills:
    """All five skills and the hard rules."""

    run_test_case: Skill[RunTestCaseParameters]
    run_benchmark: Skill[RunBenchmarkParameters]
    detect_trend: Skill[DetectTrendParameters]
    compare_prompt_versions: Skill[ComparePromptVersionsParameters]
    classify_failure: Skill[ClassifyFailureParameters]
    hard_rules: tuple[HardRule, ...]


def load_skills(folder: Path) -> Skills:
    """The skills in that folder; raises `BadInputError` naming file and line of what does not parse."""
    return Skills(
        run_test_case=_skill(folder, "run-test-case", RunTestCaseParameters),
        run_benchmark=_skill(folder, "run-benchmark", RunBenchmarkParameters),
        detect_trend=_skill(folder, "detect-trend", DetectTrendParameters),
        compare_prompt_versions=_skill(folder, "compare-prompt-versions", ComparePromptVersionsParameters),
        classify_failure=_skill(folder, "classify-failure", ClassifyFailureParameters),
        hard_rules=_hard_rules(folder / HARD_RULES),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"{path}: cannot be read: {error}.", remedy="Name the skills' folder with MINIONS_EVALS_SKILLS."
        ) from None


def _skill(folder: Path, name: str, kind: type[P]) -> Skill[P]:
    path = folder / name / "SKILL.md"
    lines = _read(path).splitlines()
    closed = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    if not lines or lines[0].strip() != "---" or closed is None:
        raise BadInputError(f"{path}:1: the file must begin with front matter between two lines of ---.")
    front, parameters = _front_matter(path, lines[1:closed], kind)
    if front.name != name:
        raise BadInputError(f"{path}:{_line_of(lines, 'name')}: the name is {front.name!r}, the folder's is {name!r}.")
    body = lines[closed + 1 :]
    return Skill(
        name, front.description, front.triggers, parameters, _steps(path, body, closed + 2), "\n".join(body).strip()
    )


def _front_matter(path: Path, lines: list[str], kind: type[P]) -> tuple[_FrontMatter, P]:
    text = "\n".join(lines)
    try:
        _refuse_repeated_keys(path, yaml.compose(text, Loader=yaml.SafeLoader))
        found: object = yaml.safe_load(text)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 2
        raise BadInputError(f"{path}:{line}: no YAML: {error.reason}.") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 2
        raise BadInputError(f"{path}:{line}: no YAML: {error.problem}.") from None
    except ValueError as error:  # 2026-13-31 looks like a date and is none
        raise BadInputError(f"{path}:2: no YAML: {error}.") from None
    if not isinstance(found, dict):
        raise BadInputError(f"{path}:2: the front matter must be a mapping.")
    head: dict[str, object] = dict(found)  # pyright: ignore[reportUnknownArgumentType]  checked by the models below
    parameters = head.pop("parameters", {})
    return _typed(path, lines, _FrontMatter, head), _typed(path, lines, kind, parameters)


def _refuse_repeated_keys(path: Path, root: yaml.Node | None) -> None:
    """YAML keeps the last of two equal keys in silence: refused at the top and in the parameters."""
    if not isinstance(root, yaml.MappingNode):
        return
    for mapping in (root, *(value for _, value in root.value if isinstance(value, yaml.MappingNode))):
        seen: set[str] = set()
        for key, _ in mapping.value:
            name = str(key.value)
            if name in seen:
                raise BadInputError(f"{path}:{key.start_mark.line + 2}: the key {name!r} comes twice.")
            seen.add(name)


def _typed(path: Path, lines: list[str], kind: type[P], found: object) -> P:
    try:
        return kind.model_validate_json(to_json(found, fallback=str))
    except ValidationError as error:
        gravest = min(error.errors(include_url=False), key=_is_not_unknown)
        name = str(gravest["loc"][0]) if gravest["loc"] else "parameters"
        raise BadInputError(f"{path}:{_line_of(['---', *lines], name)}: {name}: {_said(gravest)}.") from None
    except ValueError:  # pydantic's own error for a value that cannot be JSON
        raise BadInputError(f"{path}:2: no YAML: an alias stands within what it names.") from None


def _is_not_unknown(detail: ErrorDetails) -> bool:
    """Unknown keys come first: a misspelt one is also missing, and this says where it stands."""
    return detail["type"] != "extra_forbidden"


def _said(detail: ErrorDetails) -> str:
    match detail["type"]:
        case "extra_forbidden":
            return "unknown parameter"
        case "missing":
            return "is missing"
        case _:
            return detail["msg"].removeprefix("Value error, ")


def _line_of(lines: list[str], key: str) -> int:
    """The line (from 1) of the first key of that name, else the first line."""
    return _line_starting(lines, f"{key}:")


def _line_starting(lines: list[str], start: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if line.strip().startswith(start)), 1)


def _steps(path: Path, body: list[str], first_line: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    for line, text in enumerate(body, first_line):
        found = STEP.match(text)
        if found is None:
            _continue(steps, text)
            continue
        ident, said = found.groups()
        if ident is None:
            raise BadInputError(
                f"{path}:{line}: the step begins with no id.", remedy="Write it as: 1. `load-case` Load …"
            )
        if any(step.id == ident for step in steps):
            raise BadInputError(f"{path}:{line}: the step {ident!r} comes twice.")
        steps.append(Step(ident, said, line))
    if not steps:
        raise BadInputError(f"{path}:{first_line}: the skill has no numbered steps.")
    return tuple(steps)


def _continue(steps: list[Step], text: str) -> None:
    """An indented line goes on with the step before it."""
    if steps and text.startswith("  "):
        steps[-1] = replace(steps[-1], text=f"{steps[-1].text} {text.strip()}")


def _hard_rules(path: Path) -> tuple[HardRule, ...]:
    rules: list[HardRule] = []
    lines = _read(path).splitlines()
    for text in lines:
        found = RULE.match(text)
        if found is not None:
            rules.append(HardRule(*found.groups()))
        elif rules and text.startswith("  "):
            rules[-1] = HardRule(rules[-1].id, f"{rules[-1].text} {text.strip()}")
    if [rule.id for rule in rules] != list(RULES):
        raise BadInputError(f"{path}:1: the five rules HR1 to HR5 must stand there in order.")
    _refuse_reworded(path, lines, rules)
    return tuple(rules)


def _refuse_reworded(path: Path, lines: list[str], rules: Iterable[HardRule]) -> None:
    """A file cannot change a rule, so it must not say that it does."""
    for rule in rules:
        if not rule.text.startswith(RULES[rule.id]):
            said = f"a hard rule cannot be changed; {rule.id} reads: {RULES[rule.id]}"
            raise BadInputError(f"{path}:{_line_starting(lines, f'- `{rule.id}`')}: {said}")

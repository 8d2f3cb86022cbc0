"""The form of a skill: its name, triggers, parameters and steps, and the limits of skills of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from minions_evals_mcp.domain.values import Text, Unit, Value
from minions_evals_mcp.frozen_types import frozen_type


class RunTestCaseParameters(Value):
    """With how many earlier runs of its case a run is compared; the rubric says what passes.

    `notify_regressions`: the orchestrator is told when a run is a regression of its case.
    """

    history: Annotated[int, Field(ge=1, le=100)]
    notify_regressions: bool = True


class RunBenchmarkParameters(Value):
    """The fall that counts as a regression (percentage points, or percent of the earlier rate), and what it sets off.

    `require_audit`: a benchmark is run only if its checks were audited as they are now.
    """

    drop_points: Annotated[float, Field(gt=0, le=100)]
    relative: bool
    severity: Literal["critical", "major", "minor"]
    task_title: Text
    require_audit: bool = False


class DetectTrendParameters(Value):
    """The number of points that a trend looks at, within what share they count as stable, and how many in a row escalate."""

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


class SkillLimits(Value):
    """The number of steps that a skill of one's own may take, and what they may cost (US dollars) and last together."""

    max_steps: Annotated[int, Field(ge=1, le=100)] = 10
    max_cost_usd: Annotated[float, Field(gt=0)] = 0.5
    max_seconds: Annotated[float, Field(gt=0, le=3600)] = 600.0


P = TypeVar("P", bound=Value)


@frozen_type
class SkillStep:
    """One numbered step: its id, what it says, and the line of the file at which it stands."""

    id: str
    text: str
    line: int


@frozen_type
class Skill(Generic[P]):
    """One skill as its file says it."""

    name: str
    description: str
    triggers: tuple[str, ...]
    parameters: P
    steps: tuple[SkillStep, ...]
    body: str


@frozen_type
class OwnSkill:
    """A skill that somebody added: its instructions are carried out by a model, step by step, when a trigger comes."""

    name: str
    description: str
    triggers: tuple[str, ...]
    limits: SkillLimits
    instructions: str
    path: Path


@frozen_type
class HardRule:
    """A rule that nothing gets round, and where it is enforced."""

    id: str
    text: str


@frozen_type
class Skills:
    """All five skills, the hard rules, and the skills that were added to their folder."""

    run_test_case: Skill[RunTestCaseParameters]
    run_benchmark: Skill[RunBenchmarkParameters]
    detect_trend: Skill[DetectTrendParameters]
    compare_prompt_versions: Skill[ComparePromptVersionsParameters]
    classify_failure: Skill[ClassifyFailureParameters]
    hard_rules: tuple[HardRule, ...]
    own: tuple[OwnSkill, ...] = ()

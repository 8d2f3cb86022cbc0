"""What an audit of a suite's checks finds: the cheats and mutants that pass, and what would close the holes."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.values import Count, Id, Text, Timestamp, Unit, Value

Finding = Literal["never-fails", "never-passes", "reference-fails", "no-reference", "duplicate"]


class LetThrough(Value):
    """A wrong output that passes. `kind`: of which cheat or mutant; `told`: what was changed. `counted`: it shows a hole."""

    kind: Text
    text: str
    told: str = ""
    counted: bool = True


class Suggestion(Value):
    """Stricter checks that close the holes named in `closes`: tried, the reference passes them and what passed does not.

    `assertions` are all that the case should have, `added` those that are new. `replaces`: the case's rubric, which judges
    every case alike and gives way to them. `open`: the holes that they leave.
    """

    assertions: Annotated[tuple[Json, ...], Field(strict=False)]
    added: Annotated[tuple[Json, ...], Field(strict=False)] = ()
    closes: Annotated[tuple[str, ...], Field(strict=False)] = ()
    open: Annotated[tuple[str, ...], Field(strict=False)] = ()
    replaces: Text | None = None
    in_words: str = ""


class CriterionAudit(Value):
    """The kinds of cheats and mutants to which one criterion of a rubric gives its full score."""

    criterion_id: Id
    cheats_passed: Annotated[tuple[str, ...], Field(strict=False)] = ()
    mutants_survived: Annotated[tuple[str, ...], Field(strict=False)] = ()


class CheckAudit(Value):
    """A check that no output failed, or that none passed."""

    finding: Finding
    check: Text
    criterion_id: str | None = None


class CaseAudit(Value):
    """The holes of one case. `cheatsPassed` are the kinds that count, the cheapest first; `cheatsShown` pass by their making.

    `mutantsToLook` may still be right. `unsuggested` says what to do where no check is suggested, and why none is.
    `notAudited` says who judges the case besides rules, or why nothing could be tried.
    """

    test_case_id: Id
    cheats_passed: Annotated[tuple[str, ...], Field(strict=False)] = ()
    mutants_survived: Annotated[tuple[str, ...], Field(strict=False)] = ()
    findings: Annotated[tuple[Finding, ...], Field(strict=False)] = ()
    suggestion: Suggestion | None = None
    unsuggested: Annotated[str, Field(exclude_if=lambda why: not why)] = ""
    cheats_shown: Annotated[tuple[str, ...], Field(strict=False)] = ()
    mutants_to_look: Annotated[tuple[str, ...], Field(strict=False)] = ()
    let_through: Annotated[tuple[LetThrough, ...], Field(strict=False)] = ()
    checks: Annotated[tuple[CheckAudit, ...], Field(strict=False)] = ()
    criteria: Annotated[tuple[CriterionAudit, ...], Field(strict=False)] = ()
    duplicate_of: Id | None = None
    canary: Annotated[bool, Field(exclude_if=lambda canary: not canary)] = False
    not_audited: str = ""

    @property
    def is_sound(self) -> bool:
        """Returns whether nothing wrong passes, and no check is to be blamed."""
        return not (self.cheats_passed or self.mutants_survived or self.findings)


class Audit(Fields):
    """The findings of cheats and mutants about a suite's checks. Computed, one for each audit; nothing that was tried is an output.

    `subject`: the benchmark's id, or the file's name. `digest` covers cases and rubrics; `covers` gives that of each
    benchmark in the suite. `cases` are those with a hole, the worst first, as many as are kept; all are counted.
    """

    slug: ClassVar[str] = "audit"

    subject: Text
    kind: Literal["benchmark", "suite", "config"] = "benchmark"
    digest: Text
    cheat_pass_rate: Unit | None = None
    mutation_score: Unit | None = None
    case_count: Count = 0
    cheated_count: Count = 0
    mutant_count: Count = 0
    killed_count: Count = 0
    look_count: Count = 0
    not_audited_count: Count = 0
    by_kind: dict[str, int] = {}
    findings: dict[str, int] = {}
    with_judge: str | None = None
    judge_error_count: Count = 0
    judge_problem: str = ""
    spent_usd: float = 0.0
    covers: dict[str, str] = {}
    auditor: Text = "audit/1"
    cases: Annotated[tuple[CaseAudit, ...], Field(strict=False)] = ()
    audited_at: Timestamp

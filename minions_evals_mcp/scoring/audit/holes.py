"""From what the checks said of cheats, mutants and probes to the holes of a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.scoring.audit.cheats import CHEAT_KINDS, AuditedCase, Cheat, CheatKind, cheats, counts
from minions_evals_mcp.scoring.audit.mutants import MUTANT_KINDS, Mutant, MutantKind, mutants
from minions_evals_mcp.scoring.audit.probes import is_contradictory, may_never_fail, probes
from minions_evals_mcp.scoring.audit.rules import CODE, Rules, RuleVerdict, ScorePart, Trial
from minions_evals_mcp.scoring.verdicts.expected import expectation

Finding = Literal["never-fails", "never-passes", "reference-fails", "no-reference", "duplicate"]


class Passing(NamedTuple):
    """An output that passes and should not: a cheat or a mutant, and what it is."""

    kind: CheatKind | MutantKind
    text: str
    told: str
    output: Json
    tool_calls: tuple[ToolCall, ...] | None


class CheckFinding(NamedTuple):
    """The fault of one check: that no output fails it, or that none passes it."""

    finding: Finding
    check: str
    part: str


@dataclass(frozen=True, slots=True)
class Holes:
    """The findings of one case's audit.

    `cheats` are those that count and pass, `shown` those that pass by their making and do not count; `survivors` are
    mutants that pass, `looks` those that may still be right. `mutants` and `killed` count those of a right answer: mutants of
    one on record are named where they pass, and are no part of the mutation score. `by_part`: the cheats and mutants that a
    criterion lets pass.
    """

    cheats: tuple[Passing, ...] = ()
    shown: tuple[Passing, ...] = ()
    survivors: tuple[Passing, ...] = ()
    looks: tuple[Passing, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[CheckFinding, ...] = ()
    by_part: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    mutants: int = 0
    killed: int = 0
    looked_at: int = 0
    problem: str = ""
    reason: str = ""
    """What the reference lacks, where it fails its own checks."""

    def kinds(self) -> tuple[CheatKind, ...]:
        """The kinds of cheats that pass and count, the cheapest first."""
        passed = {cheat.kind for cheat in self.cheats}
        return tuple(kind for kind in CHEAT_KINDS if kind in passed)

    def survived(self) -> tuple[MutantKind, ...]:
        """The kinds of mutants that pass."""
        passed = {survivor.kind for survivor in self.survivors}
        return tuple(kind for kind in MUTANT_KINDS if kind in passed)


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """All that is tried on the rules of one case: reference, paraphrases, cheats and mutants, and probes where these do not tell."""

    asked: AuditedCase
    cheats: tuple[Cheat, ...]
    mutants: tuple[Mutant, ...]

    def trials(self) -> Iterator[Trial]:
        """The right answers, the cheats and the mutants, in the order in which `found` reads the verdicts."""
        reference = self.asked.basis
        log = () if self.asked.rules.look_at_log() else None
        if reference is not None:
            yield self._trial(reference.output, reference.tool_calls)
            yield from (self._trial(paraphrase, reference.tool_calls) for paraphrase in reference.paraphrases)
        yield from (self._trial(cheat.output, log) for cheat in self.cheats)
        yield from (self._trial(mutant.output, mutant.tool_calls) for mutant in self.mutants)

    def probing(self, verdicts: Sequence[RuleVerdict]) -> Probing | None:
        """Returns what to try besides on the checks of which the verdicts do not show that they pass some outputs and fail others."""
        rules = self.asked.rules
        left = _undecided(rules, verdicts)
        if len({verdict.passed for verdict in verdicts if verdict.passed is not None}) < 2 or not rules.parts:
            return Probing(self, rules, {})
        return Probing(self, _only(rules, left), left) if left else None

    def _trial(self, output: Json, calls: tuple[ToolCall, ...] | None) -> Trial:
        return Trial(self.asked.rules, output, calls, self.asked.inputs)


_Places = dict[tuple[int, int], int]
"""Part and number of a check, and its place among those that are tried on."""


@dataclass(frozen=True, slots=True)
class Probing:
    """Outputs of all sorts tried on the rules of a case: on all of them, or on a few checks by themselves."""

    plan: AuditPlan
    rules: Rules
    places: _Places

    def trials(self) -> Iterator[Trial]:
        """Each output, on those rules."""
        request = self.plan.asked
        tried = [*request.recorded, *probes(request.rules, request.reference)]
        return (Trial(self.rules, output, calls, request.inputs) for output, calls in tried)

    def verdicts(self, tried: Sequence[RuleVerdict]) -> list[RuleVerdict]:
        """Returns what was said, as verdicts on the rules of the case."""
        if not self.places:
            return [*tried]
        parts = self.plan.asked.rules.parts
        return [
            RuleVerdict(None, checks=tuple(
                tuple(trial.checks[0][self.places[place, number]] if (place, number) in self.places else None
                      for number in range(len(part.assertions)))
                for place, part in enumerate(parts)
            ))
            for trial in tried if trial.checks
        ]  # fmt: skip


def _undecided(rules: Rules, verdicts: Sequence[RuleVerdict]) -> _Places:
    """The checks that passed all outputs and could be blamed for it, or that passed none."""
    seen = {verdict.checks for verdict in verdicts if verdict.checks}
    left = [
        (place, number)
        for place, part in enumerate(_parts(rules))
        for number, assertion in enumerate(part.assertions)
        for outcomes in [{checks[place][number] for checks in seen if number < len(checks[place])}]
        if len(outcomes) < 2 and (outcomes != {True} or may_never_fail(assertion))
    ]
    return {where: at for at, where in enumerate(left)}


def _only(rules: Rules, places: _Places) -> Rules:
    return Rules(parts=(ScorePart("", "", tuple(rules.parts[place].assertions[number] for place, number in places)),))


def plan_of(request: AuditedCase, question: str) -> AuditPlan:
    """Returns what is to be tried on a case. `question`: what it asks for, in words."""
    rules, reference = request.rules, request.basis
    made: list[Mutant] = []
    if reference is not None:
        made = mutants(
            reference,
            question=question,
            on_text=rules.look_at_text(),
            on_log=rules.look_at_log(),
            assertions=[*rules.assertions()],
        )
    if request.reference is None:  # what else a recorded answer says need not be denied
        made = [mutant for mutant in made if mutant.kind != "negation"]
    return AuditPlan(request, tuple(cheats(request)), tuple(made))


def holes_of(plan: AuditPlan, verdicts: Sequence[RuleVerdict], *, canary: bool = False) -> Holes:
    """The holes of a case, from the verdicts on `plan.trials()`."""
    reference, basis, rules = plan.asked.reference, plan.asked.basis, plan.asked.rules
    ours = 0 if basis is None else 1 + len(basis.paraphrases)
    own, rest = verdicts[:ours], verdicts[ours:]
    cheated, rest = rest[: len(plan.cheats)], rest[len(plan.cheats) :]
    mutated, probed = rest[: len(plan.mutants)], rest[len(plan.mutants) :]
    fails = any(trial.passed is False for trial in own)
    right = bool(own) and all(trial.passed for trial in own)
    passing = [
        (cheat, Passing(cheat.kind, cheat.text, "", cheat.output, None))
        for cheat, trial in zip(plan.cheats, cheated, strict=True)
        if trial.passed
    ]
    counted = _cheapest([cheat_passed for cheat, cheat_passed in passing if counts(cheat, reference)])
    alive = [
        (mutant, trial)
        for mutant, trial in zip(plan.mutants, mutated, strict=True)
        if right and trial.passed is not None
    ]
    survivors = tuple(_survivor(mutant) for mutant, trial in alive if trial.passed and not mutant.look)
    sure = [trial for mutant, trial in alive if not mutant.look and reference is not None]
    right_answers = len(own) + len(plan.asked.recorded)
    seen = [*own, *cheated, *mutated, *probed]
    checks = () if canary else tuple(_blamed(rules, seen, known=reference is not None, right_answers=right_answers))
    findings = () if canary else _findings(plan, own, verdicts, checks, fails=fails)
    return Holes(
        cheats=counted,
        shown=_cheapest([cheat_passed for cheat, cheat_passed in passing if not counts(cheat, reference)]),
        survivors=survivors,
        looks=tuple(_survivor(mutant) for mutant, trial in alive if trial.passed and mutant.look),
        findings=findings,
        checks=checks,
        by_part=_by_part(plan, cheated, mutated) if rules.passing is not None else (),
        mutants=len(sure),
        killed=sum(not trial.passed for trial in sure),
        looked_at=sum(mutant.look for mutant, _ in alive),
        problem=next((trial.problem for trial in (*own, *cheated) if trial.passed is None), ""),
    )


def _cheapest(passing: Sequence[Passing]) -> tuple[Passing, ...]:
    """One text of each kind, the shortest of them, in the order of what a kind costs."""
    best: dict[str, Passing] = {}
    for cheat in passing:
        if cheat.kind not in best or len(cheat.text) < len(best[cheat.kind].text):
            best[cheat.kind] = cheat
    return tuple(best[kind] for kind in CHEAT_KINDS if kind in best)


def _survivor(mutant: Mutant) -> Passing:
    return Passing(mutant.kind, output_text(mutant.output), mutant.told, mutant.output, mutant.tool_calls)


def _findings(
    plan: AuditPlan, own: Sequence[RuleVerdict], verdicts: Sequence[RuleVerdict], checks: Sequence[CheckFinding], *, fails: bool
) -> tuple[Finding, ...]:  # fmt: skip
    reference, rules = plan.asked.reference, plan.asked.rules
    outcomes = [verdict.passed for verdict in verdicts if verdict.passed is not None]
    named: list[Finding] = []
    if any(check.finding == "never-fails" for check in checks) or (
        outcomes and all(outcomes) and len(outcomes) > len(own)
    ):
        named.append("never-fails")
    if any(check.finding == "never-passes" for check in checks) or (not any(outcomes) and is_contradictory(rules)):
        named.append("never-passes")
    if fails and reference is not None and (reference.given or reference.paraphrases):
        named.append("reference-fails")
    if reference is None:
        named.append("no-reference")
    return tuple(named)


def _blamed(
    rules: Rules, verdicts: Sequence[RuleVerdict], *, known: bool, right_answers: int
) -> Iterator[CheckFinding]:
    """The checks that passed everything that was tried, or nothing of it. `known`: the reference was among it.

    A check that had a verdict on no more than the `right_answers` may well fail a wrong one.
    """
    seen = [verdict.checks for verdict in verdicts if verdict.checks]
    for place, part in enumerate(_parts(rules)):
        for number, assertion in enumerate(part.assertions):
            passed_each = [checks[place][number] for checks in seen if number < len(checks[place])]
            outcomes = [passed for passed in passed_each if passed is not None]
            if len(outcomes) > right_answers and all(outcomes) and may_never_fail(assertion):
                yield CheckFinding("never-fails", described(assertion), part.title)
            elif outcomes and not any(outcomes) and _may_never_pass(assertion, known=known) and rules.passing is None:
                yield CheckFinding("never-passes", described(assertion), part.title)


def _may_never_pass(assertion: Assertion, *, known: bool) -> bool:
    if assertion.weight == 0:
        return False
    return (
        known
        or (assertion.base_type not in CODE and assertion.transform is None)
        or "output" not in str(assertion.value)
    )


def _parts(rules: Rules) -> Sequence[ScorePart]:
    if rules.parts or rules.expected is None:
        return rules.parts
    return (
        ScorePart("", "", (Assertion(type="similar") if rules.by_similarity else _expected_check(rules.expected),)),
    )


def _expected_check(expected: Json) -> Assertion:
    return expectation(next(iter(expected.values())))


def described(assertion: Assertion) -> str:
    """A check in a few words."""
    value = assertion.value
    shown = "" if value is None else f" {value!r}" if isinstance(value, str) else f" {value}"
    return f"{assertion.type}{shown if len(shown) <= 80 else shown[:77] + '...'}"


def _by_part(
    plan: AuditPlan, cheated: Sequence[RuleVerdict], mutated: Sequence[RuleVerdict]
) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Of each criterion the kinds of cheats and mutants to which it gives its full score."""
    parts: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
    for number, part in enumerate(plan.asked.rules.parts):
        let = {
            cheat.kind for cheat, trial in zip(plan.cheats, cheated, strict=True) if trial.parts and trial.parts[number]
        }
        alive = {
            mutant.kind
            for mutant, trial in zip(plan.mutants, mutated, strict=True)
            if trial.parts and trial.parts[number]
        }
        parts.append((part.id, tuple(k for k in CHEAT_KINDS if k in let), tuple(k for k in MUTANT_KINDS if k in alive)))
    return tuple(parts)

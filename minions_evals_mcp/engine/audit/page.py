"""One page of cases: what is tried on each, judged through one door, and what that shows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import ne

from pydantic import JsonValue

from minions_evals_mcp.domain.audits import CaseAudit, CheckAudit, CriterionAudit, LetThrough, Suggestion
from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.outputs import output_text, value_text
from minions_evals_mcp.engine.audit.case_rules import rules_of
from minions_evals_mcp.engine.judge.door import Judges, judge
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, Measure
from minions_evals_mcp.scoring.audit.cheats import AuditedCase
from minions_evals_mcp.scoring.audit.holes import AuditPlan, Holes, Passing, holes_of, plan_of
from minions_evals_mcp.scoring.audit.mutants import Mutant
from minions_evals_mcp.scoring.audit.references import RecordedAnswer, reference_of
from minions_evals_mcp.scoring.audit.rules import RuleVerdict, Trial
from minions_evals_mcp.scoring.audit.suggestions import REMEDIES, Proposal, Stricter, in_words, proposal_of, stricter
from minions_evals_mcp.scoring.audit.words import normal

TOGETHER = 100
"""So many cases are judged in one go: what they need of the outside is fetched once, and memory stays flat."""
NEIGHBOURS, ALIKE = 3, 8
"""So many answers to other cases are tried: the next ones, and those most alike in form."""
SHOWN = 300
LET_THROUGH = 12
_QUESTIONS = frozenset(
    {"question", "query", "message", "prompt", "input", "task", "instruction", "user", "request", "text"}
)
_SENTENCE = re.compile(r"(?<![^.!?\n])[^.!?\n]*\?")
LONG_INPUT = 60


@dataclass(slots=True, eq=False)
class Audited:
    """A case with what was tried on it and what that showed."""

    measure: Measure
    audit: CaseAudit
    holes: Holes = field(default_factory=Holes)
    plan: AuditPlan | None = None


@dataclass(slots=True, eq=False)
class Looks:
    """Sees to it that at most a tenth of a suite's mutants are ones that may still be right."""

    mutants: int = 0
    looks: int = 0

    def without_surplus(self, made: Sequence[Mutant]) -> tuple[Mutant, ...]:
        """The mutants without those for a person to look at that would be too many."""
        self.mutants += sum(not mutant.look for mutant in made)
        mutants: list[Mutant] = []
        for mutant in made:
            if mutant.look:
                if 10 * (self.looks + 1) > self.mutants + self.looks + 1:
                    continue
                self.looks += 1
            mutants.append(mutant)
        return tuple(mutants)


async def audit_page(
    measures: Sequence[Measure],
    judges: Judges,
    *,
    recorded: Mapping[str, Sequence[RecordedAnswer]],
    suggest: bool,
    embeds: bool,
    looks: Looks,
) -> list[Audited]:
    """The holes of each case, with what would close them. `recorded` are answers on record, by case."""
    plans = _plans(measures, recorded, embeds=embeds, looks=looks)
    holes = await _holes(measures, plans, judges)
    suggested = await _suggestions(measures, plans, holes, judges) if suggest else [None] * len(plans)
    return [
        Audited(measure, _case_audit(measure, plan, hole, suggestion), hole, plan)
        for measure, plan, hole, suggestion in zip(measures, plans, holes, suggested, strict=True)
    ]


def _plans(
    measures: Sequence[Measure], recorded: Mapping[str, Sequence[RecordedAnswer]], *, embeds: bool, looks: Looks
) -> list[AuditPlan]:
    cases = [measure.case.fields for measure in measures]
    rules = [rules_of(measure, embeds=embeds) for measure in measures]
    references = [
        reference_of(case, ruled_by, recorded.get(measure.case.id, ()))
        for case, ruled_by, measure in zip(cases, rules, measures, strict=True)
    ]
    answers = [None if reference is None else reference.output for reference in references]
    shapes = [_shape("" if answer is None else output_text(answer)) for answer in answers]
    pasted = list(dict.fromkeys(output_text(answer) for answer in answers if answer is not None))
    plans = (
        plan_of(
            AuditedCase(
                case.inputs,
                case_rules,
                reference,
                _others(number, answers, shapes),
                pasted,
                recorded.get(measure.case.id, ()),
            ),
            question_of(case.inputs),
        )
        for number, (case, case_rules, reference, measure) in enumerate(
            zip(cases, rules, references, measures, strict=True)
        )
    )
    return [replace(plan, mutants=looks.without_surplus(plan.mutants)) for plan in plans]


def question_of(inputs: Json) -> str:
    """Returns what a case asks for in words, without the material that it gives."""
    if len(inputs) > 1:
        return "\n".join(value_text(value) for key, value in inputs.items() if key.casefold() in _QUESTIONS)
    text = "\n".join(map(value_text, inputs.values()))
    return text if len(text.split()) <= LONG_INPUT else " ".join(_SENTENCE.findall(text))


def _others(number: int, answers: Sequence[Json | None], shapes: Sequence[Shape]) -> list[Json]:
    """Answers to other cases of the page: the next ones, and those that look the most like this one's."""
    places = [(number + step) % len(answers) for step in range(1, len(answers))]
    there = [place for place in places if answers[place] is not None]
    own = shapes[number]
    nearest = sorted(there, key=lambda place: sum(map(ne, shapes[place], own)))
    chosen: dict[str, Json] = {}
    for place in (*there[:NEIGHBOURS], *nearest[:ALIKE]):
        answer = answers[place]
        assert answer is not None, "only places with an answer are looked at"
        chosen.setdefault(normal(output_text(answer)), answer)
    return list(chosen.values())


Shape = tuple[object, ...]
"""What an answer looks like: answers of the same form differ in none of its parts."""


def _shape(text: str) -> Shape:
    parts = text.split()
    return (
        text.lstrip()[:1] in {"{", "["}, any(sign.isdigit() for sign in text), min(5, len(parts).bit_length()), text[:1].isupper(),
        text[:1].isdigit(), parts[0].casefold() if parts else "", text[-1:].isalnum(),
    )  # fmt: skip


async def _holes(measures: Sequence[Measure], plans: Sequence[AuditPlan], judges: Judges) -> list[Holes]:
    trials_made = await _tried([[] if plan.asked.rules.is_empty else list(plan.trials()) for plan in plans], judges)
    probing = [plan.probing(verdicts) if verdicts else None for plan, verdicts in zip(plans, trials_made, strict=True)]
    probed = await _tried([[] if plan is None else list(plan.trials()) for plan in probing], judges)
    return [
        holes_of(plan, [*verdicts, *(probe.verdicts(more) if probe else ())], canary=measure.case.fields.canary)
        if verdicts
        else Holes()
        for measure, plan, verdicts, probe, more in zip(measures, plans, trials_made, probing, probed, strict=True)
    ]


async def _tried(trials: Sequence[Sequence[Trial]], judges: Judges) -> list[list[RuleVerdict]]:
    """The verdicts on the trials of each case, judged in one go."""
    verdicts = iter(await judge([trial for several in trials for trial in several], judges))
    return [[next(verdicts) for _ in several] for several in trials]


async def _suggestions(
    measures: Sequence[Measure], plans: Sequence[AuditPlan], holes: Sequence[Holes], judges: Judges
) -> list[Suggestion | str | None]:
    """Returns what closes the holes of each case that has some, tried before it is told; else why there is nothing to suggest."""
    proposed = [_proposed(measure, plan, hole) for measure, plan, hole in zip(measures, plans, holes, strict=True)]
    tried = await _tried(
        [list(proposal.trials()) if isinstance(proposal, Proposal) else [] for proposal in proposed], judges
    )
    return [
        _suggestion(proposal, stricter(proposal, verdicts)) if isinstance(proposal, Proposal) else proposal
        for proposal, verdicts in zip(proposed, tried, strict=True)
    ]


def _proposed(measure: Measure, plan: AuditPlan, hole: Holes) -> Proposal | str | None:
    wrong = (*hole.cheats, *hole.survivors)
    if measure.case.fields.canary or not (wrong or hole.findings):
        return None
    if not wrong:
        return next(REMEDIES[finding] for finding in hole.findings)
    own, threshold = (), None
    if isinstance(measure.yardstick, ByAssertions):
        own, threshold = measure.yardstick.assertions, measure.yardstick.threshold
    return proposal_of(plan.asked, own, threshold, wrong)


def _suggestion(proposal: Proposal, better: Stricter | str) -> Suggestion | str:
    if isinstance(better, str):
        return better
    return Suggestion(
        assertions=tuple(_wire(assertion.model_dump(mode="json")) for assertion in better.assertions),
        added=tuple(_wire(assertion.model_dump(mode="json")) for assertion in better.added),
        closes=better.closes,
        open=better.open,
        replaces="rubricId" if proposal.replaces else None,
        in_words=in_words(better),
    )


def _wire(dumped: Json) -> Json:
    """An assertion as a person writes it: without what is as it is by default."""
    return {key: value for key, value in dumped.items() if value is not None and (key, value) != ("weight", 1.0)}


def _case_audit(measure: Measure, plan: AuditPlan, holes: Holes, suggestion: Suggestion | str | None) -> CaseAudit:
    rules = plan.asked.rules
    let = [
        *((seen, True) for seen in (*holes.cheats, *holes.survivors)),
        *((seen, False) for seen in (*holes.shown, *holes.looks)),
    ]
    findings = () if measure.case.fields.canary else holes.findings
    if rules.is_empty and plan.asked.reference is None and not measure.case.fields.canary:
        findings = ("no-reference",)
        suggestion = REMEDIES["no-reference"]
    return CaseAudit(
        test_case_id=measure.case.id,
        cheats_passed=holes.kinds(),
        mutants_survived=holes.survived(),
        findings=findings,
        suggestion=suggestion if isinstance(suggestion, Suggestion) else None,
        unsuggested=suggestion if isinstance(suggestion, str) else "",
        cheats_shown=tuple(dict.fromkeys(cheat.kind for cheat in holes.shown)),
        mutants_to_look=tuple(dict.fromkeys(passing.kind for passing in holes.looks)),
        let_through=tuple(_let_through(cheat, counted=counted) for cheat, counted in let[:LET_THROUGH]),
        checks=tuple(
            CheckAudit(finding=check.finding, check=check.check, criterion_id=check.part or None)
            for check in holes.checks
        ),
        criteria=tuple(
            CriterionAudit(criterion_id=ident, cheats_passed=cheats, mutants_survived=mutants)
            for ident, cheats, mutants in holes.by_part
        ),
        canary=measure.case.fields.canary,
        not_audited=_not_audited(rules.left_out, holes),
    )


def _not_audited(left_out: Sequence[str], holes: Holes) -> str:
    reasons = [f"also judged by {other}" for other in left_out]
    return "; ".join([*reasons, *([holes.problem] if holes.problem else [])])


def _let_through(passing: Passing, *, counted: bool) -> LetThrough:
    text = passing.text if len(passing.text) <= SHOWN else f"{passing.text[: SHOWN - 1]}…"
    return LetThrough(kind=passing.kind, text=text, told=passing.told, counted=counted)


def sameness(case: TestCase) -> str:
    """Equal for cases that ask the same and expect or check the same: the second measures nothing."""
    texts = [normal(value_text(value)) for value in case.inputs.values()]
    named = [] if any(texts) else [case.name, case.description]
    checks = [assertion.model_dump(mode="json") for assertion in case.checks]
    expected: Json | None = case.expected_outputs and {
        key: normal(value_text(value)) for key, value in case.expected_outputs.items()
    }
    about: list[JsonValue] = [
        [*sorted(texts)],
        [*named],
        expected,
        [] if expected else [*checks],
        "" if expected else case.rubric_id,
    ]
    return digest(about)

"""An audit in plain words: the figures first, then the cases with holes, the worst first."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from minions_evals_mcp.domain.audits import Audit, CaseAudit, LetThrough
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.answers.audited_checks import AuditedChecks, WeakCase
from minions_evals_mcp.report.next_command import run_command
from minions_evals_mcp.report.plain import printable

WORDS = {
    "empty": "an empty answer", "echo": "its own input", "refusal": "a refusal", "fixed": "a fixed sentence",
    "paste-all": "all answers concatenated", "other-case": "another case's answer", "keywords": "the checks' keywords",
    "shortest": "a fragment", "injection": "an instruction to the judge", "negation": "the contrary",
    "number": "another number", "date": "another date", "name": "another name", "step": "a missing step",
    "argument": "another tool argument",
}  # fmt: skip
FINDINGS = {
    "never-fails": "a check that never fails", "never-passes": "a check that never passes",
    "reference-fails": "its expected answer does not pass its own checks",
    "no-reference": "no expected answer to make mutants of", "duplicate": "duplicates another case",
}  # fmt: skip
FIXED_SUITE = "fixed.yaml"
"""The suite that stored cases with the suggested checks are written to."""
TEXTS = 2
NAMED = 3
"""So many of the cases with the same holes are named."""


def percent(share: float | None) -> str:
    """A share as whole percents; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.0f} %"


def verdict_line(audit: Audit) -> str:
    """The figures in one sentence."""
    mutation = (
        "no case has a reference to mutate"
        if audit.mutation_score is None
        else f"mutation score {percent(audit.mutation_score)} ({audit.killed_count} of {audit.mutant_count} mutants fail)"
    )
    return (
        f"{printable(audit.subject, 200)}: cheats pass {audit.cheated_count} of {audit.case_count} cases"
        f" ({percent(audit.cheat_pass_rate)}); {mutation}.{_by_others(audit)}"
    )


def _by_others(audit: Audit) -> str:
    """Returns what the figures leave out: a case that only a model or a person judges passes no cheat by rule."""
    if not audit.not_audited_count or audit.with_judge is not None:
        return ""
    cases = f"{audit.not_audited_count} of {audit.case_count}"
    return f" Of these, {cases} also have checks that are not rules. Only their rules were tried."


def next_command(audit: Audit, file: Path | None, target: str | None) -> str:
    """The command that follows: what closes the holes where there are any, else a run with those checks."""
    named = shlex.quote(audit.subject if file is None else str(file))
    if audit.cheated_count or audit.by_kind or audit.findings:
        return f"audit {named} --fix {FIXED_SUITE if file is None else 'audit.diff'}"
    if file is not None:
        return f"{'eval' if audit.kind == 'config' else 'import'} {named}"
    return run_command(audit.subject, target=target)


def audit_lines(
    audit: Audit, *, limit: int, names: Mapping[str, str] | None = None, following: str = ""
) -> Iterator[str]:
    """The audit for a terminal, with the line `following` behind its figures; at most `limit` cases, by their names."""
    yield verdict_line(audit)
    if following:
        yield following
    if audit.by_kind:
        yield "Wrong answers that pass: " + ", ".join(
            f"{WORDS.get(kind, kind)} ({_cases(count)})" for kind, count in _most(audit.by_kind)
        )
    if audit.findings:
        yield "Findings: " + ", ".join(
            f"{FINDINGS.get(kind, kind)} ({_cases(count)})" for kind, count in _most(audit.findings)
        )
    if audit.look_count:
        number = audit.look_count
        are = "mutant may still be correct and is" if number == 1 else "mutants may still be correct and are"
        yield f"{number} {are} not counted."
    if audit.judge_error_count:
        cases = "1 case" if audit.judge_error_count == 1 else f"{audit.judge_error_count} cases"
        yield f"{cases} could not be audited with the judge: {printable(audit.judge_problem, 300)}"
    elif audit.with_judge is not None:
        yield f"{printable(audit.with_judge, 120)} judged the cheats in the cases it judges. Mutants were tried by rules only."
    groups = alike(audit.cases)
    for group in groups[:limit]:
        yield from case_lines(*group, names=names or {})
    hidden = sum(len(group) for group in groups[limit:])
    if hidden:
        yield f"… and {hidden} more cases; --limit and --json show them."


def _cases(count: int) -> str:
    return f"{count} {'case' if count == 1 else 'cases'}"


def _most(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: -pair[1])


def alike(cases: Sequence[CaseAudit]) -> list[list[CaseAudit]]:
    """The cases with the same holes, faults and remedy together, in the order of the first of each."""
    groups: dict[tuple[object, ...], list[CaseAudit]] = {}
    for case in cases:
        holes = (*case.cheats_passed, *case.mutants_survived)
        faults = (*case.findings, case.duplicate_of, *((check.finding, check.check) for check in case.checks))
        groups.setdefault((holes, faults, remedy_of(case)), []).append(case)
    return list(groups.values())


def case_lines(case: CaseAudit, *others: CaseAudit, names: Mapping[str, str]) -> Iterator[str]:
    """One case and those like it: what passes and should not, what is wrong with the checks, and what would close the holes."""
    kinds = [*(WORDS.get(kind, kind) for kind in (*case.cheats_passed, *case.mutants_survived))]
    passes = f"passes {', '.join(kinds)}" if kinds else "every wrong answer fails"
    idents = [one.test_case_id for one in (case, *others)]
    yield f"  {first_named([printable(names.get(ident, ident), 128) for ident in idents], NAMED)}: {passes}"
    for finding in case.findings:
        more = f" ({case.duplicate_of})" if finding == "duplicate" and case.duplicate_of else ""
        yield f"      {FINDINGS.get(finding, finding)}{more}"
    for check in case.checks:
        yield f"      {check.finding}: {printable(check.check, 160)}"
    for cheat in [cheat for cheat in case.let_through if cheat.counted][:TEXTS]:
        yield f"      passes: {_text(cheat)}"
    remedy = remedy_of(case)
    if remedy:
        yield f"      → {printable(remedy, 400)}"


def remedy_of(case: CaseAudit) -> str:
    """Returns what would close the case's holes, else what to do and why no check is suggested."""
    return case.unsuggested if case.suggestion is None else case.suggestion.in_words


def _text(cheat: LetThrough) -> str:
    shown = printable(cheat.text, 100) or "(nothing)"
    return f"“{shown}”" + (f" ({printable(cheat.told, 100)})" if cheat.told else "")


def nothing_suggested(cases: Sequence[CaseAudit]) -> str:
    """That no check is suggested, and why: what is said of most of the cases."""
    why = Counter(case.unsuggested for case in cases if case.unsuggested).most_common(1)
    return f"no suggestion. {why[0][0]}" if why else "no suggestion needed: no wrong answer passes"


def by_hand_lines(cases: Sequence[CaseAudit]) -> Iterator[str]:
    """Yields what is suggested for a config: a test's assertions may come out of its defaults, templates or other files."""
    if not any(case.suggestion is not None for case in cases):
        yield nothing_suggested(cases)
        return
    yield "No diff is written for a config. Replace a test's `assert` with:"
    for case in cases:
        if case.suggestion is not None:
            passing = next((cheat.text for cheat in case.let_through if cheat.counted), "")
            suggestion = printable(case.suggestion.in_words, 400)
            yield f"  {printable(case.test_case_id, 128)}, which “{printable(passing, 80)}” passes: {suggestion}"
            yield "    assert: " + printable(json.dumps([*case.suggestion.assertions], ensure_ascii=False), 4_000)


def figures_line(checks: AuditedChecks) -> str:
    """The rates of the audit that a run's checks stand by."""
    mutants = "" if checks.mutation_score is None else f"; {percent(checks.mutation_score)} of mutants fail"
    return f"Cheats pass {percent(checks.cheat_pass_rate)} of {checks.case_count} audited cases{mutants}."


def weak_words(case: WeakCase) -> str:
    """Returns what passes a case and should not, the cheapest cheat with its text, and what else is wrong with its checks."""
    words_shown: list[str] = []
    if case.cheapest_cheat is not None:
        text = f" (“{printable(case.text, 100)}”)" if case.text.strip() else ""
        words_shown.append(f"{WORDS.get(case.cheapest_cheat, case.cheapest_cheat)} passes{text}")
    if case.mutants_survived:
        words_shown.append(f"still passes with {', '.join(WORDS.get(kind, kind) for kind in case.mutants_survived)}")
    words_shown += [FINDINGS.get(finding, finding) for finding in case.findings]
    return "; ".join(words_shown)


def case_json(audit: CaseAudit) -> Json:
    """One case's audit; what there is nothing to say of is left out beyond what every case has."""
    wire = audit.model_dump(mode="json")
    always = {"testCaseId", "cheatsPassed", "mutantsSurvived", "findings", "suggestion"}
    return {key: value for key, value in wire.items() if key in always or value not in (None, "", [], {})}

"""The audit that a run's checks stand by, as far as a report shows it: the rates, and the worst of the benchmark's cases."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.audits import Audit, CaseAudit
from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units

WORST = 5
"""So many cases that wrong answers pass are shown."""


class WeakCase(Value):
    """A case that wrong answers pass: the cheapest cheat with its text, the mutants that survive, and what would close the hole."""

    test_case_id: str
    title: str
    cheapest_cheat: str | None
    text: str
    mutants_survived: Annotated[tuple[str, ...], Field(strict=False)]
    findings: Annotated[tuple[str, ...], Field(strict=False)]
    suggestion: str


class AuditedChecks(Value):
    """The findings of the newest audit of exactly these checks; `worst` are at most five of its cases."""

    cheat_pass_rate: float | None
    mutation_score: float | None
    case_count: int
    worst: tuple[WeakCase, ...]


def audited_checks(db: Db, run: RunSummary) -> AuditedChecks | None:
    """The audit that the run's checks stand by, with the worst of the benchmark's own cases."""
    audit = None if run.audit is None or run.audit.audit_id is None else records.get(db, run.audit.audit_id, Audit)
    benchmark = records.get(db, run.subject_id, Benchmark)
    if audit is None or benchmark is None:
        return None
    own = set(benchmark.fields.test_case_ids)
    worst = [case for case in audit.fields.cases if case.test_case_id in own and not case.is_sound][:WORST]
    titles = report_units.titles(db, [case.test_case_id for case in worst])
    return AuditedChecks(
        cheat_pass_rate=audit.fields.cheat_pass_rate,
        mutation_score=audit.fields.mutation_score,
        case_count=audit.fields.case_count,
        worst=tuple(_weak(case, titles.get(case.test_case_id, case.test_case_id)) for case in worst),
    )


def _weak(case: CaseAudit, title: str) -> WeakCase:
    cheapest = next(iter(case.cheats_passed), None)
    return WeakCase(
        test_case_id=case.test_case_id,
        title=title,
        cheapest_cheat=cheapest,
        text=next((cheat.text for cheat in case.let_through if cheat.counted and cheat.kind == cheapest), ""),
        mutants_survived=case.mutants_survived,
        findings=case.findings,
        suggestion=case.unsuggested if case.suggestion is None else case.suggestion.in_words,
    )

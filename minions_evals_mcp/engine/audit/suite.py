"""The audit of a suite, page by page: each case's holes as they are found, then the figures of all of them as a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from minions_evals_mcp.domain.audits import Audit, CaseAudit
from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.embedding.local import is_local
from minions_evals_mcp.engine.audit.model_judged import ModelAudit
from minions_evals_mcp.engine.audit.page import TOGETHER, Audited, Looks, audit_page, sameness
from minions_evals_mcp.engine.audit.passed_before import with_passed_before
from minions_evals_mcp.engine.audit_standing.standing import suite_digest
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.door import judges_of
from minions_evals_mcp.engine.judge.yardstick import Measure, measures
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import list_them
from minions_evals_mcp.scoring.audit.references import RecordedAnswer
from minions_evals_mcp.scoring.audit.suggestions import REMEDIES
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import records, seals
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries.audits import recorded_answers
from minions_evals_mcp.store.rows import insert

KEPT = 200
"""So many cases with holes are kept with an audit; all are counted."""
Each = Callable[[CaseAudit], None]
SubjectKind = Literal["benchmark", "suite", "config"]


@dataclass(frozen=True, slots=True)
class AuditSubject:
    """The subject of an audit: a benchmark, or the cases of a file. `benchmarks` are those that the file brings, with their cases."""

    name: str
    kind: SubjectKind
    case_ids: tuple[str, ...]
    benchmarks: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@dataclass(slots=True, eq=False)
class AuditTally:
    """The sums of the audit so far."""

    cases: int = 0
    cheated: int = 0
    mutants: int = 0
    killed: int = 0
    looks: int = 0
    not_audited: int = 0
    by_kind: Counter[str] = field(default_factory=Counter[str])
    findings: Counter[str] = field(default_factory=Counter[str])
    digests: dict[str, tuple[str, str | None]] = field(default_factory=dict[str, tuple[str, str | None]])
    seen: dict[str, str] = field(default_factory=dict[str, str])
    worst: list[CaseAudit] = field(default_factory=list[CaseAudit])

    def took(self, audited: Audited) -> CaseAudit:
        """The case's audit, marked where an earlier case asks and checks the same."""
        measure, audit = audited.measure, audited.audit
        self.digests[measure.case.id] = (measure.case_digest(), measure.rubric_digest())
        first = self.seen.setdefault(sameness(measure.case.fields), measure.case.id)
        if first != measure.case.id:
            more: dict[str, object] = {"findings": (*audit.findings, "duplicate"), "duplicate_of": first}
            if audit.suggestion is None and not audit.unsuggested:
                more["unsuggested"] = REMEDIES["duplicate"]
            audit = audit.model_copy(update=more)
        self.cases += 1
        self.cheated += bool(audit.cheats_passed)
        self.mutants += audited.holes.mutants
        self.killed += audited.holes.killed
        self.looks += audited.holes.looked_at
        self.not_audited += bool(audit.not_audited)
        self.by_kind.update((*audit.cheats_passed, *audit.mutants_survived))
        self.findings.update(audit.findings)
        if not audit.is_sound and len(self.worst) < KEPT:
            self.worst.append(audit)
        return audit

    def digest_of(self, case_ids: Sequence[str]) -> str:
        """The digest of those cases with their rubrics."""
        held = [self.digests[ident] for ident in case_ids if ident in self.digests]
        return suite_digest([case for case, _ in held], [rubric for _, rubric in held])


async def subject_of(engine: Engine, ident: str) -> AuditSubject:
    """The benchmark under that id as the subject of an audit; raises `NotFoundError`."""
    record = await engine.store.read(lambda db: records.minion(db, ident))
    if record is None or not isinstance(record.fields, Benchmark) or record.deleted_at is not None:
        raise NotFoundError("benchmark", ident, remedy=f"{list_them('benchmark')} A suite file works, too.")
    case_ids = record.fields.test_case_ids
    return AuditSubject(ident, "benchmark", case_ids, {ident: case_ids})


async def audit_suite(
    engine: Engine,
    subject: AuditSubject,
    *,
    each: Each | None = None,
    suggest: bool = True,
    model: ModelAudit | None = None,
) -> Record[Audit]:
    """The audit of a suite as a record, which is not kept yet; `each` is told of every case in order.

    Nothing is written, and nothing is asked of a model but of `model`. Raises `BadInputError` where no case is active.
    """
    tally = AuditTally()
    looks = Looks()
    embeds = is_local(engine.embedder().name)
    judges = judges_of(engine, apart=True)
    async for page, answers in _pages(engine, subject.case_ids):
        tried = await audit_page(page, judges, recorded=answers, suggest=suggest, embeds=embeds, looks=looks)
        for audited in await with_passed_before(engine, tried, judges):
            audit = tally.took(audited if model is None else await model.also(audited))
            if each is not None:
                each(audit)
    if not tally.cases:
        raise BadInputError(
            f"{subject.name} has no active test case that is not sealed.",
            remedy="Set some to active. Audit a benchmark before you seal it.",
        )
    return audit_record(engine, subject, tally, model)


def audit_record(
    engine: Engine, subject: AuditSubject, tally: AuditTally, model: ModelAudit | None = None
) -> Record[Audit]:  # fmt: skip
    """The record of an audit."""
    at = engine.clock()
    fields = Audit(
        subject=subject.name,
        kind=subject.kind,
        digest=tally.digest_of(subject.case_ids),
        cheat_pass_rate=tally.cheated / tally.cases,
        mutation_score=tally.killed / tally.mutants if tally.mutants else None,
        case_count=tally.cases,
        cheated_count=tally.cheated,
        mutant_count=tally.mutants,
        killed_count=tally.killed,
        look_count=tally.looks,
        not_audited_count=tally.not_audited,
        by_kind=dict(tally.by_kind),
        findings=dict(tally.findings),
        with_judge=None if model is None else model.name,
        judge_error_count=0 if model is None else model.errors,
        judge_problem="" if model is None else model.problem,
        spent_usd=0.0 if model is None else model.budget.spent_usd,
        covers={ident: tally.digest_of(cases) for ident, cases in subject.benchmarks.items()},
        cases=tuple(sorted(tally.worst, key=_badness)),
        audited_at=at,
    )
    rate = fields.cheat_pass_rate or 0.0
    return Record(engine.new_id(), fields, f"{subject.name}: cheats pass {100 * rate:.0f} % of cases", at, at)


def _badness(audit: CaseAudit) -> tuple[int, int]:
    return (-len(audit.cheats_passed), -len(audit.mutants_survived) - len(audit.findings))


async def keep_audit(engine: Engine, record: Record[Audit]) -> None:
    """Writes an audit down, with its event."""

    def write(db: Db) -> None:
        insert(db, record)
        fields = record.fields
        wire = {
            "subject": fields.subject,
            "cheatPassRate": fields.cheat_pass_rate,
            "mutationScore": fields.mutation_score,
        }
        append(db, Event("suite-audited", Audit.slug, record.id, {**wire}), at=record.created_at)

    await engine.store.write(write)


_Answers = dict[str, list[RecordedAnswer]]


async def _pages(engine: Engine, case_ids: Sequence[str]) -> AsyncIterator[tuple[list[Measure], _Answers]]:
    """The active cases a page at a time, with what runs on record answered."""
    rubrics: dict[str, RubricInUse] = {}
    for at in range(0, len(case_ids), TOGETHER):
        part = case_ids[at : at + TOGETHER]
        page, answers = await engine.store.read(partial(_read, part=part, rubrics=rubrics))
        if page:
            yield page, answers


def _read(db: Db, *, part: Sequence[str], rubrics: dict[str, RubricInUse]) -> tuple[list[Measure], _Answers]:
    hidden = seals.sealed_among(db, part)
    page = [
        measure
        for measure in measures(db, [ident for ident in part if ident not in hidden], rubrics)
        if measure.case.deleted_at is None and measure.case.fields.status == "active"
    ]
    return page, {
        measure.case.id: recorded_answers(db, measure.case.fields.inputs)
        for measure in page
        if measure.case.fields.inputs
    }

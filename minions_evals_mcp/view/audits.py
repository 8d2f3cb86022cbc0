"""The page of a benchmark's audit: which wrong answers its checks let pass, as the newest audit found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from minions_evals_mcp.domain.audits import CaseAudit
from minions_evals_mcp.engine.audit.suite import subject_of
from minions_evals_mcp.engine.audit_standing.standing import standing_now
from minions_evals_mcp.report.audits import FINDINGS, WORDS, remedy_of, verdict_line
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.audits import newest_audit
from minions_evals_mcp.view.parameters import engine_of, required
from minions_evals_mcp.view.rendering import rendered


async def audit(request: Request) -> Response:
    """Returns what the newest audit of the benchmark found, and whether its cases were changed since."""
    engine, ident = engine_of(request), required(request, "id")
    await subject_of(engine, ident)
    record = await engine.store.read(lambda db: newest_audit(db, ident))
    standing = await standing_now(engine, ident)
    named = [ident, *(() if record is None else (case.test_case_id for case in record.fields.cases))]
    titles = await engine.store.read(partial(report_units.titles, idents=named))
    title = titles.get(ident, ident)
    answer = standing.sentence if record is None else verdict_line(record.fields.model_copy(update={"subject": title}))
    return rendered(
        "audit",
        ident=ident,
        title=title,
        titles=titles,
        groups=() if record is None else _alike(record.fields.cases),
        record=record,
        standing=standing,
        answer=answer,
        words_of=WORDS,
        findings=FINDINGS,
        remedy_of=remedy_of,
        store=engine.config.named_db,
    )


def _alike(cases: Sequence[CaseAudit]) -> list[list[CaseAudit]]:
    """The cases with the same holes and the same remedy together, in the order of the first of each."""
    groups: dict[tuple[object, ...], list[CaseAudit]] = {}
    for case in cases:
        holes = (*case.cheats_passed, *case.mutants_survived)
        groups.setdefault((holes, tuple(case.findings), remedy_of(case)), []).append(case)
    return list(groups.values())

"""The page of a benchmark's audit: which wrong answers its checks let pass, as the newest audit found."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from minions_evals_mcp.engine.audit.suite import subject_of
from minions_evals_mcp.engine.audit_standing.standing import standing_now
from minions_evals_mcp.report.audits import FINDINGS, WORDS, alike, remedy_of, verdict_line
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
        groups=() if record is None else alike(record.fields.cases),
        record=record,
        standing=standing,
        answer=answer,
        words_of=WORDS,
        findings=FINDINGS,
        remedy_of=remedy_of,
        store=engine.config.named_db,
    )

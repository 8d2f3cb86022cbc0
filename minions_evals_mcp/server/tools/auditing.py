"""The tool that tries what a benchmark's checks let pass."""

from __future__ import annotations

from mcp_types import CallToolResult

from minions_evals_mcp.operations import audit
from minions_evals_mcp.report.audits import case_json, verdict_line
from minions_evals_mcp.server.answers.sizes import Pages, Shape, answered, cursor_of
from minions_evals_mcp.server.edge.derived import Browsed
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.analysis import AuditAnswer


async def audit_benchmark(call: Call, arguments: Browsed) -> CallToolResult:
    """The audit of a benchmark by its rules, kept as a record; the cases with holes a page at a time."""
    record = await audit.run(call.engine, arguments.request(audit.Request))
    offset = cursor_of(arguments.cursor)
    cases = [case_json(case) for case in record.fields.cases[offset:]]
    answer = AuditAnswer.of(record.fields, summary=verdict_line(record.fields), audit_id=record.id, cases=cases)
    return answered(answer, shape=Shape(arguments.detail, offset=offset), pages=Pages(("cases",)))

"""The chart that stands beside an answer: a benchmark's history, and the means of its newest run's criteria."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers.report_data import find_subject, read_report
from minions_evals_mcp.engine.answers.report_values import Report
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.report.charts.trend import trend_chart

POINTS = 30
"""So many of the newest runs are drawn: a chart stays within what a host takes as one answer."""
CRITERIA = 12


async def drawing(engine: Engine, answer_wire: Json) -> Json | None:
    """Returns what the page needs beside the answer; None where the answer is of no concluded benchmark-run."""
    run = answer_wire.get("benchmarkRun")
    subject = (
        str(run.get("id") or answer_wire.get("runId"))
        if isinstance(run, dict)
        else answer_wire.get("benchmarkId")
        if "points" in answer_wire
        else None
    )
    if not isinstance(subject, str):
        return None
    report = await read_report(engine, await find_subject(engine, subject))
    wire: Json = {"criteria": [criterion.model_dump(mode="json") for criterion in report.criteria[:CRITERIA]]}
    if len(report.history) > 1:
        wire |= _chart(report)
    return wire


def _chart(report: Report) -> Json:
    points = report.history[-POINTS:]
    label = f"Score over the last {len(points)} runs; bars are 95 % intervals"
    return {"label": label, "svg": trend_chart(points, threshold=report.run.threshold, label=label)}

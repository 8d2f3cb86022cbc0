"""Tools that explain and look back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time

import anyio
from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import Record, wire_fields
from minions_evals_mcp.domain.results import EvalFailure
from minions_evals_mcp.engine.answers.failure_causes import read_causes
from minions_evals_mcp.engine.answers.trend_summary import TrendSummary, summarize_trend
from minions_evals_mcp.engine.answers.what_changed import what_changed
from minions_evals_mcp.engine.cases.promote import promote_failure as promote
from minions_evals_mcp.engine.failures.classify_failure import classify_failure as classify
from minions_evals_mcp.engine.failures.classify_failure import estimate_classification, failed_run_ids
from minions_evals_mcp.engine.failures.explain_failure import ALLOW, Explainer, explainer
from minions_evals_mcp.errors import StoppedError, UnsupportedError
from minions_evals_mcp.presentation.verdict_words import trend_heading
from minions_evals_mcp.server.answers.sizes import Pages, Shape, answered, cursor_of
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.analysis import (
    ClassifyFailure,
    DetectTrend,
    FailuresAnswer,
    PromotedAnswer,
    PromoteFailure,
    TrendAnswer,
)

SHORT = 12
"""So many points fit a short answer."""


async def classify_failure(call: Call, arguments: ClassifyFailure) -> CallToolResult:
    """The failures of that test-run or run analysed anew, as many as fit the page and the wait."""
    if arguments.ask_model and not call.engine.config.explain:
        raise UnsupportedError(
            "the operator of this server does not allow a model to be asked.",
            remedy=f"Leave askModel out, or ask the operator: {ALLOW}",
        )
    by = explainer(call.engine, allowed=arguments.ask_model, max_cost_usd=arguments.max_cost_usd)
    idents = await failed_run_ids(call.engine, arguments.id)
    offset = cursor_of(arguments.cursor)
    wanted = idents[offset : offset + arguments.limit]
    if arguments.dry_run:
        return await _estimated(call, arguments, wanted, by)
    done, why = await _explained(call, wanted, by, seconds=arguments.wait_seconds)
    answer = FailuresAnswer(
        summary=f"{len(done)} of {len(idents)} failures of {arguments.id} analysed{why}",
        causes=[] if offset else (await read_causes(call.engine, arguments.id))[: arguments.limit],
        failures=[_failure(failure) for failure in done],
        spent=by.budget.news() or None,
    )
    more = offset + len(done) < len(idents)
    return answered(answer, shape=Shape(arguments.detail, offset=offset), pages=Pages(("failures",), more))


async def _explained(
    call: Call, wanted: Sequence[str], by: Explainer, *, seconds: float
) -> tuple[list[Record[EvalFailure]], str]:
    """As many as the wait and the cap allow, and which of the two ended it early."""
    done: list[Record[EvalFailure]] = []
    with anyio.move_on_after(seconds):
        for ident in wanted:
            try:
                done.append(await classify(call.engine, ident, by=by))
            except StoppedError as error:
                return done, f"; {in_tools(error.text)}"
            await call.report_progress(len(done), len(wanted), None)
        return done, ""
    return done, ", the wait is over"


async def _estimated(call: Call, arguments: ClassifyFailure, wanted: Sequence[str], by: Explainer) -> CallToolResult:
    """Returns what the same call without dryRun would cost."""
    estimate = await estimate_classification(call.engine, wanted, by)
    cost = "of unknown price" if estimate.cost_usd is None else f"at most {estimate.cost_usd:.4f} USD"
    sentence = f"dry run: {estimate.failures} failures of {arguments.id}, {estimate.model_calls} model calls, {cost}"
    return answered(FailuresAnswer(summary=sentence, estimate=estimate))


def _failure(record: Record[EvalFailure]) -> Json:
    return {"id": record.id, **wire_fields(record.fields)}


async def promote_failure(call: Call, arguments: PromoteFailure) -> CallToolResult:
    """The test case that was made of the failure."""
    promotion = await promote(
        call.engine, arguments.id, corrected=arguments.corrected, why=arguments.why, into=arguments.into
    )
    checks = len(promotion.assertions)
    sentence = (
        f"{promotion.test_case_id}: {promotion.status}, {checks} check{'s' * (checks != 1)} that the output fails"
    )
    if promotion.benchmark_id is None:
        sentence += "; in no benchmark: promote it again with into to have it run with one"
    if promotion.asked_before:
        sentence += f"; the same is asked by {', '.join(promotion.asked_before)}"
    return answered(PromotedAnswer.of(promotion, summary=sentence))


async def detect_trend(call: Call, arguments: DetectTrend) -> CallToolResult:
    """The trend of a benchmark with its newest points."""
    trend = trend_answer(await summarize_trend(call.engine, arguments.benchmark_id, limit=arguments.limit))
    if arguments.what_changed or arguments.since is not None:
        trend = await _with_changes(call, arguments, trend)
    return answered(trend, shape=Shape(arguments.detail if arguments.limit <= SHORT else "full"))


async def _with_changes(call: Call, request: DetectTrend, trend: TrendAnswer) -> TrendAnswer:
    """The trend, and beside it the levels of the benchmark, the cases behind them, flaky ones, and the cost."""
    since = None if request.since is None else datetime.combine(request.since, time(), UTC)
    changed = await what_changed(call.engine, request.benchmark_id, since=since)
    changes = TrendAnswer.of(
        changed, without={"sentences"}, summary=" ".join((f"{trend.summary}.", *changed.sentences))
    )
    return trend.model_copy(update={name: getattr(changes, name) for name in changes.model_fields_set})


def trend_answer(trend: TrendSummary) -> TrendAnswer:
    """The trend, its summary with direction and reason."""
    sentence = (
        f"{trend.benchmark_id}: {trend_heading(trend)}, over {trend.series_length} runs;"
        f" {trend.consecutive_degrading} degrading in a row; {trend.reason}"
    )
    return TrendAnswer.of(trend, summary=sentence)

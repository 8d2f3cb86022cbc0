"""Tools that explain and look back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
from mcp_types import CallToolResult
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outcomes import IMPLICIT
from minions_evals_mcp.domain.records import Record, wire_fields
from minions_evals_mcp.domain.results import EvalFailure
from minions_evals_mcp.errors import StoppedError
from minions_evals_mcp.operations import classify_failure as classify
from minions_evals_mcp.operations import detect_trend as trends
from minions_evals_mcp.operations import promote_failure as promoting
from minions_evals_mcp.operations.suites import suite_from_prompt as prompt_read
from minions_evals_mcp.operations.suites import suite_from_traces as traces_read
from minions_evals_mcp.presentation.verdict_words import judged_instead, trend_heading
from minions_evals_mcp.server.answers.run import cause_line
from minions_evals_mcp.server.answers.sizes import Pages, Shape, answered, cursor_of
from minions_evals_mcp.server.edge.compact import OF_ONE, compact_object, once, short_part, short_run, with_short_ids
from minions_evals_mcp.server.edge.derived import DerivedArguments, Detailed, Timed
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.analysis import (
    FailuresAnswer,
    PromotedAnswer,
    PromptSuiteAnswer,
    TraceSuiteAnswer,
    TrendAnswer,
)

if TYPE_CHECKING:
    from minions_evals_mcp.engine.answers.trend_summary import TrendSummary
    from minions_evals_mcp.engine.answers.what_changed import WhatChanged
    from minions_evals_mcp.engine.failures.explain_failure import Explainer

OF_FAILURE = OF_ONE | {"id"}
SHORT = 12
"""So many points fit a short answer."""


async def classify_failure(call: Call, arguments: Timed) -> CallToolResult:
    """The failures of that test-run or run analysed anew, as many as fit the page and the wait."""
    request = arguments.request(classify.Request)
    by = classify.explainer_of(call.engine, request, by_operator=True)
    idents = await classify.failed_runs(call.engine, request)
    offset = cursor_of(arguments.cursor)
    wanted = idents[offset : offset + arguments.limit]
    if arguments.dry_run:
        return await _estimated(call, request, wanted)
    done, why = await _explained(call, wanted, by, seconds=arguments.wait_seconds)
    run_id = next((str(failure.fields.benchmark_run_id) for failure in done if failure.fields.benchmark_run_id), "")
    named = short_run(run_id) if run_id and request.run_id == "latest" else request.run_id
    causes = [] if offset else (await classify.causes(call.engine, request))[: arguments.limit]
    answer = FailuresAnswer(
        summary=f"{len(done)} of {len(idents)} failures of {named} analysed{why}",
        causes=[cause_line(cause.model_dump(mode="json"), run_id) for cause in causes],
        failures=once(map(_failure, done), "testRunId", own=OF_FAILURE),
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
        try:
            async for failure in classify.analysed(call.engine, wanted, by):
                done.append(failure)
                await call.report_progress(len(done), len(wanted), None)
        except StoppedError as error:
            return done, f"; {in_tools(error.text)}"
        return done, ""
    return done, ", the wait is over"


async def _estimated(call: Call, request: classify.Request, wanted: Sequence[str]) -> CallToolResult:
    """The cost of the same call without dryRun."""
    estimate = await classify.estimate(call.engine, request, wanted)
    cost = "of unknown price" if estimate.cost_usd is None else f"at most {estimate.cost_usd:.4f} USD"
    sentence = f"dry run: {estimate.failures} failures of {request.run_id}, {estimate.model_calls} model calls, {cost}"
    return answered(FailuresAnswer(summary=sentence, estimate=estimate))


def _failure(record: Record[EvalFailure]) -> Json:
    """The failure without what is empty, its ids by the beginning of the run's, which its unit names already.

    The criterion of a case that has no rubric says nothing that the case does not.
    """
    wire = compact_object({"id": record.id, **wire_fields(record.fields)})
    if all(str(one).startswith(IMPLICIT) for one in record.fields.affected_criterion_ids):
        wire.pop("affectedCriterionIds", None)
    run_id = str(wire.pop("benchmarkRunId", ""))
    return with_short_ids({**wire, "id": short_part(record.id, run_id)}, run_id)


async def suite_from_traces(call: Call, arguments: DerivedArguments) -> CallToolResult:
    """What went wrong in an agent's traces, and drafts of cases."""
    suite = await traces_read.run(call.engine, arguments.request(traces_read.Request))
    if suite.packets:
        said = f"{len(suite.packets)} traces to read: send one note for each, with reader=caller"
    elif suite.accepted:
        said = f"{len(suite.accepted)} drafts are active now"
    else:
        waiting = sum(draft.status == "draft" for draft in suite.drafts)
        said = f"{suite.failed} of {suite.read} traces failed, in {len(suite.kinds)} kinds; {waiting} drafts saved"
        said += f"; {suite.unread} not read{f': {suite.stopped}' if suite.stopped else ''}" if suite.unread else ""
    return answered(TraceSuiteAnswer.of(suite, summary=said), shape=Shape("full"))


async def suite_from_prompt(call: Call, arguments: DerivedArguments) -> CallToolResult:
    """Texts to write cases of, or the drafts of the cases."""
    suite = await prompt_read.run(call.engine, arguments.request(prompt_read.Request))
    if suite.packets:
        said = f"{len(suite.packets)} texts to write cases for: send cases with the same sources"
    elif suite.accepted:
        said = f"{len(suite.accepted)} drafts are active now"
    else:
        waiting = sum(draft.status == "draft" for draft in suite.drafts)
        said = f"{suite.written} cases: {waiting} drafts saved, {len(suite.repeated)} duplicates, {len(suite.refused)} refused"
    return answered(PromptSuiteAnswer.of(suite, summary=said), shape=Shape("full"))


async def promote_failure(call: Call, arguments: DerivedArguments) -> CallToolResult:
    """The test case that was made of the failure."""
    promotion = await promoting.run(call.engine, arguments.request(promoting.Request))
    checks = len(promotion.assertions)
    sentence = (
        f"{promotion.test_case_id}: {promotion.status}, {checks} check{'s' * (checks != 1)} that the output fails"
    )
    if promotion.benchmark_id is None:
        sentence += "; in no benchmark: promote it again with `into` to add it to one"
    if promotion.asked_before:
        sentence += f"; same question in {', '.join(promotion.asked_before)}"
    return answered(PromotedAnswer.of(promotion, summary=sentence))


async def detect_trend(call: Call, arguments: Detailed) -> CallToolResult:
    """The trend of a benchmark with its newest points."""
    request = arguments.request(trends.Request)
    found = await trends.run(call.engine, request)
    answer = trend_answer(found.trend)
    if found.changes is not None:
        answer = _with_changes(answer, found.changes)
    return answered(answer, shape=Shape(arguments.detail if request.limit <= SHORT else "full"))


def _with_changes(trend: TrendAnswer, changed: WhatChanged) -> TrendAnswer:
    """The trend, and beside it the levels of the benchmark, the cases behind them, flaky ones, and the cost."""
    summary = " ".join((trend.summary, *changed.sentences))
    changes = _compact(TrendAnswer.of(changed, without={"sentences"}, summary=summary))
    return trend.model_copy(update={name: getattr(changes, name) for name in changes.model_fields_set})


def trend_answer(trend: TrendSummary) -> TrendAnswer:
    """The trend, its summary with direction and reason."""
    sentence = f"{trend.benchmark_id}: {trend_heading(trend)}."
    if trend.consecutive_degrading:
        sentence += f" Degrading runs in a row: {trend.consecutive_degrading}."
    if trend.p_value is not None:
        sentence += f" Reason: {trend.reason}, of {trend.series_length} runs."
    if trend.judged_by:
        sentence += f" Note: {judged_instead(trend.judged_by)}."
    return _compact(TrendAnswer.of(trend, summary=sentence))


def _compact(answer: TrendAnswer) -> TrendAnswer:
    """The answer without parts that say nothing, of a point those that hold, with three digits of each fraction."""
    wire = compact_object(answer.wire())
    points = wire.get("points")
    if isinstance(points, list):
        wire["points"] = [
            {name: part for name, part in _object(point).items() if part is not False} for point in points
        ]
    return TrendAnswer.model_validate(wire)


def _object(value: JsonValue) -> Json:
    assert isinstance(value, dict)
    return value

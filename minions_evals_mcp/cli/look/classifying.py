"""The reasons of failed runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EvalFailure
from minions_evals_mcp.domain.values import first_named, one_line
from minions_evals_mcp.engine.failures.receipts import model_sentence
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.operations import classify_failure as operation
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import LATEST, whole_id
from minions_evals_mcp.report.plain import printable

if TYPE_CHECKING:
    from minions_evals_mcp.engine.answers.failure_causes import Cause
    from minions_evals_mcp.engine.failures.classify_failure import ClassifyEstimate


@takes("classify")
async def classify(
    run_id: str,
    /,
    *,
    given: GivenOptions,
    explain: Literal["off", "llm"] | None = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Explain why a run failed. Rules decide, and with --explain llm a model does where they are unsure.

    Example: minions-evals classify RUN

    Parameters
    ----------
    run_id
        RUN:CASE, a failed test-run's id, or a run's id or key: then each of its failures.
    explain
        llm: ask the model where the rules are unsure. Its explanation is saved only if it quotes a step of the log
        (default: MINIONS_EVALS_EXPLAIN, or off).
    dry_run
        Show the number of model calls and their maximum cost. Nothing is run.
    """
    allowed = None if explain is None else explain == "llm"
    async with session(common) as engine:
        run_id = run_id if run_id == LATEST else await whole_id(engine, run_id, "run", "test-run", "eval-failure")
        request = given.request(operation.Request, run_id=run_id, ask_model=allowed)
        by = operation.explainer_of(engine, request)
        failed = await operation.failed_runs(engine, request)
        if dry_run:
            estimate = await operation.estimate(engine, request, failed)
            return reply(common, estimate, [_cost(estimate)])
        if not common.json:
            tell(_causes_told(await operation.causes(engine, request)))
        async for failure in operation.analysed(engine, failed, by):
            reply(common, failure.wire(), _lines(failure))
        if not failed and not common.json:
            tell(await _nothing_failed(engine, run_id))
    return 0


async def _nothing_failed(engine: Engine, run_id: str) -> str:
    """That no output failed; of a run without figures, that it came to none, and why."""
    try:
        job = await get_run.job(engine, run_id)
    except NotFoundError:  # a test-run by its id
        return "none of its runs failed\n"
    if job.state != "failed":
        return "none of its runs failed\n"
    return f"none of its outputs was judged: {one_line(printable(job.reason, 8_000))}\n"


def _causes_told(causes: Sequence[Cause]) -> str:
    """The causes of a run, each with its cases, what it cost and what to do next; nothing for one test-run."""
    lines: list[str] = []
    for cause in causes:
        affected = [printable(case.test_case_id) for case in cause.affected]
        share = f"{100 * cause.share_of_loss:.0f} % of lost points; " if cause.share_of_loss < 1 else ""
        lines += [
            printable(cause.summary, 500),
            f"  {share}cases: {first_named(affected, len(affected), of=cause.cases)}",
            f"  Next: {cause.suggestion}",
        ]
    return "\n".join([*lines, ""]) + "\n" if lines else ""


def _cost(estimate: ClassifyEstimate) -> str:
    if not estimate.model_calls:
        return f"{estimate.failures} failures, no model calls, no cost"
    cost = "unknown cost" if estimate.cost_usd is None else f"at most ${estimate.cost_usd:.4f}"
    return f"{estimate.failures} failures, {estimate.model_calls} calls of {estimate.model}: {cost}"


def _lines(failure: Record[EvalFailure]) -> list[str]:
    fields = failure.fields
    return [
        f"{fields.test_run_id}",
        f"  {fields.failure_type} ({fields.severity}), by {fields.classified_by}, confidence {fields.confidence:.2f}",
        f"  {printable(fields.description, 400)}",
        f"  root cause: {printable(fields.root_cause, 400)}",
        *(f"  - {printable(signal, 160)}" for signal in fields.signals),
        *([f"  also: {printable(model_sentence(fields.model_cause), 600)}"] if fields.model_cause else []),
    ]

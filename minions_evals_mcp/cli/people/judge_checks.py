"""Probes of a model judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.domain.results import ProbeResult
from minions_evals_mcp.engine.people.judge_check import (
    PROBED,
    CheckRequest,
    CriterionCheck,
    JudgeCheck,
    estimate_check,
    judge_check,
)
from minions_evals_mcp.judges.probes import PROBES, ProbeKind
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.report.plain import printable

FAILED, BROKEN = 1, 3
SHOWN = 2
Number = Annotated[int, Parameter(validator=validators.Number(gte=1))]


async def check(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    limit: Number = PROBED,
    probes: Annotated[tuple[ProbeKind, ...], Parameter(negative="", consume_multiple=True)] = PROBES,
    max_cost_usd: float | None = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Probe a model judge without labels: outputs padded, injected, empty, off-topic, cut, the reference itself, two orders.

    A judge that fails a probe gets no licence. What was asked before is not asked again.
    Exit 1 if a probe failed, 3 if probes could not be judged or a cap stopped them.
    Example: minions-evals judge-check support/quality --dry-run

    Parameters
    ----------
    id
        A benchmark (its newest run that a model judged), or a benchmark-run by id or key.
    limit
        Maximum number of its cases. A probe needs 6 outputs of a kind to fail.
    probes
        Only these: leave out what your criterion does not ask for (a criterion of tone need not fail an off-topic answer).
    max_cost_usd
        Stop before this is spent.
    dry_run
        Say how many calls that would be and what they cost at most.
    """
    request = CheckRequest(ident=id, limit=limit, probes=probes, max_cost_usd=max_cost_usd)
    if dry_run:
        return await _estimate(request, common)
    async with session(common) as engine:
        checked = await judge_check(engine, await with_whole_ids(engine, request))
    reply(common, checked, _handed_in(checked))
    if checked.errors or checked.stopped:
        return BROKEN
    return FAILED if any(result.failed for criterion in checked.criteria for result in criterion.results) else 0


async def _estimate(request: CheckRequest, common: Common) -> int:
    async with session(common) as engine:
        estimate = await estimate_check(engine, await with_whole_ids(engine, request))
    cost = "its price is not known" if estimate.cost_usd is None else f"at most ${estimate.cost_usd:g}"
    return reply(
        common,
        estimate,
        [f"{estimate.judge} would be asked {estimate.calls} times about the run {estimate.run_id}: {cost}"],
    )


def _handed_in(shown: JudgeCheck) -> Iterator[str]:
    yield f"{printable(shown.judge, 80)}, probed on the run {shown.run_id}: {shown.calls} calls, ${shown.cost_usd:.4f}"
    for criterion in shown.criteria:
        yield f"{printable(criterion.criterion_id, 80)}:"
        yield from (line for result in criterion.results for line in _result(criterion, result))
    if shown.errors:
        yield f"{shown.errors} probes got no usable reply; the same command asks them again"
    if shown.stopped:
        yield f"stopped: {printable(shown.stopped, 200)}; the same command goes on"


def _result(criterion: CriterionCheck, result: ProbeResult) -> Iterator[str]:
    mark = "✗ failed" if result.failed else "✓"
    yield f"  {mark} {result.probe}: {result.wrong} of {result.outputs} verdicts were wrong"
    wrong = [line for line in criterion.lines if line.wrong and line.probe == result.probe]
    for line in wrong[:SHOWN]:
        yield f"      {line.subject}: {printable(line.text, 100)}"
        yield f"        it said: {printable(line.rationale, 160)}"

"""Probes of a model judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.derived import GivenOptions, help_of, takes
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.domain.results import ProbeResult
from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.judges.probes import PROBES, ProbeKind
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.operations.operator.judge_check import Answer, CriterionCheck, Request, estimate, run
from minions_evals_mcp.operations.table import TABLE
from minions_evals_mcp.report.next_command import next_line
from minions_evals_mcp.report.plain import printable

FAILED, BROKEN = 1, 3
SHOWN = 2


@takes("judge-check", but={"probes"})
async def check(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    given: GivenOptions,
    probes: Annotated[
        tuple[ProbeKind, ...],
        Parameter(help=help_of(TABLE["judge_check"], "probes"), negative="", consume_multiple=True),
    ] = PROBES,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Probe a model judge without labels: padded, injected, empty, off-topic and cut outputs, the reference
    itself, and both orders.

    A judge that fails a probe is unqualified. Earlier answers are reused. Exit 1 if a probe failed, 3 if probes could
    not be judged or a cap stopped them.
    Example: minions-evals judge-check support/quality --dry-run

    Parameters
    ----------
    id
        A benchmark (its newest run that a model judged), or a benchmark-run by id or key.
    dry_run
        Show the number of model calls and their maximum cost. Nothing is run.
    """
    request = given.request(Request, ident=id, probes=probes)
    if dry_run:
        return await _estimate(request, common)
    async with session(common) as engine:
        checked = await run(engine, await with_whole_ids(engine, request))
    failed = any(result.failed for criterion in checked.criteria for result in criterion.results)
    reply(common, checked, [*_handed_in(checked), *_following(checked, common, failed=failed)])
    return BROKEN if checked.errors or checked.stopped else FAILED if failed else 0


def _following(checked: Answer, common: Common, *, failed: bool) -> Iterator[str]:
    """Yields the command that follows: another judge in place of one that failed, labels for one that did not."""
    if checked.errors or checked.stopped:  # it has said that it is to be repeated
        return
    run_id = short_id(checked.run_id)
    command = f"rejudge {run_id} --judge llm --judge-model PROVIDER:MODEL" if failed else f"label {run_id}"
    yield next_line(command, common.db)


async def _estimate(request: Request, common: Common) -> int:
    async with session(common) as engine:
        priced = await estimate(engine, await with_whole_ids(engine, request))
    cost = "price unknown" if priced.cost_usd is None else f"at most ${priced.cost_usd:g}"
    return reply(
        common,
        priced,
        [f"{priced.judge} would be asked {priced.calls} times about the run {priced.run_id}: {cost}"],
    )


def _handed_in(shown: Answer) -> Iterator[str]:
    yield f"{printable(shown.judge, 80)}, probed on the run {shown.run_id}: {shown.calls} calls, ${shown.cost_usd:.4f}"
    for criterion in shown.criteria:
        yield f"{printable(criterion.criterion_id, 80)}:"
        yield from (line for result in criterion.results for line in _result(criterion, result))
    if shown.errors:
        yield f"{shown.errors} probes got no usable reply. The same command retries them"
    if shown.stopped:
        yield f"stopped: {printable(shown.stopped, 200)}. The same command resumes"


def _result(criterion: CriterionCheck, result: ProbeResult) -> Iterator[str]:
    mark = "✗ failed" if result.failed else "✓"
    yield f"  {mark} {result.probe}: {result.wrong} of {result.outputs} verdicts were wrong"
    wrong = [line for line in criterion.lines if line.wrong and line.probe == result.probe]
    for line in wrong[:SHOWN]:
        yield f"      {line.subject}: {printable(line.text, 100)}"
        yield f"        rationale: {printable(line.rationale, 160)}"

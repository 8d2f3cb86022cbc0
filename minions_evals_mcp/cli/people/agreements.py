"""People against the model judge."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, reply, run, session
from minions_evals_mcp.domain.results import JudgeLicence
from minions_evals_mcp.engine.meant_ids import meant_id
from minions_evals_mcp.engine.people.agreement import (
    Agreed,
    Disagreement,
    JudgesAgreement,
    RaterAgreement,
    Said,
    judges_agreement,
)
from minions_evals_mcp.report.plain import printable


def agreement(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    limit: Limit = 20,
    common: Common = DEFAULTS,
) -> int:
    """Show how far people and the model judge agree on a benchmark's outputs, and on which cases they do not.

    Both must have judged the same output: rejudge a model-judged run with --judge human, then `judge` what waits.
    Example: minions-evals agreement support/quality

    Parameters
    ----------
    id
        The benchmark.
    limit
        At most so many disagreements, the widest first.
    """
    return run(partial(_agreement, id, limit, common))


async def _agreement(ident: str, limit: int, common: Common) -> int:
    async with session(common) as engine:
        found = await judges_agreement(engine, await meant_id(engine, ident, "benchmark"), limit=limit)
    return reply(common, found, _told(found))


def _told(found: JudgesAgreement) -> Iterator[str]:
    yield f"{printable(found.title)}: people and the model judged {found.outputs} outputs alike in {_figures(found.overall)}"
    if len(found.criteria) > 1:
        yield from (f"  {printable(one.title, 60)}: {_figures(one.found)}" for one in found.criteria)
    yield from (_licence(one) for one in found.licences)
    yield from (_rater(one) for one in found.raters if one.found is not None)
    if found.disagreements:
        yield "they differ on:"
    for one in found.disagreements:
        yield from _apart(one)
    if found.more_disagreements:
        yield f"  and {found.more_disagreements} more: --limit shows them"


def _licence(one: JudgeLicence) -> str:
    """The judge in one line: may it be trusted on this criterion, and why."""
    verdict = {
        "qualified": "can be trusted",
        "unqualified": "cannot be trusted",
        "unknown": "it is not known whether to trust it",
    }
    ceiling = "" if one.ceiling is None else f"; people among themselves: alpha {one.ceiling:.2f}"
    return (
        f"{printable(one.judged_by, 60)} on {printable(one.criterion_id, 60)}: {verdict[one.state]}:"
        f" {printable(one.reason, 300)}{ceiling}"
    )


def _rater(one: RaterAgreement) -> str:
    assert one.found is not None
    return f"{printable(one.rater, 60)} against the other people: {_figures(one.found)}"


def _figures(one: Agreed) -> str:
    low, high = one.agreed_interval
    raw = f"{100 * one.agreed:.0f} % of {one.judgments} judgments (95 %: {100 * low:.0f}–{100 * high:.0f} %)"
    low, high = one.kappa_interval
    if one.kappa is None:
        return (
            f"{raw}, kappa cannot be told (95 %: {low:.2f} to {high:.2f}): both gave one and the same score throughout"
        )
    return f"{raw}, kappa {one.kappa:.2f} (95 %: {low:.2f} to {high:.2f})"


def _apart(one: Disagreement) -> Iterator[str]:
    trial = f" (trial {one.trial})" if one.trial > 1 else ""
    yield f"  {printable(one.title, 80)}{trial} · {printable(one.criterion, 60)}  {printable(one.test_case_id, 80)}"
    yield from (_said(name, said, one.max_score) for name, said in (("person", one.person), ("model", one.model)))


def _said(name: str, said: Said, of: float) -> str:
    return f"    {name:<6} {said.score:g} of {of:g}  {printable(said.judged_by, 40)}: {printable(said.rationale, 200)}"

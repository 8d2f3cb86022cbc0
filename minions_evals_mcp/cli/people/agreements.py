"""People against the model judge."""

from __future__ import annotations

from collections.abc import Iterator

from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, reply, session
from minions_evals_mcp.domain.results import JudgeLicence
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.people.agreement import (
    Agreed,
    Disagreement,
    JudgesAgreement,
    NothingAgreedError,
    RaterAgreement,
    RaterAnswer,
    UserCheckAgreement,
    judges_agreement,
)
from minions_evals_mcp.operations.ids import LATEST, whole_id
from minions_evals_mcp.report.next_command import next_line
from minions_evals_mcp.report.plain import printable

NAMED = 10


async def agreement(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    limit: Limit = 20,
    common: Common = DEFAULTS,
) -> int:
    """Show how far people and the model judge agree on a benchmark's outputs, and where they disagree.

    Both must have judged the same outputs. `label --draw 30` queues some for people, who then use `judge`.
    Example: minions-evals agreement support/quality

    Parameters
    ----------
    id
        The benchmark.
    limit
        Maximum number of disagreements shown, largest first.
    """
    async with session(common) as engine:
        try:
            agreed = await judges_agreement(engine, await whole_id(engine, id, "benchmark"), limit=limit)
        except NothingAgreedError as nothing:
            if nothing.user_check is None:
                raise
            return reply(common, nothing.user_check, [*_user_check(nothing.user_check)])
    return reply(common, agreed, _lines(agreed, next_line(_next(agreed), common.db)))


def _next(shown: JudgesAgreement) -> str:
    """The command that follows: more labels where too few say nothing, probes of a judge that cannot be trusted, else its figures."""
    states = {licence.state for licence in shown.licences}
    if not states or "unknown" in states:
        return f"label {shown.benchmark_id}"
    return f"judge-check {shown.benchmark_id}" if "unqualified" in states else f"runs {LATEST}"


def _lines(shown: JudgesAgreement, following: str) -> Iterator[str]:
    yield f"{printable(shown.title)}: people and the model judged {shown.outputs} outputs alike in {_figures(shown.overall)}"
    yield following
    if len(shown.criteria) > 1:
        yield from (f"  {printable(criterion.title, 60)}: {_figures(criterion.found)}" for criterion in shown.criteria)
    yield from (_licence(licence) for licence in shown.licences)
    yield from (_rater(rater) for rater in shown.raters if rater.found is not None)
    if shown.user_check is not None:
        yield from _user_check(shown.user_check)
    if shown.disagreements:
        yield "they differ on:"
    for disagreement in shown.disagreements:
        yield from _apart(disagreement)
    if shown.more_disagreements:
        yield f"  and {shown.more_disagreements} more (--limit shows them)"


def _user_check(check: UserCheckAgreement) -> Iterator[str]:
    yield printable(check.sentence, 400)
    yield _licence(check.licence)
    if check.disputed:
        yield f"  people and the check differ on {first_named(check.disputed, NAMED)}"


def _licence(licence: JudgeLicence) -> str:
    """The judge in one line: may it be trusted on this criterion, and why."""
    verdict = {
        "qualified": "can be trusted",
        "unqualified": "cannot be trusted",
        "unknown": "not enough labels to know whether to trust it",
    }
    ceiling = "" if licence.ceiling is None else f"; people among themselves: alpha {licence.ceiling:.2f}"
    return (
        f"{printable(licence.judged_by, 60)} on {printable(licence.criterion_id, 60)}: {verdict[licence.state]}:"
        f" {printable(licence.reason, 300)}{ceiling}"
    )


def _rater(rater: RaterAgreement) -> str:
    assert rater.found is not None
    return f"{printable(rater.rater, 60)} against the other people: {_figures(rater.found)}"


def _figures(agreed: Agreed) -> str:
    low, high = agreed.agreed_interval
    raw = f"{100 * agreed.agreed:.0f} % of {agreed.judgments} judgments (95 %: {100 * low:.0f}–{100 * high:.0f} %)"
    low, high = agreed.kappa_interval
    if agreed.kappa is None:
        return f"{raw}, kappa is undefined (95 %: {low:.2f} to {high:.2f}): both always gave the same score"
    return f"{raw}, kappa {agreed.kappa:.2f} (95 %: {low:.2f} to {high:.2f})"


def _apart(apart: Disagreement) -> Iterator[str]:
    trial = f" (trial {apart.trial})" if apart.trial > 1 else ""
    yield f"  {printable(apart.title, 80)}{trial} · {printable(apart.criterion, 60)}  {printable(apart.test_case_id, 80)}"
    yield from (
        _scored(name, scored, apart.max_score) for name, scored in (("person", apart.person), ("model", apart.model))
    )


def _scored(name: str, scored: RaterAnswer, of: float) -> str:
    return f"    {name:<6} {scored.score:g} of {of:g}  {printable(scored.judged_by, 40)}: {printable(scored.rationale, 200)}"

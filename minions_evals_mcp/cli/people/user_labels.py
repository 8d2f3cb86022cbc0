"""A person's word on the users of conversations."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.speaking import person_at
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.operations.operator.label_user import Answer, Request, run


@takes("label-user")
async def label_user(
    run_id: str,
    /,
    *,
    given: GivenOptions,
    by: str = "",
    judge_model: Annotated[str | None, Parameter()] = None,
    common: Common = DEFAULTS,
) -> int:
    """Overrule the check of a simulated user: mark a spoiled conversation as sound, or a sound one as spoiled.

    A person's label overrides the check. The run is judged again in a new run, and `agreement` compares the check
    with these labels.
    Example: minions-evals label-user support/desk --sound refund-7 --reason "He only asked twice"

    Parameters
    ----------
    run_id
        The run that had the conversations, or a benchmark for its newest.
    by
        The person who decides. They need a token, or confirm their name at a terminal.
    judge_model
        Judge model for outputs without a verdict, as provider:model (MINIONS_EVALS_JUDGE_MODEL).
    """
    request = given.request(Request, run_id=run_id)
    async with session(common, judge_model=judge_model) as engine:
        speaking = engine.speaking(await person_at(engine, by))
        with progress_line(common, engine, takes_key=False) as progress:
            labelled = await run(speaking, request, progress=progress)
    return reply(common, labelled, _lines(labelled))


def _lines(labelled: Answer) -> list[str]:
    against = f", {labelled.contradicting} against the user check" if labelled.contradicting else ""
    kept = f"{labelled.labels} {'word is' if labelled.labels == 1 else 'words are'} kept{against}"
    judged = labelled.judged_run_id
    then = (
        "its verdicts stand"
        if judged == labelled.run_id
        else as_typed(f"judged by people:  minions-evals runs {judged}")
    )
    return [f"{kept}: {then}", *([labelled.user_errors] if labelled.user_errors else [])]

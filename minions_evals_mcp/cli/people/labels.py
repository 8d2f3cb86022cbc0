"""Which outputs people should label next."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common, run, say, session
from minions_evals_mcp.engine.people.draws import DRAWN, LabelDraw, draw_labels
from minions_evals_mcp.engine.people.promise import promise_error

Number = Annotated[int, Parameter(validator=validators.Number(gte=1))]
SHOWN = 10


def label(
    id: str,  # noqa: A002  the argument's name
    /,
    *,
    draw: Number = DRAWN,
    max_judge_error: float | None = None,
    common: Common = DEFAULTS,
) -> int:
    """Draw outputs that a model judged at random and queue them for people, who see no verdict of the model.

    What people say of them tells whether the judge can be trusted (agreement), and corrects the pass rate (runs, compare).
    Example: minions-evals label support/quality --draw 30

    Parameters
    ----------
    id
        A benchmark (its newest run that a model judged), or a benchmark-run by id or key.
    draw
        So many cases; none that was drawn before. The chance of each is kept.
    max_judge_error
        Let the judge's verdicts stand only where labels certify that at most this share of them is wrong, and queue the
        rest for people. Exit 1 where that cannot be promised.
    """
    if max_judge_error is not None:
        return run(partial(_promise, id, max_judge_error, common))
    return run(partial(_label, id, draw, common))


async def _promise(ident: str, max_error: float, common: Common) -> int:
    async with session(common) as engine:
        found = await promise_error(engine, ident, max_error=max_error, triggered_by="command-line")
    if common.json:
        say(found.model_dump(mode="json"))
    else:
        queue = f"minions-evals judge {found.queue_run_id} --by YOUR-NAME\n" if found.queue_run_id else ""
        sys.stdout.write(f"{found.in_words}\n{queue}")
    return 1 if found.threshold is None else 0


async def _label(ident: str, number: int, common: Common) -> int:
    async with session(common) as engine:
        found = await draw_labels(engine, ident, number=number, triggered_by="command-line")
    if common.json:
        say(found.model_dump(mode="json"))
    else:
        sys.stdout.write(_told(found))
    return 0


def _told(found: LabelDraw) -> str:
    named = ", ".join(found.test_case_ids[:SHOWN])
    more = f" and {len(found.test_case_ids) - SHOWN} more" if len(found.test_case_ids) > SHOWN else ""
    return (
        f"{len(found.test_case_ids)} of {found.of} cases of the run {found.judged_run_id} were drawn"
        f" (chance {found.chance:.2f} each): {named}{more}\n"
        f"{found.waiting} outputs wait for people: minions-evals judge {found.run_id} --by YOUR-NAME\n"
    )

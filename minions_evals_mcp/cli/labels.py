"""Which outputs people should label next."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common, run, say, session
from minions_evals_mcp.engine.people.draws import DRAWN, LabelDraw, draw_labels

Number = Annotated[int, Parameter(validator=validators.Number(gte=1))]
SHOWN = 10


def label(id: str, /, *, draw: Number = DRAWN, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Draw outputs that a model judged at random and queue them for people, who see no verdict of the model.

    What people say of them tells whether the judge can be trusted (agreement), and corrects the pass rate (runs, compare).
    Example: minions-evals label support/quality --draw 30

    Parameters
    ----------
    id
        A benchmark (its newest run that a model judged), or a benchmark-run by id or key.
    draw
        So many cases; none that was drawn before. The chance of each is kept.
    """
    return run(partial(_label, id, draw, common))


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

"""Show the conversations of a run: what was said, who played the user, how each ended, and what its user did wrong."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.conversations import Player, Turn, UserFault
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import BadInputError

if TYPE_CHECKING:
    from minions_evals_mcp.engine.answers.readings.user_errors import UserErrors
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.store.talks import TalkRow

MOST = 1000


class Held(Value):
    """One attempt at a conversation. `ended` is empty while it goes on, `spoiled` unless its user spoiled it."""

    test_case_id: str
    trial: int
    attempt: int
    player: Player
    ended: str
    spoiled: str
    turns: tuple[Turn, ...]
    faults: tuple[UserFault, ...]


class Answer(Value):
    """The conversations of the run in their order. `cut`: there are more; `userErrors` in words, where a user can do wrong."""

    run_id: str
    conversations: tuple[Held, ...]
    user_errors: str = ""
    cut: bool = False


async def run(engine: Engine, run_id: str, *, case_id: str | None = None, only_spoiled: bool = False) -> Answer:
    """The conversations of that run, of one case where it is named; raises `BadInputError` where there are none."""
    from minions_evals_mcp.engine.answers.readings.user_errors import read_talks  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.answers.report_data import find_subject  # noqa: PLC0415  as above

    ident = (await find_subject(engine, run_id)).run_id
    rows, errors = await engine.store.read(partial(read_talks, job_id=ident, case_id=case_id, most=MOST + 1))
    if not rows:
        raise BadInputError(f"the run {ident} has no conversations.", remedy="A case with `conversation` makes one.")
    held = tuple(map(_held, rows[:MOST]))
    shown = tuple(one for one in held if one.spoiled) if only_spoiled else held
    return Answer(run_id=ident, conversations=shown, user_errors=_words(errors), cut=len(rows) > MOST)


def _words(errors: UserErrors | None) -> str:
    return "" if errors is None else errors.sentence


def _held(row: TalkRow) -> Held:
    return Held(
        test_case_id=row.case_id,
        trial=row.key.trial,
        attempt=row.attempt,
        player=row.player,
        ended=row.ended,
        spoiled=row.spoiled,
        turns=row.said.turns,
        faults=row.said.faults,
    )

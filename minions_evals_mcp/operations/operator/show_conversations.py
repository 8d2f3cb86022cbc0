"""Show the conversations of a run: what was said, who played the user, how each ended, and what its user did wrong."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from minions_evals_mcp.domain.conversations import Player, PlayerCost, Turn, UserFault, UserLabel
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.errors import BadInputError

if TYPE_CHECKING:
    from minions_evals_mcp.engine.answers.readings.user_errors import UserErrors
    from minions_evals_mcp.engine.context import Engine
    from minions_evals_mcp.store.talks import TalkRow

MOST = 1000


class ConversationHeld(Value):
    """One attempt at a conversation. `ended` is empty while it goes on, `spoiled` unless its user spoiled it.

    `position` (from 1) and `trial` name its unit; `label` is what a person says of the user. `checkedBy` is the second model that
    has read the user's messages, `waitsFor` the one that has still to; `userCost` is what playing and checking the user cost.
    """

    test_case_id: str
    position: int
    trial: int
    attempt: int
    player: Player
    ended: str
    spoiled: str
    turns: tuple[Turn, ...]
    faults: tuple[UserFault, ...]
    label: UserLabel | None = None
    checked_by: Annotated[str, Field(exclude_if=lambda model: not model)] = ""
    waits_for: Annotated[str, Field(exclude_if=lambda model: not model)] = ""
    user_cost: Annotated[PlayerCost | None, Field(exclude_if=lambda cost: cost is None)] = None

    @property
    def overruled(self) -> bool:
        """Whether a person contradicts the user check."""
        return self.label is not None and self.label.sound == bool(self.spoiled)


class Answer(Value):
    """The conversations of the run in their order. `cut`: there are more; `userErrors` in words, where a user can do wrong."""

    run_id: str
    conversations: tuple[ConversationHeld, ...]
    user_errors: str = ""
    cut: bool = False


async def run(engine: Engine, run_id: str, *, case_id: str | None = None, only_spoiled: bool = False) -> Answer:
    """The conversations of that run, of one case where it is named; raises `BadInputError` where there are none."""
    from minions_evals_mcp.engine.answers.readings.user_errors import read_talks  # noqa: PLC0415  the engine, at the first call
    from minions_evals_mcp.engine.answers.report_data import find_subject  # noqa: PLC0415  as above

    ident = (await find_subject(engine, run_id)).run_id
    rows, said, errors = await engine.store.read(partial(read_talks, job_id=ident, case_id=case_id, most=MOST + 1))
    if not rows:
        raise BadInputError(f"the run {ident} has no conversations.", remedy="Only cases with `conversation` have one.")
    held = tuple(_held(row, said.get((row.case_id, row.key.trial, row.attempt))) for row in rows[:MOST])
    shown = tuple(one for one in held if bool(one.spoiled) != one.overruled) if only_spoiled else held
    return Answer(run_id=ident, conversations=shown, user_errors=_words(errors), cut=len(rows) > MOST)


def _words(errors: UserErrors | None) -> str:
    return "" if errors is None else errors.sentence


def _held(row: TalkRow, label: UserLabel | None) -> ConversationHeld:
    return ConversationHeld(
        test_case_id=row.case_id,
        position=row.key.position + 1,
        trial=row.key.trial,
        attempt=row.attempt,
        player=row.player,
        ended=row.ended,
        spoiled=row.spoiled,
        turns=row.said.turns,
        faults=row.said.faults,
        label=label,
        checked_by=row.checked_by,
        waits_for=row.said.checker if row.is_unread else "",
        user_cost=row.said.player_cost if row.said.player_cost.calls else None,
    )

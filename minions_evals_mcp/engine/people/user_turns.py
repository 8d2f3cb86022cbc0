"""What the caller or a person says as the user of a conversation: taken for exactly the message that was asked for."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.conversations import NextMessage
from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.packets import AnsweredPacket
from minions_evals_mcp.judges.user_packets import UserPacket, user_packet
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import jobs, talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job, UnitRow
from minions_evals_mcp.store.talks import TalkRow

AS_A_PERSON = (
    f"A person answers on the page or at a terminal: {Next('judge', reason='asks for each judgment')}. Or by a token:"
    f" {Next('people-add', reason='makes one')}."
)


@frozen_type
class UserSaid:
    """A message of a user that is vetted, and the conversation that goes on with it."""

    talk: TalkRow
    message: NextMessage


def packet_of_user(db: Db, row: UnitRow, case: TestCase) -> UserPacket | None:
    """The request for what a user says next, as it was handed out; None for a unit that waits for nothing of the kind."""
    talk = talks.newest(db, row.key) if talks.player_asked(row.reason) else None
    if talk is None or row.packet is None or case.conversation is None:
        return None
    return user_packet(row.packet, row.key, row.case_id, case.conversation, talk.said.turns)


async def user_said(engine: Engine, job: Job, answered: AnsweredPacket) -> UserSaid:
    """The message that answers the request, vetted; nothing is written yet.

    Raises `ConflictError` where the request does not wait for a message, `BadInputError` for a message that is none or not the
    speaker's to give.
    """
    assert answered.message is not None
    if answered.judgments:
        raise BadInputError(
            f"request {answered.digest}: got both a message and judgments.",
            remedy="Send only what the request asks for.",
        )
    row = await engine.store.read(partial(jobs.unit_of_packet, job_id=job.id, packet=answered.digest))
    player = None if row is None or row.outcome != "awaiting-judgments" else talks.player_asked(row.reason)
    talk = None if row is None else await engine.store.read(partial(talks.newest, key=row.key))
    if player is None or talk is None:
        raise ConflictError(
            f"the run {job.id} has no request for a user message {answered.digest}.",
            remedy=f"{Next('show-run', {'run_id': job.id}, 'shows the requests that wait')}. Each can be answered once.",
        )
    if player == "person" and not engine.speaker.is_person:
        raise BadInputError(f"request {answered.digest} asks a person, and the caller is an agent.", remedy=AS_A_PERSON)
    text, turn = answered.message.strip(), len(talk.said.turns) + 1
    if not text and turn == 1:
        raise BadInputError(
            f"request {answered.digest}: a conversation must begin with a message.", remedy="Give message."
        )
    return UserSaid(talk, NextMessage(turn=turn, text=text, said_by=engine.speaker.name or ""))

"""Messages that are verbs of the testing API: the engine's own answer is the result."""

from __future__ import annotations

from agent.message_work import MessageWork
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.messages.testing_api import VERBS, VerbContext


async def carry_out_verb(work: MessageWork) -> Json:
    """The verb that the message's type names; what it makes has an id of the message's, so that it is made once."""
    verb = VERBS[work.message.type]
    asking = VerbContext(work.key, f"message:{text_digest(work.message.id)}", work.by(None), work.target)
    return await verb.answered(work.engine, work.payload_as(verb.payload), asking)

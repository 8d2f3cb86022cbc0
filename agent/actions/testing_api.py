"""Messages that are verbs of the testing API: the engine's own answer is the result."""

from __future__ import annotations

from agent.message_work import Asked
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.engine.messages.testing_api import VERBS, Asking


async def carry_out_verb(asked: Asked) -> Json:
    """The verb that the message's type names; what it makes has an id of the message's, so that it is made once."""
    verb = VERBS[asked.message.type]
    asking = Asking(asked.key, f"message:{text_digest(asked.message.id)}", asked.by(None), asked.target)
    return await verb.answer(asked.engine, asked.said(verb.payload), asking)

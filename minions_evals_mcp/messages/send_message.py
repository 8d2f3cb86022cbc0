"""Messages for the agent: vetted by type and payload, taken in once under their id, carried out by whoever runs it."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import Id, Text, Value
from minions_evals_mcp.engine import outbox
from minions_evals_mcp.errors import BadInputError, ConflictError
from minions_evals_mcp.messages.payloads import AgentRunCompleted, kind_of, payload_as, topic_of
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.agent.lease import lease
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append

UNREADABLE = outbox.UNREADABLE
OWN_IDS = ("event:", "schedule:", "step:", "stdin:", "read:")
"""How the ids begin under which the agent keeps what it puts to itself: a sender who took one would keep it from being done."""
FROM_TRACES = "otlp:"
"""How the ids begin of the messages that traces become, each about an agent-run of its own."""


class Letter(Value):
    """A message for the agent. Under an `id` of the sender's it is taken once, however often it is sent.

    `fromAgentId` is told in the outbox how it ended.
    """

    type: Text
    payload: Json = {}
    id: Id | None = None
    from_agent_id: Id | None = None


class Receipt(Value):
    """The state of a message once it is taken in. `agentRunning`: somebody is there to carry it out."""

    id: str
    type: str
    topic: str
    state: inbox.MessageState
    is_new: bool
    agent_running: bool


async def send_message(engine: Engine, letter: Letter, *, from_source: bool = False) -> Receipt:
    """Takes the message in; once under its id. `from_source`: it came in where the operator set the agent up to listen.

    Raises `UnsupportedError` for an unknown type, `InvalidRecordError` naming the field of a malformed payload, `ConflictError`
    where another message was sent under the id, `BadInputError` for an id that is the agent's own to give.
    """
    ident = letter.id or engine.new_id()
    if ident.startswith(OWN_IDS):
        raise BadInputError(
            f"id: {ident!r} uses a prefix that is reserved for the agent.", remedy="Send it under another id."
        )
    kind = kind_of(letter.type)
    payload = payload_as(kind.payload, letter.payload, message=f"message {letter.type}")
    if isinstance(payload, AgentRunCompleted) and payload.agent_run is not None:
        payload.carried(ident, now=engine.clock())
    door = engine.speaker.identity if engine.speaker.is_person else "source" if from_source else ""
    arriving = inbox.Arriving(
        ident, letter.type, topic_of(kind, payload, ident), letter.from_agent_id, letter.payload, door
    )
    return await engine.store.write(partial(_take_in, arriving=arriving, engine=engine))


def _take_in(db: Db, *, arriving: inbox.Arriving, engine: Engine) -> Receipt:
    at = engine.clock()
    is_new = inbox.put(db, arriving, at=at)
    message = inbox.message(db, arriving.id)
    assert message is not None
    if is_new:
        detail: Json = {"type": message.type, "topic": message.topic}
        append(db, Event("message-received", "agent-message", message.id, detail), at=at)
    elif not _says_the_same(message, arriving):
        raise ConflictError(f"another message already has the id {message.id!r}.", remedy="Send it under a new id.")
    held = lease(db)
    return Receipt(
        id=message.id, type=message.type, topic=message.topic, state=message.state, is_new=is_new,
        agent_running=held is not None and held.expires_at > at,
    )  # fmt: skip


def _says_the_same(stored: inbox.Message, arriving: inbox.Arriving) -> bool:
    return (stored.type, stored.payload, stored.sender) == (arriving.type, arriving.payload, arriving.sender)


async def keep_unreadable(engine: Engine, text: str, reason: str, *, source: str) -> str:
    """Lays what was no message with the dead letters, once, and returns its id: nothing that arrives is lost in silence.

    Its sender is told where the text names one.
    """
    at = engine.clock()
    return await engine.store.write(lambda db: outbox.keep_unreadable(db, text, reason, source=source, at=at))


async def tell_refused(engine: Engine, text: str, reason: str) -> None:
    """Tells the sender that a text names why it was no message; the text is kept by the caller."""
    at = engine.clock()
    await engine.store.write(lambda db: outbox.refuse(db, text, reason, at=at))

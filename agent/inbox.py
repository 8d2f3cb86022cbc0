"""One message from its taking to its end: carried out, then acknowledged with its reply in one transaction."""

from __future__ import annotations

from functools import partial
from typing import cast

import anyio

from agent.daemon import Agent, log
from agent.message_work import MessageWork
from agent.rounds.instruction_steps import Steps
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.outbox import reply
from minions_evals_mcp.errors import BadInputError, EvalsError, StoppedError, UnsupportedError, ungrouped
from minions_evals_mcp.presentation.next_steps import Messages, in_terms, wire_in_terms
from minions_evals_mcp.store.agent import inbox, lease
from minions_evals_mcp.store.agent.inbox import Message
from minions_evals_mcp.store.connection import Db


async def carry_out(agent: Agent, message: Message) -> None:
    """Carries the message out and writes down how it ended; whatever happens, the loop goes on."""
    try:
        try:
            with ungrouped():
                result = await _performed(agent, message)
        except Exception as error:  # noqa: BLE001  a loop that must go on: told with its traceback where it is not ours
            await _fail(agent, message, error)
        else:
            await agent.engine.store.write(partial(_finish, agent=agent, message=message, result=result))
            note = {"note": result["note"]} if "note" in result else {}
            log.info("message-done", message_id=message.id, type=message.type, topic=message.topic, **note)
    except EvalsError as error:  # not even the failure could be written down: the message is taken again
        log.error("message-not-settled", message_id=message.id, error=str(error))
        await anyio.sleep(agent.rhythm.retry_s)
    finally:
        agent.in_flight.discard(message.seq)
        agent.pulse.beat()


async def _performed(agent: Agent, message: Message) -> Json:
    doings = agent.doings.get(message.type)
    if doings is None:
        raise UnsupportedError(
            f"no skill is triggered by {message.type!r}.", remedy=f"Triggers are {', '.join(sorted(agent.doings))}."
        )
    result: Json = {}
    for doing in doings:
        result |= await doing.action(MessageWork(agent.engine, message, agent.target, Steps(agent), agent.bounds))
    return result


def _finish(db: Db, *, agent: Agent, message: Message, result: Json) -> None:
    at = agent.engine.clock()
    lease.require(db, agent.holder)
    result = cast("Json", wire_in_terms(result, Messages(agent.engine.config.named_db)))
    inbox.finish(db, message.id, result, at=at)
    reply(db, message, {"result": result}, ended="complete", at=at)


async def _fail(agent: Agent, message: Message, error: Exception) -> None:
    """Puts the message off, or lays it with the dead letters: at once where trying again cannot help."""
    store = agent.engine.config.named_db
    is_ours = isinstance(error, EvalsError)
    reason = in_terms(error.text, Messages(store)) if is_ours else f"{type(error).__name__}: {error}"
    hopeless = isinstance(error, BadInputError | StoppedError)
    dead = hopeless or message.attempts + 1 >= agent.rhythm.attempts
    fields = {"message_id": message.id, "type": message.type, "attempts": message.attempts + 1, "reason": reason}
    unforeseen = None if isinstance(error, EvalsError) else error
    log.warning("message-dead" if dead else "message-put-off", **fields, exc_info=unforeseen)
    write = partial(_bury if dead else _put_off, agent=agent, message=message, reason=reason)
    await agent.engine.store.write(write)


def _bury(db: Db, *, agent: Agent, message: Message, reason: str) -> None:
    at = agent.engine.clock()
    lease.require(db, agent.holder)
    inbox.bury(db, message.id, reason, at=at)
    reply(db, message, {"reason": reason}, ended="failed", at=at)


def _put_off(db: Db, *, agent: Agent, message: Message, reason: str) -> None:
    lease.require(db, agent.holder)
    inbox.put_off(db, message.id, reason, until=agent.engine.clock() + agent.rhythm.wait(message.attempts))

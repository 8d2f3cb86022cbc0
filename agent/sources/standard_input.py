"""Messages as they come from outside: their text, and JSON lines on standard input."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from functools import partial

import anyio
from pydantic import ValidationError

from agent.daemon import Agent, log
from agent.store_retry import surely
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.messages.send_message import Letter, keep_unreadable, send_message

LONGEST = 1_000_000
"""So many characters a message may have."""
MOST_BYTES = 4 * LONGEST + 1
"""So many bytes are more characters than that, whatever they are."""


def read_letter(text: str) -> Letter:
    """The message that a text holds; raises `BadInputError` naming the field that does not fit."""
    if len(text) > LONGEST:
        raise BadInputError(f"the message is longer than {LONGEST} characters.")
    try:
        return Letter.model_validate_json(text)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in detail["loc"])
        raise BadInputError(f"{field or 'the message'}: {detail['msg']}") from None


async def take_lines(agent: Agent, file: int) -> None:
    """Takes every line of that open file as a message; one that is none becomes a dead letter with the reason."""
    async for line in _lines(file):
        text = line.decode("utf-8", "replace").strip()
        if not text:
            continue
        await surely(agent, partial(_take_line, agent, text), doing="stdin")
    agent.sources -= 1
    agent.pulse.beat()


async def _take_line(agent: Agent, text: str) -> None:
    try:
        await send_message(agent.engine, read_letter(text), from_source=True)
    except BadInputError as error:
        ident = await keep_unreadable(agent.engine, text, str(error), source="stdin")
        log.warning("message-dead", message_id=ident, reason=str(error))


async def _lines(file: int) -> AsyncIterator[bytes]:
    """The lines, cut where they are too long to be taken; without a thread that would hold the process's end up."""
    line = bytearray()
    while part := await _part(file):
        *ends, begun = part.split(b"\n")
        for end in ends:
            yield bytes(line + end)
            line.clear()
        line += begun[: MOST_BYTES - len(line)]
    yield bytes(line)


async def _part(file: int) -> bytes:
    try:
        await anyio.wait_readable(file)
    except PermissionError:  # a plain file, which is always ready
        await anyio.lowlevel.checkpoint()
    return os.read(file, 65_536)

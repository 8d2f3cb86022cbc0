"""Where messages come from beside the store itself: JSON lines on standard input, and a folder of JSON files."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread
from pydantic import ValidationError

from agent.daemon import Agent, log
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.engine.send_message import Letter, keep_unreadable, send_message
from minions_evals_mcp.errors import BadInputError

LONGEST = 1_000_000
"""So many characters a message may have."""
LOOKED_EVERY_S = 0.2
YOUNG_S = 1.0
"""A file that does not parse may still be being written for so long."""


def read_letter(text: str) -> Letter:
    """The message that a text holds; raises `BadInputError` naming the field that does not fit."""
    if len(text) > LONGEST:
        raise BadInputError(f"the message has {len(text)} characters; at most {LONGEST} are taken.")
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
        try:
            await send_message(agent.engine, read_letter(text))
        except BadInputError as error:
            ident = await keep_unreadable(agent.engine, text, str(error), source="stdin")
            log.warning("message-dead", message_id=ident, reason=str(error))
    agent.sources -= 1
    agent.pulse.beat()


async def _lines(file: int) -> AsyncIterator[bytes]:
    """The lines, without a thread that would hold the process's end up while nothing comes."""
    rest = b""
    while part := await _part(file):
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line
    yield rest


async def _part(file: int) -> bytes:
    try:
        await anyio.wait_readable(file)
    except PermissionError:  # a plain file, which is always ready
        await anyio.lowlevel.checkpoint()
    return os.read(file, 65_536)


async def watch(agent: Agent, folder: Path, *, once: bool) -> None:
    """Takes every JSON file of the folder, once; with `once` only those that are there."""
    while await anyio.to_thread.run_sync(_names, folder) or not once:
        for name in await anyio.to_thread.run_sync(_names, folder):
            await _take_file(agent, folder / name)
        await anyio.sleep(LOOKED_EVERY_S)
    agent.sources -= 1
    agent.pulse.beat()


def _names(folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".json") and entry.is_file())


async def _take_file(agent: Agent, path: Path) -> None:
    """Takes the file in and removes it; a bad one is moved to `refused/` beside its reason."""
    found = await anyio.to_thread.run_sync(_content, path)
    if found is None:
        return
    text, changed = found
    try:
        letter = read_letter(text)
        own = letter.id or f"file:{digest([path.name, changed, text])}"  # the same file taken twice is one message
        await send_message(agent.engine, letter.model_copy(update={"id": own}))
    except BadInputError as error:
        if agent.engine.clock().timestamp() - changed / 1e9 < YOUNG_S:
            return
        log.warning("file-refused", file=path.name, reason=str(error))
        await anyio.to_thread.run_sync(_move_aside, path, str(error))
    else:
        await anyio.to_thread.run_sync(path.unlink)


def _content(path: Path) -> tuple[str, int] | None:
    """What the file holds and when it was changed; nothing where it has gone meanwhile."""
    try:
        with path.open("rb") as file:
            return file.read(4 * LONGEST).decode("utf-8", "replace"), os.fstat(file.fileno()).st_mtime_ns
    except FileNotFoundError:
        return None


def _move_aside(path: Path, reason: str) -> None:
    aside = path.parent / "refused"
    aside.mkdir(exist_ok=True)
    path.replace(aside / path.name)
    (aside / f"{path.name}.reason.txt").write_text(reason + "\n", "utf-8")

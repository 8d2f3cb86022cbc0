"""A watched folder of JSON files: each is a message, taken once."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from agent.daemon import Agent, log
from agent.sources.standard_input import MOST_BYTES, read_letter
from agent.store_retry import surely
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.messages.send_message import send_message, tell_refused

LOOKED_EVERY_S = 0.2
YOUNG_S = 1.0
"""A file that does not parse may still be being written for so long."""


async def watch(agent: Agent, folder: Path, *, once: bool) -> None:
    """Takes every JSON file of the folder, once; with `once` only those that are there.

    A folder or a file that cannot be read, moved or removed is told of once, and tried again at every look.
    """
    reported: set[Path] = set()
    while True:
        left = await _take_files(agent, folder, reported)
        if once and not left:
            break
        await anyio.sleep(LOOKED_EVERY_S)
    agent.sources -= 1
    agent.pulse.beat()


async def _take_files(agent: Agent, folder: Path, reported: set[Path]) -> bool:
    """Returns whether a file is left that may still be being written."""
    left = False
    try:
        names = await anyio.to_thread.run_sync(_names, folder)
    except OSError as error:
        return _note(reported, folder, error)
    for name in names:
        path = folder / name
        try:
            left |= await surely(agent, partial(_take_file, agent, path), doing="watch")
        except OSError as error:
            _note(reported, path, error)
        else:
            reported.discard(path)
    return left


def _note(reported: set[Path], path: Path, error: OSError) -> bool:
    """Tells of what cannot be watched, the first time; false, for nothing is left that could be waited for."""
    if path not in reported:
        log.error("watch-failed", path=str(path), reason=str(error))
    reported.add(path)
    return False


def vet_watched(folder: Path) -> None:
    """Makes the folder if it is missing; raises `BadInputError` where none can stand there."""
    try:
        _names(folder)
    except OSError as error:
        raise BadInputError(f"--watch {folder}: {error.strerror}.", remedy="Name a folder.") from None


def _names(folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".json") and entry.is_file())


async def _take_file(agent: Agent, path: Path) -> bool:
    """Takes the file in and removes it; a bad one is moved to `refused/` beside its reason. True: it may still be being written."""
    content = await anyio.to_thread.run_sync(_content, path)
    if content is None:
        return False
    text, changed = content
    try:
        letter = read_letter(text)
        own = letter.id or f"file:{digest([path.name, changed, text])}"  # the same file taken twice is one message
        await send_message(agent.engine, letter.model_copy(update={"id": own}), from_source=True)
    except BadInputError as error:
        age_s = agent.engine.clock().timestamp() - changed / 1e9
        if 0 <= age_s < YOUNG_S:  # a writer whose clock is ahead gets no such time: it might never be over
            return True
        log.warning("file-refused", file=path.name, reason=str(error))
        await anyio.to_thread.run_sync(_move_aside, path, str(error))
        await tell_refused(agent.engine, text, str(error))
        return False
    return await anyio.to_thread.run_sync(_stays, path, changed)


def _content(path: Path) -> tuple[str, int] | None:
    """Returns what the file holds and when it was changed; nothing where it has gone meanwhile."""
    try:
        with path.open("rb") as file:
            changed = os.fstat(file.fileno()).st_mtime_ns
            return file.read(MOST_BYTES).decode("utf-8", "replace"), changed
    except FileNotFoundError:
        return None


def _stays(path: Path, changed: int) -> bool:
    """Removes the file that was taken; one that was written anew meanwhile stays, as the next message."""
    try:
        if path.stat().st_mtime_ns != changed:
            return True
        path.unlink()
    except FileNotFoundError:
        pass
    return False


def _move_aside(path: Path, reason: str) -> None:
    aside = path.parent / "refused"
    aside.mkdir(exist_ok=True)
    (aside / f"{path.name}.reason.txt").write_text(reason + "\n", "utf-8")  # first: who finds the file finds its reason
    path.replace(aside / path.name)

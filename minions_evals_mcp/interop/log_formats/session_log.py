"""Sessions of coding agents: Claude Code, Codex, Gemini CLI, opencode; what they store and what they print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.interop.log_formats.grouped_rows import rows_of
from minions_evals_mcp.interop.logs.sample import Item, Recorded, Skipped
from minions_evals_mcp.interop.sessions import claude, codex, gemini, opencode
from minions_evals_mcp.interop.sessions.session import Session

HOSTS: dict[str, tuple[Callable[[JsonValue], bool], Callable[[Iterable[Json]], Session]]] = {
    claude.NAME: (claude.is_session, claude.read),
    codex.NAME: (codex.is_session, codex.read),
    gemini.NAME: (gemini.is_session, gemini.read),
    opencode.NAME: (opencode.is_session, opencode.read),
}
"""Of each program: what tells its sessions from other files, and what reads one."""
NOTHING = "a session in which nothing was asked, answered or called"


def reader_of(name: str) -> Callable[[Path], Iterator[Item]]:
    """What reads a file of that program."""
    return partial(_read, name)


def _read(name: str, path: Path) -> Iterator[Item]:
    """One agent-run: the whole session."""
    session = HOSTS[name][1](row for _, row in rows_of(path, frozenset({""})))
    session.id = session.id or path.stem
    yield session.log(name)
    if session.prompts or session.answer or session.calls or session.failure:
        yield Recorded(session.agent_run(name), str(path))
    else:
        yield Skipped(NOTHING)
    for what, number in session.skipped.items():
        yield from (Skipped(what) for _ in range(number))

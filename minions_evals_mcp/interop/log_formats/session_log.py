"""Sessions of coding agents: Claude Code, Codex, Gemini CLI, opencode; what they store and what they print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.tables import opencode_store
from minions_evals_mcp.interop.logs.grouped_rows import rows_of
from minions_evals_mcp.interop.logs.json_stream import CUT_OFF
from minions_evals_mcp.interop.logs.sample import Item, Recorded, SkippedSample
from minions_evals_mcp.interop.logs.session_run import session_log, session_run
from minions_evals_mcp.interop.telemetry.intake import Parts, Telemetry
from minions_evals_mcp.sessions import claude, codex, gemini, opencode, telemetry
from minions_evals_mcp.sessions.rollouts import rollout_of
from minions_evals_mcp.sessions.session import Session
from minions_evals_mcp.sessions.sub_agents import sub_agents_of

HOSTS: dict[str, tuple[Callable[[JsonValue], bool], Callable[[Iterable[Json]], Session]]] = {
    claude.NAME: (claude.is_session, claude.read),
    codex.NAME: (codex.is_session, codex.read),
    gemini.NAME: (gemini.is_session, gemini.read),
    opencode.NAME: (opencode.is_session, opencode.read),
}
"""Of each program: what tells its sessions from other files, and what reads one."""
TELEMETRY = telemetry.FORM
UNENDED = "a last line that was not written to its end"
_BLOCK = 1 << 20
NOTHING = "a session in which nothing was asked, answered or called"


def reader_of(name: str) -> Callable[[Path], Iterator[Item]]:
    """What reads a file of that program."""
    return partial(_read, name)


def read_opencode(path: Path) -> Iterator[Item]:
    """An agent-run for each session of its database, or the one of any other file."""
    if not opencode_store.is_store(path):
        yield from _read(opencode.NAME, path)
        return
    sessions = _families(path)
    first = next(sessions, Session(opencode.HOST))
    yield session_log(first, opencode.NAME)
    for session in chain([first], sessions):
        yield from _kept(session, opencode.NAME, path)


def _families(path: Path) -> Iterator[Session]:
    """Each session of the database, with the sessions of its sub-agents in it."""
    session: Session | None = None
    family = set[str]()
    for export in opencode_store.exports(path):
        found, parent = opencode.read([export]), obj(export.get("info")).get("parentID")
        if session is not None and isinstance(parent, str) and parent in family:
            family.add(found.id)
            _include(session, found, found.id)
            continue
        if session is not None:
            yield session
        session, family = found, {found.id}
    if session is not None:
        yield session


def _include(session: Session, part: Session, ident: str, call_id: str = "", agent: str = "") -> None:
    """Takes a sub-agent's session into the one that started it: by the call's id, or by the id that the call's result names."""
    calls = session.calls.values()
    started = next((call for call in calls if call.started_session == ident or call.id == call_id), None)
    named = obj(started.arguments).get("subagent_type") if started else None
    session.include(part, started, agent or (named if isinstance(named, str) and named else "sub-agent"))


def _read(name: str, path: Path) -> Iterator[Item]:
    """One agent-run: the whole session."""
    cut: list[str] = []
    session = HOSTS[name][1](_whole_rows(path, cut))
    session.id = session.id or path.stem
    for one in sub_agents_of(path) if name == claude.NAME else ():
        _include(session, claude.read(_whole_rows(one.file, cut)), one.id, one.call_id, one.kind)
    if name == codex.NAME:
        _include_rollouts(session, path, cut, {session.id})
    for what in cut:
        session.skip(what)
    yield session_log(session, name)
    yield from _kept(session, name, path)


def _include_rollouts(session: Session, path: Path, cut: list[str], family: set[str]) -> None:
    """Takes in the sub-agents of a session of Codex, each with its own; `family` are those that are read."""
    for ident in [call.started_session for call in session.calls.values()]:
        file = rollout_of(ident, path) if ident not in family else None
        if file is None:
            continue
        family.add(ident)
        part = codex.read(_whole_rows(file, cut))
        _include_rollouts(part, file, cut, family)
        _include(session, part, ident)


def _whole_rows(path: Path, cut: list[str]) -> Iterator[Json]:
    """The rows, but for a last line that is still being written, or that a killed program left."""
    try:
        for _, row in rows_of(path, frozenset({""})):
            yield row
    except InvalidRecordError as error:
        if CUT_OFF not in error.reason or not error.where.endswith(f":{_unended_line(path)}"):
            raise
        cut.append(UNENDED)


def _unended_line(path: Path) -> int:
    """The number of the last line where no line break ends it, else 0."""
    number, last = 1, b"\n"
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            number, last = number + block.count(b"\n"), block[-1:]
    return 0 if last == b"\n" or path.suffix.lower() not in (".jsonl", ".ndjson") else number


def _kept(session: Session, name: str, path: Path) -> Iterator[Item]:
    if session.prompts or session.answer or session.calls or session.failure:
        yield Recorded(session_run(session, name), str(path))
    else:
        yield SkippedSample(NOTHING)
    for what, number in session.skipped.items():
        yield from (SkippedSample(what) for _ in range(number))


def read_telemetry(path: Path) -> Iterator[Item]:
    """An agent-run for each turn of a coding agent, or each trace, from a file of OTLP log records (a document, or one a line)."""
    came = Telemetry()
    unknown: dict[str, int] = {}
    host = version = ""
    for where, row in rows_of(path, frozenset({""})):
        try:
            read = telemetry.events_of(row)
        except ValueError as error:
            raise InvalidRecordError(str(error), where=where) from None
        came.add(Parts(events=read.events, contents=read.contents), now=0.0)
        host = host or next((event.host for event in read.events), "")
        version = version or next((event.version for event in read.events), "")
        for name in read.unknown:
            unknown[name] = unknown.get(name, 0) + 1
    runs = [over.run for over in came.settled(now=0.0, at_once=True) if over.run is not None]
    first = Session(host or "coding-agent", version=version)
    usage = obj(obj(obj(runs[0].get("fields") if runs else None).get("extra")).get("usage"))
    first.use(next(iter(usage), None))
    yield session_log(first, TELEMETRY)
    yield from (Recorded(run, str(path)) for run in runs)
    for name, number in unknown.items():
        yield from (SkippedSample(f"an event {name}") for _ in range(number))

"""One unit's copy of a world: a folder with the definition and a journal of the calls, from which the state follows.

Several servers of the world, each a process of its own, share the folder. Each call is one line of the journal, written under a
lock before the agent gets its answer: whatever is killed, the journal is whole up to the last answered call.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Annotated, TypeVar

import anyio
import anyio.to_thread
from filelock import FileLock, Timeout
from pydantic import Field

from minions_evals_mcp.confined_paths import confined_path, opened_confined
from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.values import Json, Text, Timestamp, Value, utc
from minions_evals_mcp.domain.worlds import STARTED, Fault, WorldServer
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.temporary_folders import taken_folder
from minions_evals_mcp.world.attacking import Planted, in_result
from minions_evals_mcp.world.calls import CallAnswer, WorldCall, canonical_arguments, tool_result
from minions_evals_mcp.world.faulting import due, lost, spoilt
from minions_evals_mcp.world.holdings import Holdings, placed
from minions_evals_mcp.world.mocking import mocked
from minions_evals_mcp.world.tapes import Miss, Tape, TapedCall, read_tape

DEFINITION, JOURNAL, LOCK, LOST, REACHED = "world.json", "calls.jsonl", "lock", "lost-", "reached"
T = TypeVar("T")
Clock = Callable[[], datetime]
Passing = Callable[[WorldCall], Awaitable[CallAnswer]]
"""Passes a call to the real server."""


class JournalEntry(Value):
    """A call that was answered, as the journal keeps it."""

    server: Text
    tool: Text
    arguments: Json = {}
    answer: CallAnswer
    started_at: Annotated[Timestamp, Field(strict=False)]
    duration_ms: Annotated[float, Field(ge=0)] = 0.0


@dataclass(slots=True)
class Progress:
    """What the calls so far come to: the state, how often each tool and each recorded call was used, and the last results."""

    state: Json
    results: dict[tuple[str, ...], Json] = field(default_factory=dict[tuple[str, ...], Json])
    called: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    replayed: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    answers: list[CallAnswer] = field(default_factory=list[CallAnswer])

    def take(self, entry: JournalEntry, server: WorldServer) -> None:
        """Counts an entry of the journal."""
        self.answers.append(entry.answer)
        self.called[entry.server, entry.tool] += 1
        if server.mode == "replay" and entry.answer.source == "tape":
            self.replayed[replay_key(server, WorldCall(entry.server, entry.tool, entry.arguments))] += 1
        if entry.answer.state is not None:
            self.state = entry.answer.state
        if entry.answer.result is not None and entry.answer.error is None and not entry.answer.notes:
            self.results[entry.server, entry.tool] = entry.answer.result
            self.results.setdefault(
                (entry.server, entry.tool, canonical_arguments(entry.arguments)), entry.answer.result
            )

    def older(self, call: WorldCall) -> Json | None:
        """An earlier result of the tool: the first with these arguments, else the last with any."""
        key = (call.server, call.tool)
        return self.results.get((*key, canonical_arguments(call.arguments)), self.results.get(key))


def replay_key(server: WorldServer, call: WorldCall) -> tuple[str, str, str]:
    """Equal keys are the same recorded call."""
    return call.server, call.tool, canonical_arguments(call.arguments, server.ignore)


class UnitWorld(Value):
    """The definition of a world as one unit uses it.

    `base` is the folder that its paths start from, `unit` tells its draws from those of other units, `planted` attacks its agent.
    """

    world: World
    base: Text
    unit: str = ""
    planted: Planted | None = None


class WorldSession:
    """The world of one unit, answering calls. Its methods may be called by several processes on one folder."""

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self.folder = folder
        unit = UnitWorld.model_validate_json((folder / DEFINITION).read_bytes())
        self.world, self.base, self.planted = unit.world, Path(unit.base), unit.planted
        self._seed = f"{unit.world.seed}\n{unit.unit}"
        self.clock = clock
        self._lock = FileLock(folder / LOCK, thread_local=False)
        self._threads, self._depth = RLock(), 0
        self._progress = Progress(self.world.state)
        self.holdings = Holdings(folder, self.world)
        self.held: FileLock | None = None
        """By which the process that made the folder holds it."""
        self._read = 0
        self._is_reached = False
        self._tapes: dict[str, Tape] = {}

    def remove(self) -> None:
        """Removes the folder: what was in it is gone."""
        self.holdings.close()
        if self.held is not None:
            self.held.release()
        shutil.rmtree(self.folder, ignore_errors=True)

    def lose(self, server: str, reason: str) -> None:
        """Notes that a real server did not start, or ended in a call: what the agent did without it is not judged."""
        place = [*self.world.servers].index(server)
        with suppress(OSError):  # the folder is gone with its unit
            (self.folder / f"{LOST}{place}").write_text(f"the real server {server} of its world {reason}", "utf-8")

    def lost(self) -> str | None:
        """What is noted of the first real server that was lost, in whatever process; None where none was."""
        notes = sorted(self.folder.glob(f"{LOST}*"))
        return notes[0].read_text("utf-8") if notes else None

    def reach(self) -> None:
        """Notes that the agent connected to a server, in whatever process."""
        if not self._is_reached:
            self._is_reached = True
            with suppress(OSError):  # the folder is gone with its unit
                (self.folder / REACHED).touch()

    def is_reached(self) -> bool:
        """Whether the agent connected to any server."""
        return self._is_reached or (self.folder / REACHED).exists()

    def tape(self, server: str) -> Tape:
        """The tape of a server, read at its first use; raises `BadInputError` where it is none."""
        if server not in self._tapes:
            self._tapes[server] = tape_of(self.world.servers[server], self.base)
        return self._tapes[server]

    async def answer(self, call: WorldCall, *, passing: Passing | None = None) -> CallAnswer:
        """The answer to the call, once it is in the journal. `passing` reaches the real server, where the mode has one."""
        started, at = time.perf_counter(), utc(self.clock())
        server = self.world.servers[call.server]
        miss = None
        if server.mode not in STARTED and server.on_miss == "live" and passing is not None:
            miss = await self._in_turn(partial(self._missing, server, call))
        if (server.mode not in STARTED and miss is None) or self._is_honeypot(call):
            return await self._in_turn(partial(self.answer_now, call))
        assert passing is not None
        fault = await self._in_turn(partial(self._due, call))
        given = None if fault is None else lost(fault)
        if given is None:
            given = await passing(call)
        if fault is not None and fault.kind == "duplicate":
            given = await passing(call)
        if miss is not None and given.source == "real":
            given = given.model_copy(update={"miss": f"{miss.reason}; the real server answered"})
        return await self._in_turn(partial(self._settled, call, partial(_as_given, given), fault, started, at))

    async def _in_turn(self, work: Callable[[], T]) -> T:
        """Carries the work out at once where nobody else holds the folder, else in a thread that waits for its turn."""
        if self._threads.acquire(blocking=False):
            try:
                with self._turn(timeout_s=0):
                    return work()
            except Timeout:
                pass
            finally:
                self._threads.release()
        return await anyio.to_thread.run_sync(work)

    @contextmanager
    def _turn(self, timeout_s: float = -1) -> Generator[None]:
        """The folder is this thread's alone. The file is locked once, however often this is entered: it is half of a call's time."""
        with self._threads:
            outermost = self._depth == 0
            if outermost:
                if not self.folder.is_dir():  # the lock would make it anew
                    raise BadInputError(f"the world of this unit has ended: {self.folder} is gone.")
                self._lock.acquire(timeout=timeout_s)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if outermost:
                    self._lock.release()

    def answer_now(self, call: WorldCall) -> CallAnswer:
        """The answer of a server that needs no real one, once it is in the journal; raises `BadInputError` for another."""
        server = self.world.servers[call.server]
        if server.mode in STARTED and not self._is_honeypot(call):
            raise BadInputError(f"{call.server} is {server.mode}, and its tools are called over MCP.")
        decide = partial(self._decided, server, call)
        return self._settled(call, decide, self._due(call), time.perf_counter(), utc(self.clock()))

    def _missing(self, server: WorldServer, call: WorldCall) -> Miss | None:
        """Why the call is not on the tape, if it is not."""
        with self._turn():
            self._catch_up()
            found = self.tape(call.server).find(call, server.ignore, self._progress.replayed[replay_key(server, call)])
        return found if isinstance(found, Miss) else None

    def _is_honeypot(self, call: WorldCall) -> bool:
        return self.planted is not None and call.tool == self.planted.honeypot

    def _due(self, call: WorldCall) -> Fault | None:
        """The fault that this call of the tool meets."""
        if not self.world.faults:
            return None
        with self._turn():
            self._catch_up()
            return due(self.world.faults, call, self._progress.called[call.server, call.tool] + 1, self._seed)

    def tools(self, name: str) -> frozenset[str]:
        """The names of a server's tools, as far as they are known without the real server."""
        server = self.world.servers[name]
        if server.mode == "replay":
            return frozenset(str(tool.get("name")) for tool in self.tape(name).head.tools)
        return frozenset(tool.name for tool in server.tools)

    def _settled(
        self,
        call: WorldCall,
        decide: Callable[[Progress], CallAnswer],
        fault: Fault | None,
        started: float,
        at: datetime,
    ) -> CallAnswer:
        with self._turn():
            self._catch_up()
            self.holdings.take_turn(self._progress.answers)
            try:
                answer = self.holdings.told(self._hindered(call, decide, fault))
                duration_ms = (time.perf_counter() - started) * 1000
                self._append(JournalEntry(
                    server=call.server, tool=call.tool, arguments=call.arguments, answer=answer, started_at=at,
                    duration_ms=duration_ms,
                ))  # fmt: skip
            except BaseException:
                self.holdings.rollback()
                raise
            self.holdings.commit(len(self._progress.answers))
        return answer

    def _hindered(self, call: WorldCall, decide: Callable[[Progress], CallAnswer], fault: Fault | None) -> CallAnswer:
        """The answer with the fault that is due, and with the attack that is planted."""
        progress = self._progress
        answer = lost(fault) if fault is not None else None
        if answer is None:
            answer = decide(progress)
            if (
                fault is not None
                and fault.kind == "duplicate"
                and (answer.state is not None or self.holdings.has_changed)
            ):
                again = decide(replace(progress, state=answer.state or progress.state))
                answer = answer.model_copy(update={"state": again.state or answer.state})
            if fault is not None:
                answer = spoilt(fault, answer, progress.older(call))
        return answer if self.planted is None else in_result(self.planted, call, answer)

    def _decided(self, server: WorldServer, call: WorldCall, progress: Progress) -> CallAnswer:
        if self._is_honeypot(call):
            return CallAnswer(source="honeypot", result=tool_result("Forwarded."))
        if server.mode == "mock":
            number = progress.called[call.server, call.tool] + 1
            answer = mocked(server, call, progress.state, number, self.holdings)
            return answer.model_copy(update={"source": "honeypot"}) if call.tool in server.traps else answer
        before = progress.replayed[replay_key(server, call)]
        found = self.tape(call.server).find(call, server.ignore, before)
        if isinstance(found, TapedCall):
            return replayed(found)
        return missed(found, server)

    def entries(self) -> list[JournalEntry]:
        """The calls in the order in which they were answered."""
        with self._turn():
            return [JournalEntry.model_validate_json(line) for line in self._whole_lines(0)]

    def journal(self) -> tuple[str, ...]:
        """The lines of the journal, from which another session goes on."""
        with self._turn():
            return tuple(line.decode() for line in self._whole_lines(0))

    def take_up(self, journal: Sequence[str]) -> None:
        """Goes on after the calls of an earlier session of this unit; nothing was called in this one yet."""
        with self._turn():
            (self.folder / JOURNAL).write_bytes(b"".join(line.encode() + b"\n" for line in journal))
            self._catch_up()

    def state(self) -> Json:
        """The state after the last call."""
        with self._turn():
            self._catch_up()
            return self._progress.state

    def kept(self) -> tuple[str | None, dict[str, str | None] | None]:
        """The database as a script and the contents of the files after the last call, where the world has them."""
        with self._turn():
            self._catch_up()
            self.holdings.take_turn(self._progress.answers)
            return self.holdings.dump(), self.holdings.contents()

    def _whole_lines(self, since: int) -> list[bytes]:
        """The whole lines of the journal from that place on."""
        try:
            with (self.folder / JOURNAL).open("rb") as journal:
                journal.seek(since)
                content = journal.read()
        except FileNotFoundError:
            return []
        return content[: content.rfind(b"\n") + 1].splitlines()

    def _catch_up(self) -> None:
        for line in self._whole_lines(self._read):
            entry = JournalEntry.model_validate_json(line)
            self._progress.take(entry, self.world.servers[entry.server])
            self._read += len(line) + 1

    def _append(self, entry: JournalEntry) -> None:
        line = canonical(entry.model_dump(mode="json", exclude_none=True)).encode() + b"\n"
        descriptor = os.open(self.folder / JOURNAL, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, self._read)  # a line that a killed process left half written
            os.pwrite(descriptor, line, self._read)
        finally:
            os.close(descriptor)
        self._progress.take(entry, self.world.servers[entry.server])
        self._read += len(line)


def _as_given(answer: CallAnswer, _progress: Progress) -> CallAnswer:
    return answer


def replayed(call: TapedCall) -> CallAnswer:
    """The recorded answer."""
    return CallAnswer(source="tape", result=call.result, protocol_error=call.protocol_error)


def missed(miss: Miss, server: WorldServer) -> CallAnswer:
    """The answer to a call that is not on the tape, as the server's `on_miss` says."""
    if server.on_miss == "nearest" and miss.nearest is not None:
        return replayed(miss.nearest).model_copy(update={"source": "nearest", "miss": miss.reason})
    text = "This call is not part of the recorded world."
    return CallAnswer(source="none", result=tool_result(text, is_error=True), miss=miss.reason)


def tape_of(server: WorldServer, base: Path) -> Tape:
    """The tape that a server is answered from; raises `BadInputError` where it cannot be read, or lies outside of the folder."""
    path = base / confined_path(server.tape or "", field="tape")
    try:
        with opened_confined(path, base) as read:
            return read_tape(read.read(), str(path))
    except BadInputError as error:
        if path.is_file():
            raise
        raise BadInputError(f"no tape at {path}.", remedy="Set this server's mode to `record` once.") from error


def new_session(
    world: World, base: Path, *, clock: Clock, unit: str = "", planted: Planted | None = None
) -> WorldSession:
    """A fresh copy of the world in a temporary folder; `base` is where its tapes and commands are looked for."""
    home, held = taken_folder("world")
    definition = UnitWorld(world=world, base=str(base.resolve()), unit=unit, planted=planted)
    (home / DEFINITION).write_text(definition.model_dump_json(exclude_none=True), "utf-8")
    try:
        placed(world, base, home)
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise
    session = WorldSession(home, clock=clock)
    session.held = held
    return session

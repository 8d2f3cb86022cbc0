"""What goes wrong around the daemon for a while ends nothing: a store that cannot grow, a folder that cannot be used."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from agent.daemon import Agent
from agent.integrations.neighbours import RecordSource
from agent.integrations.reading import Reader
from agent.sources import watched_folder
from agent.status import Status, in_words, status
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.messages.send_message import Letter, Receipt, send_message
from minions_evals_mcp.ports import Arrived
from minions_evals_mcp.store.agent import inbox
from minions_evals_mcp.store.connection import open_raw
from tests.hang import HANG_S
from tests.shared.agent.desk import AGENT, Desk, Json
from tests.shared.agent.inside import QUICK
from tests.shared.agent.story import answer, case, rubrics

RUN: Json = {"type": "run-test-case", "payload": {"testCaseId": "c"}}
FULL = 4096
"""So large a file may become, which is less than the store is already."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A store with one case and a right answer to it."""
    desk = Desk(tmp_path)
    desk.imported(*rubrics(), case("c"), answer("a", "c", "good"))
    return desk


def test_lines_that_come_while_the_disk_is_full_are_done_once_it_is_not(desk: Desk) -> None:
    with desk.running("--stdin", "--retry-seconds", "0.05") as process:
        assert process.stderr is not None
        assert process.stdin is not None
        assert b"agent-started" in process.stderr.readline()
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (FULL, before[1]))
        process.stdin.write("".join(json.dumps({**RUN, "id": f"m{n}"}) + "\n" for n in range(5)).encode())
        process.stdin.flush()
        assert b"store-unusable" in process.stderr.readline()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)
        done = 0
        while done < 5:
            line = process.stderr.readline()
            assert line, "the daemon has ended"
            done += b"message-done" in line
    assert process.returncode == 0
    assert desk.rows("SELECT id, state FROM inbox WHERE type = 'run-test-case' ORDER BY seq") == [
        (f"m{number}", "done") for number in range(5)
    ]
    assert desk.sound()


def test_a_disk_that_stays_full_ends_nothing_and_is_said_in_the_status(desk: Desk) -> None:
    with desk.running("--stdin", "--retry-seconds", "0.05") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert b"agent-started" in process.stderr.readline()
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (FULL, before[1]))
        while b"lease-not-renewed" not in (line := process.stderr.readline()):
            assert line, "the daemon has ended"
        with closing(open_raw(desk.db)) as db:  # as if its lease had run out by now
            db.execute("UPDATE lease SET expires_at = taken_at")
        status = desk.status()
        assert status["running"] is True
        assert "MB are free" in str(status["cannotWrite"])
        assert "CANNOT WRITE" in desk.ran(AGENT, "status").out
        while b"lease-not-renewed" not in (line := process.stderr.readline()):
            assert line, "the daemon has ended"
        assert process.poll() is None
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)
        process.stdin.write(json.dumps({**RUN, "id": "m"}).encode() + b"\n")
        process.stdin.flush()
        while b"message-done" not in (line := process.stderr.readline()):
            assert line, "the daemon has ended"
        while desk.status()["cannotWrite"]:  # until its lease is renewed
            time.sleep(0.5)
    assert process.returncode == 0


class Down:
    """A source that answers nothing, and keeps when it was asked."""

    def __init__(self, looks: int) -> None:
        self.asked: list[float] = []
        self.enough = anyio.Event()
        self._looks = looks

    async def read(self) -> Sequence[Arrived]:
        """Fails."""
        self.asked.append(anyio.current_time())
        if len(self.asked) == self._looks:
            self.enough.set()
        raise InstrumentError("nobody is at home.")


async def test_a_source_that_stays_down_is_asked_less_and_less_often(engine: Engine) -> None:
    source = Down(looks=5)
    reader = Reader(Agent(engine, {}, "nobody", QUICK), RecordSource("down", source, 0.01))
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(reader.follow, once=False))
            await source.enough.wait()
            tasks.cancel_scope.cancel()
    waits = [later - earlier for earlier, later in pairwise(source.asked)]
    assert all(wait >= least for wait, least in zip(waits, (0.02, 0.04, 0.08, 0.16), strict=True)), waits


class Mended:
    """A source that is down until it is mended."""

    up = False

    async def read(self) -> Sequence[Arrived]:
        """Fails as long as it is down."""
        if not self.up:
            raise InstrumentError("nobody is at home.")
        return ()


async def test_a_source_that_is_down_is_told_in_the_status_until_it_is_up_again(engine: Engine) -> None:
    source = Mended()
    reader = Reader(Agent(engine, {}, "nobody", QUICK), RecordSource("crm", source, 0.01))

    async def seen(number: int) -> Status:
        """The status once so many sources are down."""
        while True:
            now = await engine.store.read(lambda db: status(db, now=engine.clock(), store=engine.config.db))
            if len(now.sources_down) == number:
                return now
            await anyio.sleep(0.005)

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(reader.follow, once=False))
            down = await seen(1)
            assert down.sources_down[0]["reason"] == "nobody is at home."
            assert "source crm is down since" in in_words(down)
            source.up = True
            await seen(0)
            tasks.cancel_scope.cancel()


def test_a_file_that_cannot_be_moved_away_is_told_of_once_and_holds_nothing_up(desk: Desk) -> None:
    folder = desk.folder / "incoming"
    folder.mkdir()
    (folder / "refused").write_text("no folder")
    (folder / "bad.json").write_text("{")
    os.utime(folder / "bad.json", (0, 0))
    (folder / "good.json").write_text(json.dumps({**RUN, "id": "good"}))
    in_words = desk.ran(AGENT, "drain", "--watch", "incoming")
    assert (in_words.code, in_words.err.count("watch-failed")) == (0, 1)
    assert desk.result("good")["state"] == "completed"


async def test_a_file_that_is_written_anew_while_it_is_taken_is_the_next_message(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, names = tmp_path / "incoming", iter(["first", "second"])

    def written() -> None:
        if (name := next(names, None)) is not None:
            (folder / "m.json").write_text(json.dumps({**RUN, "id": name}))
            os.utime(folder / "m.json", ns=(0, len(name)))

    async def sent_while_it_is_written(engine: Engine, letter: Letter, *, from_source: bool) -> Receipt:
        written()
        return await send_message(engine, letter, from_source=from_source)

    folder.mkdir()
    written()
    monkeypatch.setattr(watched_folder, "send_message", sent_while_it_is_written)
    await watched_folder.watch(Agent(engine, {}, "holder"), folder, once=True)
    assert [message.id for message in await engine.store.read(partial(inbox.newest, before=None, limit=3))] == [
        "second",
        "first",
    ]
    assert list(folder.iterdir()) == []


def test_a_broken_file_from_a_clock_that_is_ahead_is_refused_and_ends_the_draining(desk: Desk) -> None:
    folder = desk.folder / "incoming"
    folder.mkdir()
    (folder / "torn.json").write_text('{"type": "run-')
    ahead = time.time() + 3600
    os.utime(folder / "torn.json", (ahead, ahead))
    assert desk.ran(AGENT, "drain", "--watch", "incoming").code == 0
    assert (folder / "refused" / "torn.json").exists()


def test_a_watched_path_that_is_no_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "incoming").write_text("")
    in_words = desk.ran(AGENT, "run", "--watch", "incoming")
    assert (in_words.code, "Name a folder" in in_words.err) == (2, True)
    assert not desk.db.exists()

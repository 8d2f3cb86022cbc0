"""What goes wrong around the daemon for a while ends nothing: a store that cannot grow, a folder that cannot be used."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path

import pytest

from tests.agent.desk import AGENT, Desk, Json
from tests.agent.story import answer, case, rubrics

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


def test_a_file_that_cannot_be_moved_away_is_told_of_once_and_holds_nothing_up(desk: Desk) -> None:
    folder = desk.folder / "incoming"
    folder.mkdir()
    (folder / "refused").write_text("no folder")
    (folder / "bad.json").write_text("{")
    os.utime(folder / "bad.json", (0, 0))
    (folder / "good.json").write_text(json.dumps({**RUN, "id": "good"}))
    told = desk.ran(AGENT, "drain", "--watch", "incoming")
    assert (told.code, told.err.count("watch-failed")) == (0, 1)
    assert desk.result("good")["state"] == "completed"


def test_a_broken_file_from_a_clock_that_is_ahead_is_refused_and_ends_the_draining(desk: Desk) -> None:
    folder = desk.folder / "incoming"
    folder.mkdir()
    (folder / "torn.json").write_text('{"type": "run-')
    ahead = time.time() + 3600
    os.utime(folder / "torn.json", (ahead, ahead))
    assert desk.ran(AGENT, "drain", "--watch", "incoming", limit_s=30).code == 0
    assert (folder / "refused" / "torn.json").exists()


def test_a_watched_path_that_is_no_folder_is_refused_before_anything_runs(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "incoming").write_text("")
    told = desk.ran(AGENT, "run", "--watch", "incoming")
    assert (told.code, "Name a folder" in told.err) == (2, True)
    assert not desk.db.exists()

"""`watch`: a run at every change of a suite file, in a real process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, case, suite
from tests.hang import HANG_S
from tests.shared.cli.terminal import Terminal


@contextmanager
def watching(at: Terminal, *options: str) -> Generator[subprocess.Popen[bytes]]:
    """The command as it runs; killed at the end, if it lives still."""
    process = at.started("watch", *options)
    giving_up = threading.Timer(HANG_S, process.kill)
    giving_up.start()
    try:
        yield process
    finally:
        giving_up.cancel()
        process.kill()
        process.communicate()


def passed(stream: IO[bytes] | None) -> JsonValue:
    """How many cases passed in the next run that is told."""
    assert stream is not None
    return json.loads(stream.readline())["benchmarkRun"]["passedCount"]


def replaced(path: Path, content: JsonValue) -> None:
    """Writes the file as editors do: a new one in its place."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(path)


def overwritten(path: Path, content: JsonValue) -> None:
    """Writes into the file itself; at no moment is it empty or half written."""
    with path.open("r+") as file:
        file.write(json.dumps(content).ljust(path.stat().st_size))


def test_every_change_of_a_suite_file_is_imported_and_run(at: Terminal) -> None:
    runs = [answer("ra", "a", "green"), answer("rc", "c", "red")]
    cases = at.folder / at.file("cases.json", suite(case("a"), case("c"), benchmark("b", "a", "c")))
    at.file("runs.json", suite(*runs))
    with watching(at, "b", "cases.json", "runs.json", "--json") as process:
        assert passed(process.stdout) == 1
        replaced(cases, suite(case("a"), case("c", want="red"), benchmark("b", "a", "c")))
        assert passed(process.stdout) == 2
        replaced(cases, suite(case("a", want="?"), benchmark("b", "nobody")))
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["error"]["code"] == "invalid-record"
        overwritten(cases, suite(case("a", want="blue"), case("c", want="red"), benchmark("b", "a", "c")))
        assert passed(process.stdout) == 1
        os.kill(process.pid, signal.SIGINT)
        assert process.wait() == 0
    assert len(at.run("export", "--type", "benchmark-run").rows()) == 3


def test_watching_what_is_not_there_or_under_a_key_is_refused(at: Terminal) -> None:
    at.file("s.json", suite(case("a"), benchmark("b", "a")))
    none, key = at.many(["watch", "b", "none.yaml"], ["watch", "b", "s.json", "--key", "k"])
    assert none.code == key.code == 2
    assert "none.yaml cannot be read" in none.err
    assert "Leave --key out" in key.err

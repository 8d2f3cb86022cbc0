"""Commands that a clerk carries out one after another say and end as each does in a process started anew."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.hang import HANG_S
from tests.shared.cli.clerk import Clerks
from tests.shared.cli.installed import program
from tests.shared.cli.standby import Asked
from tests.shared.cli.terminal import CLI, Terminal, inherited

SEEN = """
import json, logging, os, signal, sys, threading, warnings
from minions_evals_mcp.cli.telling import UNDER_WAY
from minions_evals_mcp.known_secrets import masked as masked_text
masked = os.umask(0o22)
os.umask(masked)
try:
    os.waitpid(-1, os.WNOHANG)
    children = True
except ChildProcessError:
    children = False
warnings.warn("once")
print(json.dumps([
    os.getcwd(), dict(os.environ), sys.path, sys.argv, masked, children, threading.active_count(), logging.root.handlers,
    [str(signal.getsignal(one)) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)], "mine" in sys.modules,
    len(os.listdir("/proc/self/fd")), sys.stdin.read(), str(sys.meta_path), masked_text("not-to-be-told-0001"), UNDER_WAY,
]))
"""
"""What a command finds."""
LEFT = {
    "nothing": "",
    "a thread": "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "a child": "import subprocess, sys; sys.left = subprocess.Popen(['sleep', '1000'])",
    "an open file": "import sys; sys.left = open('left', 'w')",
    "a handler of a signal": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "a handler of logs": "import logging; logging.basicConfig()",
    "a place to import from": "import sys; sys.path.append('/nowhere')",
    "a finder of modules": "import sys; sys.meta_path.append(sys.meta_path[0])",
    "a module of its own": "import sys; sys.path.insert(0, '.'); open('mine.py', 'w').close(); import mine; del sys.path[0]",
    "a variable": "import os; os.environ['MINE'] = '1'",
    "another folder": "import os; os.mkdir('other'); os.chdir('other')",
    "other rights of files": "import os; os.umask(0)",
    "other streams": "import sys, io; sys.stdout = sys.stdin = io.StringIO()",
    "a secret": "from minions_evals_mcp.known_secrets import remember; remember(['not-to-be-told-0001'])",
    "a run under way": "from minions_evals_mcp.cli.telling import UNDER_WAY; UNDER_WAY.append('key')",
    "an error": "1 / 0",
    "its process": "import os; os._exit(3)",
    "a kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.fixture
def clerks() -> Generator[Clerks]:
    """None that another test has had, forked by a process that has imported what a script needs: else each would."""
    program("python")
    clerks = Clerks()
    yield clerks
    clerks.ended()


def ran(clerks: Clerks, folder: Path, code: str) -> tuple[int, str, str]:
    """How that Python ends, and what it says."""
    asked = Asked(["-u", "-c", code], str(folder), {**inherited(), "HOME": str(folder)}, "python")
    ended, out, err = clerks.carried_out(asked, b"typed", HANG_S)
    return ended, out.decode(), err.decode()


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_no_command_finds_what_one_before_it_left(clerks: Clerks, tmp_path: Path, left: str) -> None:
    first = ran(clerks, tmp_path, SEEN)
    ran(clerks, tmp_path, left)
    assert ran(clerks, tmp_path, SEEN) == first
    assert first[0] == 0, first
    assert "once" in first[2]


def test_one_process_carries_out_many_commands_that_leave_nothing(clerks: Clerks, tmp_path: Path) -> None:
    said = {ran(clerks, tmp_path, "import os; print(os.getpid())")[1] for _ in range(20)}
    assert len(said) == 1
    ran(clerks, tmp_path, LEFT["a handler of logs"])
    assert ran(clerks, tmp_path, "import os; print(os.getpid())")[1] not in said


@pytest.mark.parametrize(
    "code",
    ["print('é')", "import sys; sys.exit(3)", "import sys; sys.exit('why')", "1 / 0", "import os; os._exit(4)",
     f"import os; os.kill(os.getpid(), {signal.SIGKILL:d})", "raise KeyboardInterrupt"],
)  # fmt: skip
def test_a_program_ends_as_one_started_anew(clerks: Clerks, tmp_path: Path, code: str) -> None:
    anew = subprocess.run([sys.executable, "-u", "-c", code], capture_output=True, timeout=HANG_S, check=False)
    ended, out, err = ran(clerks, tmp_path, code)
    assert (ended, out) == (1 if "Interrupt" in code else anew.returncode, anew.stdout.decode())
    assert err.splitlines()[-1:] == anew.stderr.decode().splitlines()[-1:]


def test_files_of_one_name_in_two_folders_are_not_mixed_up(tmp_path: Path) -> None:
    for word in ("red", "green"):
        (tmp_path / word).mkdir()
        at = Terminal(tmp_path / word)
        at.file("answers.py", f"def answer(q):\n    return {word!r}\n")
        at.file(
            "s.yaml",
            "records:\n- {type: test-case, id: c, fields: {name: c, inputs: {q: x}, expectedOutputs: {output: x}}}\n",
        )
        assert at.run("import", "s.yaml").code == 0
        assert f"got “{word}”" in at.run("run-test-case", "c", "--target", "python:answers:answer").out


COMMANDS = (
    ("--help",), ("--version",), ("nothing",), ("list",), ("list", "test-case"), ("list", "test-case", "--json"), ("show", "no-one"),
    ("demo", "--help"), ("db", "check"), ("runs", "--json"), ("import", "missing.yaml"), ("eval", "missing.yaml", "--json"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("extra", "commands"), [({}, COMMANDS), ({"COLUMNS": "50"}, COMMANDS[::5])], ids=["plain", "narrow"]
)
def test_commands_in_a_row_say_and_end_as_each_started_anew(
    at: Terminal, extra: dict[str, str], commands: tuple[tuple[str, ...], ...]
) -> None:
    terminal = at.with_env(**extra)
    in_a_row = terminal.many(*commands)
    assert in_a_row == [terminal.carried_out([*CLI, *command]) for command in commands]

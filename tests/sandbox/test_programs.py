"""A program of the user's ends with all that it started, whatever that does to get away."""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.sandbox.keeper import descendants, parents, parents_by_ps
from minions_evals_mcp.sandbox.programs import NotStartedError, running
from tests.hang import HANG_S
from tests.sandbox.daemon import daemon, is_gone, is_there, linux, lives
from tests.shared.cli.terminal import ROOT

pytestmark = pytest.mark.anyio


MARK = f"600.{os.getpid()}"
"""So long the children sleep that this module starts: no others do."""


def sleeping() -> list[str]:
    """The command lines of those children that live."""
    found = list[str]()
    for one in parents():
        with suppress(OSError):  # it has ended meanwhile
            found.append(Path(f"/proc/{one}/cmdline").read_text())
    return [line for line in found if MARK in line and line.startswith("sleep")]


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


@linux
async def test_a_daemon_that_a_program_started_dies_when_the_program_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    async with running(python(f"{daemon(pid)}\ntime.sleep(600)")):
        process = await is_there(pid)
    assert not lives(process)


@linux
async def test_a_daemon_that_a_program_leaves_behind_dies_before_the_program_counts_as_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with anyio.fail_after(HANG_S):
        async with running(python(f"{daemon(pid)}\nraise SystemExit(3)")) as program:
            assert await program.wait() == 3
            assert not lives(int(pid.read_text()))


@linux
async def test_a_family_that_grows_while_it_is_killed_leaves_nobody() -> None:
    grow = f"grow() {{ sh -c 'sleep {MARK} & setsid sleep {MARK} & wait' & sleep 0.005; grow; }}; grow"
    async with running(["sh", "-c", grow], stderr=DEVNULL) as program:
        with anyio.fail_after(HANG_S):
            while len(descendants(program.pid, parents())) < 20:
                await anyio.lowlevel.checkpoint()
        assert sleeping()
    assert sleeping() == []


@linux
@pytest.mark.parametrize("name", ["INT", "HUP", "TERM"])
async def test_a_program_that_signals_its_keeper_to_end_is_ended_with_all_that_it_started(name: str) -> None:
    with anyio.fail_after(HANG_S):
        async with running(["sh", "-c", f"setsid sleep {MARK} & kill -{name} $PPID; sleep {MARK}"]) as program:
            assert await program.wait() == -signal.SIGKILL
            assert sleeping() == []


@linux
async def test_a_program_that_stops_its_keeper_is_ended_all_the_same() -> None:
    with anyio.fail_after(HANG_S):
        async with running(["sh", "-c", f"kill -STOP $PPID; setsid sleep {MARK}"]):
            while not sleeping():
                await anyio.lowlevel.checkpoint()
    assert sleeping() == []


@linux
async def test_a_program_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import anyio\nfrom minions_evals_mcp.sandbox.programs import running\n\n\nasync def go():\n"
        f"    async with running({python(daemon(pid) + 'time.sleep(600)')!r}) as program:\n"
        "        await program.wait()\n\n\nanyio.run(go)\n"
    )
    ours = await anyio.open_process([sys.executable, "-c", code], cwd=ROOT, stdout=DEVNULL, stderr=DEVNULL)
    await is_there(pid)
    ours.send_signal(signal.SIGKILL)
    await ours.wait()
    await is_gone(pid)
    await ours.aclose()


async def test_a_program_reads_writes_and_ends_as_if_nobody_stood_between() -> None:
    ends = "import os, signal, sys; sys.stdout.write(sys.stdin.read()); sys.stdout.flush(); "
    found: list[tuple[bytes, int]] = []
    with anyio.fail_after(HANG_S):
        for last in ("os._exit(7)", "os.kill(os.getpid(), signal.SIGTERM)", "os.kill(os.getpid(), signal.SIGKILL)"):
            async with running(python(ends + last)) as program:
                assert program.stdin is not None
                assert program.stdout is not None
                await program.stdin.send(b"said")
                await program.stdin.aclose()
                found.append((await program.stdout.receive(), await program.wait()))
    assert found == [(b"said", 7), (b"said", -signal.SIGTERM), (b"said", -signal.SIGKILL)]


async def test_a_program_has_its_environment_its_limits_and_no_pipe_but_three() -> None:
    code = (
        "import os, resource, signal; print(os.environ.get('A'), resource.getrlimit(resource.RLIMIT_CORE),"
        " [one for one in range(3, 64) if os.path.exists(f'/dev/fd/{one}')],"
        " signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    )
    with anyio.fail_after(HANG_S):
        async with running(python(code), env={"A": "b"}, limits={resource.RLIMIT_CORE: 0}) as program:
            assert program.stdout is not None
            assert await program.stdout.receive() == b"b (0, 0) [] set()\n"


@pytest.mark.parametrize("name", ["no-such-program-anywhere", "/", "nonsense"])
async def test_what_cannot_be_started_says_why(tmp_path: Path, name: str) -> None:
    nonsense = tmp_path / "nonsense"
    nonsense.write_bytes(b"\x7fELF")
    nonsense.chmod(0o755)
    with anyio.fail_after(HANG_S), pytest.raises(NotStartedError, match=r"No such file|Permission denied|Exec format"):
        async with running([str(nonsense) if name == "nonsense" else name]) as program:
            await program.wait()
    with anyio.fail_after(HANG_S), pytest.raises(NotStartedError, match="too long"):
        async with running([sys.executable, "-c", "pass", "x" * 10_000_000]):
            pass


@linux
@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="there is no ps")
def test_where_there_is_no_proc_the_same_family_is_found() -> None:
    assert parents_by_ps()[os.getpid()] == parents()[os.getpid()] == os.getppid()


@given(st.dictionaries(st.integers(1, 30), st.integers(0, 30), max_size=30), st.integers(0, 30))
def test_a_descendant_is_whoever_has_the_ancestor_in_its_line(parents: dict[int, int], ancestor: int) -> None:
    def line(one: int) -> set[int]:
        seen = set[int]()
        while one in parents and parents[one] not in seen:
            one = parents[one]
            seen.add(one)
        return seen

    assert descendants(ancestor, parents) == {one for one in parents if ancestor in line(one)}

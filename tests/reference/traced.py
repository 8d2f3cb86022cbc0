"""What a command does to the machine: every file that it opens for writing, program that it starts and address that it connects to.

Python's own audit events are listened to in a forked process, so no tracer has to be installed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minions_evals_mcp.cli.app import main

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
STARTS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.spawn"})


@dataclass(frozen=True, slots=True)
class Traced:
    """The paths that were written, the programs that were started, and where connections went or were awaited."""

    writes: tuple[str, ...]
    runs: tuple[str, ...]
    connects: tuple[str, ...]
    code: int


def traced(folder: Path, *words: str) -> Traced:
    """Runs the command in that folder, on the store `evals.db` there, with no key and nobody's consent."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            told = _carried_out(folder, words)
            with os.fdopen(writing, "w") as pipe:
                json.dump(told, pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = json.load(pipe)
    os.waitpid(child, 0)
    kinds = [tuple(dict.fromkeys(what for kind, what in told["events"] if kind == name)) for name in ("w", "r", "c")]
    return Traced(kinds[0], kinds[1], kinds[2], told["code"])


def _carried_out(folder: Path, words: Sequence[str]) -> dict[str, Any]:
    os.chdir(folder)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    around = os.environ  # noqa: TID251  the child's own
    for name in [*around]:
        if name.endswith("_API_KEY") or name.startswith(("MINIONS_EVALS_", "XDG_")):
            del around[name]
    around.update(HOME=str(home), MINIONS_EVALS_DB=str(folder / "evals.db"), TMPDIR=str(home))
    events: list[tuple[str, str]] = []

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if (
            event == "open"
            and isinstance(arguments[2], int)
            and arguments[2] & WRITING
            and not isinstance(arguments[0], int)
        ):
            events.append(("w", str(Path(os.fsdecode(arguments[0])).absolute())))
        elif event in STARTS:
            events.append(("r", str(arguments[0])))
        elif event in {"socket.connect", "socket.bind", "socket.sendto"}:
            events.append(("c", f"{event} {arguments[1]}"))
        elif event in {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"}:
            named = arguments[:2] if event == "os.rename" else arguments[:1]
            events.extend(("w", str(Path(os.fsdecode(path)).absolute())) for path in named)

    code = 0
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115  the process ends with it
        sys.addaudithook(heard)
        try:
            sys.argv = ["minions-evals", *words]
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException as error:  # noqa: BLE001  what it did until then is told
            events.append(("r", f"broke: {error!r}"))
    return {"events": events, "code": code}

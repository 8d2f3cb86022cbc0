"""The command line as a process of its own, in an environment that holds nothing of the caller's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from tests.hang import HANG_S
from tests.shared.cli.clerk import UNMEASURED_CLERKS
from tests.shared.cli.standby import UNMEASURED, Asked

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Told:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


def clean_environment(home: Path) -> dict[str, str]:
    """A home and a path; no key, no setting of ours, and no coverage, which would write on the disks that tests break."""
    path = os.environ.get("PATH", "")  # noqa: TID251  the child's way to its programs
    return {"HOME": str(home), "XDG_DATA_HOME": str(home), "PATH": path, "PYTHONPATH": str(ROOT)}


def measured() -> dict[str, str]:
    """What has coverage measure a child as well; nothing where nobody measures."""
    around = os.environ  # noqa: TID251  coverage's own variables
    return {name: value for name, value in around.items() if name.startswith("COVERAGE_")}


async def told(home: Path, *arguments: str, program: str = "minions-evals") -> Told:
    """What the command answers, carried out by a clerk, or Python with those arguments: one on standby forks it."""
    asked = Asked([*arguments], str(ROOT), clean_environment(home), program)
    by = UNMEASURED_CLERKS if program == "minions-evals" else UNMEASURED
    code, out, err = await anyio.to_thread.run_sync(by.carried_out, asked, b"", HANG_S)
    return Told(code, out.decode(), err.decode())


async def ran(home: Path, *command: str) -> Told:
    """What the program answers."""
    done = await anyio.run_process(command, check=False, env=clean_environment(home))
    return Told(done.returncode, done.stdout.decode(), done.stderr.decode())

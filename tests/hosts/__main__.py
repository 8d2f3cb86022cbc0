"""Installs the hosts and drives them: python -m tests.hosts [--hosts A,B] [--tasks A,B] [--server PROGRAM] [--sessions N] [--install].

A line for each task and host: calls, tokens of the answers as the host's model gets them, and how it ended. `--server` is the
program of another version of ours, for figures beside it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import anyio

from tests.hosts.driving import OURS, driven, sessions
from tests.hosts.programs import HOSTS, PROGRAMS
from tests.hosts.tasks import TASKS


async def _driven(hosts: list[str], tasks: list[str], server: Path) -> int:
    failed = 0
    for task in tasks:
        for host in hosts:
            with TemporaryDirectory() as folder:
                begun = monotonic()
                done = await driven(host, task, Path(folder), server)
            is_right = done.ended and not done.missing
            failed += not is_right
            told = "right" if is_right else f"WRONG: not told {done.missing} {done.error[:300]}"
            sys.stdout.write(
                f"{task:13} {host:12} {done.calls:2} calls {done.tokens:6,} tokens, tools {done.catalogue:6,},"
                f" {monotonic() - begun:4.1f} s  {told}\n"
            )
            sys.stdout.flush()
    return failed


async def _sessions(hosts: list[str], number: int) -> int:
    failed = 0
    for host in hosts:
        with TemporaryDirectory() as folder:
            states = await sessions(host, number, Path(folder))
        failed += states != {"completed": number}
        sys.stdout.write(f"{host:12} {number} headless sessions: {states}\n")
        sys.stdout.flush()
    return failed


def main() -> None:
    """Exit 1 where a task did not end right."""
    wanted = argparse.ArgumentParser(description="Drive real MCP hosts with scripted models.")
    wanted.add_argument("--hosts", default=",".join(PROGRAMS))
    wanted.add_argument("--tasks", default=",".join(TASKS))
    wanted.add_argument("--server", type=Path, default=OURS)
    wanted.add_argument(
        "--sessions", type=int, default=0, help="so many headless sessions in each host instead of the tasks"
    )
    wanted.add_argument("--install", action="store_true", help="install the hosts, and drive none")
    given = wanted.parse_args()
    HOSTS.install()
    hosts = given.hosts.split(",")
    if given.install:
        return
    failed = (
        anyio.run(_sessions, hosts, given.sessions)
        if given.sessions
        else anyio.run(_driven, hosts, given.tasks.split(","), given.server)
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

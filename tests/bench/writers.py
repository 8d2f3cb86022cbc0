"""Writers that race on one file, some of them killed: every row that was acknowledged is there, and the store is whole.

`python -m tests.bench.writers [--writers 8] [--writes 1000] [--killed 2]`. Exit 1 where a row is lost or `db check --deep` finds anything.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.streams.text import TextReceiveStream

from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.database import open_store
from tests.shared.store.command_line import clean_environment


@dataclass(slots=True)
class Race:
    """So many rows were acknowledged; those of them that are not there, and what is wrong with the store."""

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list[str])
    problems: tuple[str, ...] = ()


async def raced(folder: Path, *, writers: int, writes: int, killed: int) -> Race:
    """How the race ended; each of the killed writers is killed at another third of its work."""
    path, heard = folder / "evals.db", dict[str, list[str]]()

    async def write(number: int) -> None:
        name = f"w{number}"
        command = [sys.executable, "-m", "tests.store.writer", str(path), name, str(writes)]
        last = writes * (number + 1) // (killed + 1) if number < killed else None
        async with await anyio.open_process(
            command, env=clean_environment(folder), stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            said = ""
            async for part in TextReceiveStream(process.stdout):
                said += part
                if last is not None and said.count("\n") >= last:
                    process.kill()
                    break
            heard[name] = said.split("\n")[:-1]

    async with anyio.create_task_group() as tasks:
        for number in range(writers):
            tasks.start_soon(write, number)
    acknowledged = {ident for lines in heard.values() for ident in lines}
    async with open_store(path, read_only=True) as store:
        there = await store.read(lambda db: {row[0] for row in db.execute("SELECT id FROM minion")})
    return Race(len(acknowledged), sorted(acknowledged - there), (await check_store(path, deep=True)).problems)


def main() -> None:
    """Races."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--writers", type=int, default=8)
    wanted.add_argument("--writes", type=int, default=1000)
    wanted.add_argument("--killed", type=int, default=2)
    options = wanted.parse_args()
    with tempfile.TemporaryDirectory() as folder:

        async def race() -> Race:
            return await raced(Path(folder), writers=options.writers, writes=options.writes, killed=options.killed)

        found = anyio.run(race)
    sys.stdout.write(
        f"{options.writers} writers, {options.killed} killed: {found.acknowledged} rows acknowledged, {len(found.lost)} lost;"
        f" {'; '.join(found.problems) or 'the store is whole'}\n"
    )
    sys.exit(1 if found.lost or found.problems else 0)


if __name__ == "__main__":
    main()

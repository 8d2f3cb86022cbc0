"""Headless hosts: one that ends once it has its answer, however it ends its server, leaves no run open."""

from __future__ import annotations

import signal
import sys
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from minions_evals_mcp.store.connection import open_raw
from tests.hang import HANG_S
from tests.shared.cli.standby import STANDBYS
from tests.shared.server.hosts import suite
from tests.shared.server.wire import environment, wired

SESSIONS = 8
"""Each way to end twice, with the default wait and with one that is asked for; `python -m tests.server.test_headless 30` has more."""
CASES = 26
"""As many as the hosts were measured with when all their runs were lost."""
ENDS = ("stdin", signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
"""How hosts end their server: a `-p` run of Claude Code closes stdin or interrupts, Codex terminates, a pipeline kills."""


async def sessions(folder: Path, number: int) -> None:
    """So many headless sessions on one store: in each a rule-judged benchmark is run, and the host ends with its answer."""
    env = environment(folder)
    for session, end in enumerate(islice(cycle(ENDS), number)):
        more = {"waitSeconds": 20} if session >= number / 2 else {}  # by default the call waits until it is done
        async with wired(env) as wire:
            if not session:
                await wire.call("save_records", records=suite(CASES, bad=0))
            answer = await wire.call("run_benchmark", benchmarkId="b", idempotencyKey=f"session-{session}", **more)
            assert answer["state"] == "completed", f"session {session} was told {answer['summary']}"
            assert f"{CASES} of {CASES} passed" in str(answer["summary"])
            if isinstance(end, signal.Signals):
                wire.process.send_signal(end)
            else:
                assert wire.process.stdin is not None
                await wire.process.stdin.aclose()
            await wire.process.wait()
    with closing(open_raw(folder / "evals.db", read_only=True)) as db:
        states = [tuple(row) for row in db.execute("SELECT state, count(*) FROM job GROUP BY state")]
        assert states == [("completed", number)]


async def test_no_run_is_open_after_headless_sessions(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        await sessions(tmp_path, SESSIONS)


if __name__ == "__main__":
    with TemporaryDirectory() as there:
        anyio.run(sessions, Path(there), int(sys.argv[1]))
    STANDBYS.ended()
    sys.stdout.write(f"{sys.argv[1]} headless sessions, no run left open\n")

"""The crash test in full: 200 mixed messages, SIGKILL at 30 random moments. `python -m tests.bench.daemon.agent_crash [SEED]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.shared.agent.crash import crashed, told_keys, verify
from tests.shared.agent.desk import Desk

MESSAGES, KILLS = 200, 30


def main() -> None:
    """Prints what it took; fails where anything is lost or done twice."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        done = crashed(desk, messages=MESSAGES, kills=KILLS, seed=seed)
        verify(desk, MESSAGES)
        lines = sum(len(path.read_text("utf-8").splitlines()) for path in (desk.folder / "out").iterdir())
        ((rows,),) = desk.rows("SELECT count(*) FROM outbox")
        sys.stdout.write(
            f"seed {seed}: {MESSAGES} messages, {done.kills} kills ({done.at_work} with messages to do), {done.seconds:.0f} s; "
            f"{rows} deliveries in {lines} lines under {len(told_keys(desk))} keys; store sound\n"
        )


if __name__ == "__main__":
    main()

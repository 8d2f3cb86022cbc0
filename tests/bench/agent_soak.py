"""A soak of the daemon among neighbours: agent-runs arrive in a file, benchmarks run, both neighbours fail: the orchestrator's MCP
server goes and comes, and so does the file.

`python -m tests.bench.agent_soak [--seconds 3600] [--per-second 3]`: a line for each part of it (memory, lag, what is queued), at the
end what was told against what was queued, and `db check --deep`. Exit 1 where anything is lost, out of order or unsound. The daemon is
started anew for each of the twelve parts, every five minutes of an hour: ended by SIGTERM and, every second time, by SIGKILL.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from tests.bench.daemon.agent import process_seconds, resident_mb, said, told_by_mcp
from tests.shared.agent.desk import EVALS, Desk, message
from tests.shared.agent.story import answer, case, measured, rubrics

CASES = 10
PARTS = 12
BENCHMARK_EVERY_S = 3.0
SETTLE_S = 120.0


def work_for(file: TextIO, process: subprocess.Popen[bytes], seconds: float, *, first: int, per_second: float) -> int:
    """Agent-runs arrive and benchmarks are asked for; the number of the next agent-run."""
    assert process.stdin is not None
    began, number, asked = time.monotonic(), first, 0
    while (elapsed := time.monotonic() - began) < seconds:
        while number < first + elapsed * per_second:
            text = "good" if number % 3 else "bad"
            run = answer(f"run{number}", f"c{number % CASES}", text)
            file.write(json.dumps(run) + "\n")
            number += 1
        file.flush()
        if elapsed >= asked * BENCHMARK_EVERY_S:
            asked += 1
            version = "v2" if asked % 4 == 0 else "v1"
            wanted = message(
                f"b{number}-{asked}", "run-benchmark", benchmarkId="b", promptVersionRef=version, fresh=True
            )
            process.stdin.write(json.dumps(wanted).encode() + b"\n")
            process.stdin.flush()
        time.sleep(0.05)
    return number


def waits(desk: Desk) -> tuple[int, int]:
    """The messages that are pending, and the rows that are not delivered to the orchestrator."""
    ((messages, rows),) = desk.rows(
        "SELECT (SELECT count(*) FROM inbox WHERE state = 'pending'),"
        " (SELECT count(*) FROM delivery WHERE state = 'pending' AND addressee = 'orchestrator')"
    )
    return messages, rows


def soak(desk: Desk, how: Sequence[str], down: Path, *, seconds: float, per_second: float) -> int:
    """Works in parts, each with a daemon of its own; so many agent-runs arrived.

    In each third part the orchestrator is out of order, in each third one the file of agent-runs is away for half of it.
    """
    number, spent = 0, 0.0
    source, away = desk.folder / "runs.jsonl", desk.folder / "runs.away"
    with source.open("a") as file:
        for part in range(PARTS):
            with desk.running("--stdin", "--retry-seconds", "0.5", *how) as process:
                _read_away(process)
                if part % 3 == 1:
                    down.touch()
                if part % 3 == 2:
                    source.rename(away)
                    threading.Timer(seconds / PARTS / 2, away.rename, (source,)).start()
                number = work_for(file, process, seconds / PARTS, first=number, per_second=per_second)
                pending, waiting = waits(desk)
                said(
                    f"part {part}: memory", resident_mb(process.pid), f"MB, {pending} messages and {waiting} rows wait"
                )
                spent += process_seconds(process.pid)
                down.unlink(missing_ok=True)
                if part % 2:
                    process.kill()
                    process.wait()
    with desk.running("--stdin", "--retry-seconds", "0.5", *how) as process:
        _read_away(process)
        deadline = time.monotonic() + SETTLE_S
        while (any(waits(desk)) or len(judged(desk)) < number) and time.monotonic() < deadline:
            time.sleep(0.1)
    said("CPU", 100 * spent / seconds, "%")
    return number


def _read_away(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    threading.Thread(target=process.stderr.read, daemon=True).start()


def judged(desk: Desk) -> dict[str, int]:
    """How often each agent-run that arrived was judged."""
    return dict(desk.rows("SELECT agent_run_id, count(*) FROM test_run WHERE agent_run_id LIKE 'run%' GROUP BY 1"))


def losses(desk: Desk, told: Path, arrived: int) -> list[str]:
    """What was lost, told out of order, or is unsound."""
    queued = [key for (key,) in desk.rows("SELECT key FROM outbox WHERE addressee = 'orchestrator' ORDER BY seq")]
    heard = [json.loads(line)["key"] for line in told.read_text().splitlines()]
    counted = judged(desk)
    missing = sorted({f"run{number}" for number in range(arrived)} - counted.keys())
    found = {
        f"{len(queued)} rows queued, {len(heard)} told, other than in their order": list(dict.fromkeys(heard))
        != queued,
        f"of {arrived} agent-runs these were not judged: {', '.join(missing[:20])}": bool(missing),
        "an agent-run was judged twice": any(count != 1 for count in counted.values()),
        "messages are dead": desk.rows("SELECT count(*) FROM inbox WHERE state = 'dead'") != [(0,)],
    }
    said("agent-runs judged", len(counted), f"of {arrived}; {len(heard)} of {len(queued)} rows told in order")
    checked = desk.ran(EVALS, "db", "check", "--deep", limit_s=600)
    found[f"the store is not sound: {checked.out}"] = checked.code != 0
    return [what for what, is_so in found.items() if is_so]


def main() -> None:
    """Soaks."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--seconds", type=float, default=3600)
    wanted.add_argument("--per-second", type=float, default=3)
    options = wanted.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        cases = [case(f"c{number}", expectedOutputs={"output": "good"}, rubricId=None) for number in range(CASES)]
        desk.imported(*rubrics(), *cases, *measured("b", 8, {"v1": 8, "v2": 2}))
        told, how = told_by_mcp(desk)
        file = desk.folder / "neighbours.yaml"
        file.write_text(json.dumps({**json.loads(file.read_text()), "read": {"runs": {"path": "runs.jsonl"}}}))
        down = told.parent / "down"
        arrived = soak(desk, how, down, seconds=options.seconds, per_second=options.per_second)
        lost = losses(desk, told, arrived)
    sys.exit("\n".join(lost) if lost else 0)


if __name__ == "__main__":
    main()

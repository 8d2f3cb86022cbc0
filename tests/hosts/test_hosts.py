"""Ten tasks in each of four real hosts: the same verdict in all, every fact told, and for far fewer tokens than once."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tests.hosts.driving import driven
from tests.hosts.programs import HOSTS, LONGEST_S, PROGRAMS
from tests.hosts.tasks import TASKS

ONCE = {
    "from-nothing": 398, "run": 3034, "judge": 1989, "compare": 1456, "approve": 1588, "audit": 402, "explain": 3389, "people": 976,
    "cancel": 376, "resume": 1659,
}  # fmt: skip
"""Tokens of the answers in Claude Code at 1e73a248: `python -m tests.hosts --hosts claude-code --server …/minions-evals-mcp` there."""
OF_ONCE = 0.85


@pytest.mark.parametrize("host", PROGRAMS)
@pytest.mark.parametrize("task", TASKS)
async def test_a_task_ends_right_in_every_host(tmp_path: Path, host: str, task: str) -> None:
    HOSTS.require()
    with anyio.fail_after(LONGEST_S + 30):
        done = await driven(host, task, tmp_path)
    assert done.ended, f"{done.error}\n{done.printed[-2000:]}"
    assert done.missing == ()
    if host == "claude-code":
        assert done.tokens <= OF_ONCE * ONCE[task]

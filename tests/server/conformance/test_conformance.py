"""The official conformance suite over HTTP, against our server with its fixtures. It needs Node: python -m tests.node_clients."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.hang import HANG_S
from tests.node_clients import MODULES, node
from tests.server.conformance.asking import register_asking
from tests.server.conformance.fixtures import register_fixtures
from tests.server.conformance.tasks import tasks_server
from tests.shared.server.web import on_the_web
from tests.workshop import config_in, opened

# The suite calls what the SDK has deprecated: 2025-era clients still do.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
LINE = re.compile(r"^([✓✗]) ([\w-]+): (\d+) passed, (\d+) failed$", re.MULTILINE)
UNSCORED = re.compile(r"^  [✓✗] ([\w-]+) \(", re.MULTILINE)
TASKS = (
    "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
    "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
)  # fmt: skip
"""The tenth, status-notifications, is switched off in the suite itself."""


async def _said(url: str, *arguments: str) -> tuple[int, str]:
    command = [node(), str(SUITE), "server", "--url", url, *arguments]
    done = await anyio.run_process(command, check=False, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode()


def _failed(said: str, among: Sequence[str]) -> list[str]:
    return [found[0] for found in LINE.finditer(said) if found[2] in among and (found[1] == "✗" or found[3] == "0")]


@pytest.mark.parametrize(("revision", "scored"), [("2026-07-28", 37), ("2025-11-25", 30)])
async def test_every_scored_scenario_of_the_revision_passes(tmp_path: Path, revision: str, scored: int) -> None:
    node()
    session = ServerSession(lambda: opened(config_in(tmp_path)))
    server = build_server(session, ServerOptions())
    register_fixtures(server)
    register_asking(server)
    with anyio.fail_after(HANG_S):
        async with on_the_web(server, session) as door:
            code, said = await _said(door.url, "--requirements", revision)
    unscored = UNSCORED.findall(said)
    names = [found[2] for found in LINE.finditer(said) if found[2] not in unscored]
    assert (code, len(names), _failed(said, names)) == (0, scored, []), said[-4000:]


async def test_the_nine_scenarios_of_the_tasks_extension_pass(tmp_path: Path) -> None:
    node()
    session = ServerSession(lambda: opened(config_in(tmp_path)))
    said = ""
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as going:
            async with on_the_web(tasks_server(going), session) as door:
                _, said = await _said(
                    door.url, "--requirements", "2026-07-28"
                )  # these fixtures serve no other scenario
            going.cancel_scope.cancel()
    assert {found[2] for found in LINE.finditer(said)} >= set(TASKS)
    assert _failed(said, TASKS) == [], said[-4000:]

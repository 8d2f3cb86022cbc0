"""Real clients over stdio: the Python SDK's, the TypeScript SDK's, and the Inspector. The latter two need Node."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from mcp import Client, stdio_client

from tests.hang import HANG_S
from tests.node_clients import MODULES, node
from tests.server.story import LIVED, SCORES, lived, records, relations
from tests.shared.cli.installed import program
from tests.shared.cli.terminal import Terminal
from tests.shared.server.hosts import ERAS, Host
from tests.shared.server.wire import environment, forked
from tests.shared.store.command_line import measured
from tests.workshop import Json

STORY = Path(__file__).parents[1] / "node" / "story.mjs"
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"


@pytest.mark.parametrize("era", ERAS)
async def test_the_python_client_lives_the_story(tmp_path: Path, era: str) -> None:
    server = forked(tmp_path)
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(server), mode=era) as client:
            assert await lived(Host(client)) == LIVED


@pytest.mark.parametrize("era", ERAS)
async def test_the_typescript_client_lives_the_story(tmp_path: Path, era: str) -> None:
    told: Json = {
        "command": program("minions-evals-mcp"), "args": [], "env": {**environment(tmp_path)}, "records": records(),
        "relations": relations(), "scores": {**SCORES},
    }  # fmt: skip
    with anyio.fail_after(HANG_S):
        done = await anyio.run_process(
            [node(), str(STORY), str(MODULES), era], input=json.dumps(told).encode(), check=False
        )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert json.loads(done.stdout) == LIVED


async def _inspected(folder: Path, era: str, *arguments: str) -> str:
    """What the Inspector printed; fails where its exit code tells of an error."""
    seen = {name: value for name, value in environment(folder).items() if name not in measured()}
    given = [one for name, value in seen.items() for one in ("-e", f"{name}={value}")]
    command = [
        node(),
        str(INSPECTOR),
        "--cli",
        *given,
        "--protocol-era",
        era,
        *arguments,
        "--",
        program("minions-evals-mcp"),
    ]
    home = {"HOME": str(folder), "PATH": f"{Path(node()).parent}:/usr/bin:/bin"}
    with anyio.fail_after(HANG_S):
        done = await anyio.run_process(command, check=False, env=home)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()[-3000:]
    return done.stdout.decode()


QUALITY = "support/quality"
ONE, TWO = "support/prompt@1", "support/prompt@2"
WAIT: Json = {"waitSeconds": 50}
FIVE: tuple[tuple[str, Json], ...] = (
    ("run_test_case", {"testCaseId": "support/refund-within-window", "promptVersionRef": ONE, **WAIT}),
    ("run_benchmark", {"benchmarkId": QUALITY, "promptVersionRef": TWO, "idempotencyKey": "k", **WAIT}),
    ("compare_prompt_versions", {"benchmarkId": QUALITY, "versionA": ONE, "versionB": TWO, **WAIT}),
    ("classify_failure", {"id": "k"}),
    ("detect_trend", {"benchmarkId": QUALITY}),
)


@pytest.mark.parametrize(("era", "called"), [("legacy", FIVE[:1]), ("modern", FIVE)])
async def test_the_inspector_finds_no_fault_with_tools_and_calls_the_five_on_the_demo(
    tmp_path: Path, era: str, called: Sequence[tuple[str, Json]]
) -> None:
    node()
    at = Terminal(tmp_path)
    assert at.run("demo", "--db", str(at.db)).code == 0
    listed = await _inspected(tmp_path, era, "--method", "tools/list", "--strict")
    assert '"send_message"' in listed
    for tool, asked in called:
        said = await _inspected(
            tmp_path, era, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(asked)
        )
        assert "structuredContent" in said
    if era == "legacy":  # the load is borne by what both eras share
        return
    loaded = await _inspected(
        tmp_path, era, "--method", "tools/call", "--tool-name", "list_records", "--tool-args-json", '{"type": "benchmark"}',
        "--load", "--load-concurrency", "32", "--load-requests", "320", "--format", "json",
    )  # fmt: skip
    figures = json.loads(loaded)["result"]
    assert (figures["requests"], figures["concurrency"], figures["errors"]) == (320, 32, 0)

"""The real process: nothing but protocol on stdout, logs on stderr, a bad start that says why, a kill that loses nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import pytest
from mcp import Client, stdio_client
from pydantic import JsonValue

from minions_evals_mcp.server.catalogue import CATALOGUE
from minions_evals_mcp.server.session.background_runs import CLOSED
from minions_evals_mcp.store.connection import open_raw
from tests.hang import HANG_S
from tests.shared.cli.installed import program
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.server.hosts import ERAS, Host, read_by_people, suite
from tests.shared.server.wire import environment, forked, wired
from tests.workshop import config_in, minion, opened, save


@pytest.mark.parametrize("era", ERAS)
async def test_a_suite_is_run_over_stdio_in_either_era(tmp_path: Path, era: str) -> None:
    server = forked(tmp_path)
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(server), mode=era) as client:
            host = Host(client)
            assert [tool.name for tool in (await client.list_tools()).tools] == list(CATALOGUE)
            await host.call("save_records", records=suite(3))
            answer = await host.call("run_benchmark", benchmarkId="b", waitSeconds=50)
            assert "2 of 3 passed" in str(answer["summary"])


async def test_stdout_carries_protocol_only_and_closing_stdin_ends_the_process(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        async with wired(environment(tmp_path), anew=True) as wire:
            tools = await wire.ask("tools/list")
            assert len(cast("list[JsonValue]", tools["tools"])) == len(CATALOGUE)
            await wire.call("save_records", records=suite(2))
            await wire.call("run_benchmark", benchmarkId="b", waitSeconds=50)
            assert wire.process.stdin is not None
            await wire.process.stdin.aclose()
            assert await wire.process.wait() == 0


async def test_a_killed_server_leaves_a_run_that_the_next_start_resumes_by_itself(tmp_path: Path) -> None:
    """Nothing that was judged before the kill is judged again, and nobody has to ask for the rest."""
    size = 12
    with anyio.fail_after(HANG_S):
        async with serving(FakeSettings(latency_ms=150)) as judge:
            env = environment(
                tmp_path, ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=judge.url, MINIONS_EVALS_JUDGE_MODEL="anthropic:fake-judge",
                MINIONS_EVALS_CONCURRENCY="2",
            )  # fmt: skip
            async with wired(env, anew=True) as wire:
                await wire.call("save_records", records=read_by_people(size))
                begun = await wire.call("run_benchmark", benchmarkId="b", judge="llm", idempotencyKey="k")
                while judge.requests < 4:  # noqa: ASYNC110  another process's calls wake nobody here
                    await anyio.sleep(0.01)
                wire.process.send_signal(signal.SIGKILL)
                await wire.process.wait()
            asked = judge.requests
            with closing(open_raw(tmp_path / "evals.db", read_only=True)) as db:
                ((kept,),) = db.execute("SELECT count(*) FROM verdict")
            async with wired(env) as wire:
                done = await wire.call("get_run", runId="k", waitSeconds=50)
                assert (done["runId"], done["state"]) == (begun["runId"], "completed")
                assert "of 12 passed" in str(done["summary"])
            assert size <= judge.requests <= asked + 2 + size - kept, "what is kept is not asked again"


ENTRY = (sys.executable, "-c", "from minions_evals_mcp.server.entry import server; server()")
CLIENT: JsonValue = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def said(method: str, ident: int | None = None, **params: JsonValue) -> bytes:
    """A line of the 2025 era."""
    about: dict[str, JsonValue] = {} if ident is None else {"id": ident}
    return json.dumps({"jsonrpc": "2.0", **about, "method": method, "params": params}).encode() + b"\n"


def left_in_the_middle(env: dict[str, str], after_s: float) -> tuple[int, str]:
    """How a server ends, and what it says, whose client closes both pipes so long after it asked to wait for a run."""
    asked = [
        said("initialize", 1, **cast("dict[str, JsonValue]", CLIENT)),
        said("notifications/initialized"),
        said("tools/call", 2, name="run_benchmark", arguments={"benchmarkId": "b", "idempotencyKey": "k", "waitSeconds": 0}),
        said(
            "tools/call", 3, name="get_run", arguments={"runId": "k", "waitSeconds": 30}, _meta={"progressToken": "p"}
        ),
    ]  # fmt: skip
    with subprocess.Popen(
        ENTRY, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        server.stdin.write(b"".join(asked[:3]))
        server.stdin.flush()
        while b'"id":2' not in server.stdout.readline():
            pass
        server.stdin.write(asked[3])
        server.stdin.flush()
        time.sleep(after_s)  # the moment is what is tried
        server.stdin.close()
        server.stdout.close()
        told = server.stderr.read().decode()
        return server.wait(HANG_S), told


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
async def test_a_client_that_closes_both_pipes_while_a_run_ends_is_no_crash_and_the_run_goes_on(
    tmp_path: Path, after_s: float
) -> None:
    size = 80
    env = environment(tmp_path)
    async with opened(config_in(tmp_path)) as engine:
        records = cast("list[dict[str, Any]]", suite(size))
        await save(engine, [minion(one["id"], one["type"], **one["fields"]) for one in records])
    code, told = await anyio.to_thread.run_sync(left_in_the_middle, env, after_s)
    assert code == 0, told
    assert "broke" not in told
    assert "Traceback" not in told
    with closing(open_raw(tmp_path / "evals.db", read_only=True)) as db:
        ((state, reason),) = db.execute("SELECT state, reason FROM job")
    assert (state, reason) in {("completed", ""), ("stopped", CLOSED)}
    async with wired(env) as wire:
        done = await wire.call("get_run", runId="k", waitSeconds=50)
        assert done["state"] == "completed"
        assert f"of {size} passed" in str(done["summary"])


@pytest.mark.parametrize(
    ("arguments", "more", "why"),
    [
        (["--toolsets", "nope"], {}, "unknown toolset 'nope'"),
        ([], {"MINIONS_EVALS_DBB": "x"}, "MINIONS_EVALS_DBB is unknown"),
    ],
)
def test_a_bad_start_says_why_on_stderr_and_exits_2(
    tmp_path: Path, arguments: list[str], more: dict[str, str], why: str
) -> None:
    done = subprocess.run(
        [program("minions-evals-mcp"), *arguments], env=environment(tmp_path, **more), capture_output=True, text=True,
        check=False, timeout=HANG_S, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_a_missing_store_under_read_only_or_a_broken_skill_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    for arguments, more, code, why in (
        (["--read-only"], {}, 3, "evals.db"),
        ([], {"MINIONS_EVALS_SKILLS": str(tmp_path / "skills")}, 2, "skills"),
    ):
        done = subprocess.run(
            [program("minions-evals-mcp"), *arguments], env=environment(tmp_path, **more), capture_output=True, text=True,
            check=False, timeout=HANG_S,
        )  # fmt: skip
        assert done.returncode == code
        assert why in done.stderr


async def test_a_store_that_cannot_be_used_is_told_to_every_call(tmp_path: Path) -> None:
    (tmp_path / "evals.db").write_text("this is no database, but a letter to my aunt")
    server = forked(tmp_path)
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(server)) as client:
            for _ in range(2):
                said = await Host(client).refused("list_records", type="test-case")
                assert said.startswith("store")


def test_listing_tools_imports_no_engine_provider_or_store(tmp_path: Path) -> None:
    probe = (
        "import sys, json; from minions_evals_mcp.server.app import build_server;"
        "from minions_evals_mcp.server.options import ServerOptions;"
        "from minions_evals_mcp.server.session.opened import ServerSession; build_server(ServerSession(None), ServerOptions());"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & {
        "anthropic",
        "openai",
        "aiosqlite",
        "genai_prices",
        "numpy",
        "wordllama",
        "sqlglot",
        "cyclopts",
    }
    assert "minions_evals_mcp.engine" not in json.loads(done.stdout)

"""A neighbour's MCP server as a real process: told by its tool, read page by page, gone and back again."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.outbox import message, task
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.toolboxes.mcp_line import McpLine
from minions_evals_mcp.toolboxes.mcp_tools import McpNeighbour, McpSource, filled
from minions_evals_mcp.toolboxes.servers import ServerSettings
from tests.hang import HANG_S
from tests.shared.cli.installed import program
from tests.shared.store.command_line import ROOT
from tests.workshop import START

NEWS = Record("m", message("news", {"é": 1}, at=START), "News", START, START)
UNBEARABLE = Record("u", message("unbearable", {}, at=START), "No", START, START)


@asynccontextmanager
async def line_to(folder: Path, **more: Any) -> AsyncGenerator[McpLine]:
    """A line to a neighbour that keeps its files in the folder."""
    run = more.pop("run", (program("neighbour"), str(folder)))
    settings = ServerSettings(run=run, folder=str(ROOT), **more)
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            yield McpLine("desk", settings, {"PYTHONPATH": str(ROOT)}, tasks)
            tasks.cancel_scope.cancel()


def told(folder: Path) -> list[Any]:
    """What the neighbour was told."""
    return [json.loads(line) for line in (folder / "told.jsonl").read_text().splitlines()]


async def test_a_record_is_told_under_its_key_and_again_changes_nothing(tmp_path: Path) -> None:
    async with line_to(tmp_path) as line:
        neighbour = McpNeighbour(line, "tell")
        for _ in range(2):
            await neighbour.tell(NEWS, key="k", addressee="orchestrator")
    (kept,) = told(tmp_path)
    assert (kept["key"], kept["addressee"], kept["record"]) == ("k", "orchestrator", NEWS.wire())


async def test_a_tool_with_words_of_its_own_is_called_with_what_the_operator_wrote(tmp_path: Path) -> None:
    asked = Record("t", task("Look", "", priority="high", about="b", owner=None, at=START), "Look", START, START)
    async with line_to(tmp_path) as line:
        neighbour = McpNeighbour(line, "create_task", {"title": "$fields.title", "reference": "$key"})
        await neighbour.tell(asked, key="k", addressee="tasks")
    assert told(tmp_path) == [{"key": "k", "title": "Look"}]


async def test_a_neighbour_that_dies_is_tried_later_and_reached_again(tmp_path: Path) -> None:
    async with line_to(tmp_path) as line:
        neighbour = McpNeighbour(line, "tell")
        await neighbour.tell(NEWS, key="before", addressee="o")
        with pytest.raises(InstrumentError, match="desk/die"):
            await line.call("die", {})
        (tmp_path / "down").touch()
        with pytest.raises(InstrumentError, match="desk"):
            await neighbour.tell(NEWS, key="during", addressee="o")
        (tmp_path / "down").unlink()
        await neighbour.tell(NEWS, key="during", addressee="o")
    assert [one["key"] for one in told(tmp_path)] == ["before", "during"]


async def test_what_a_tool_never_takes_is_refused_once_patience_is_used_up(tmp_path: Path) -> None:
    async with line_to(tmp_path) as line:
        neighbour = McpNeighbour(line, "tell", patience=3)
        for _ in range(2):
            with pytest.raises(InstrumentError, match="never"):
                await neighbour.tell(UNBEARABLE, key="k", addressee="o")
        with pytest.raises(BadInputError, match=r"never \(3 times"):
            await neighbour.tell(UNBEARABLE, key="k", addressee="o")
        await neighbour.tell(NEWS, key="next", addressee="o")


async def test_a_line_that_told_its_tools_is_there_at_the_first_call(tmp_path: Path) -> None:
    async with line_to(tmp_path) as line:
        assert await line.tools() >= {"tell", "have"}
        (tmp_path / "down").touch()  # a start from now on ends at once
        with pytest.raises(InstrumentError, match="out of order"):
            await McpNeighbour(line, "tell").tell(NEWS, key="k", addressee="o")
    async with line_to(tmp_path) as line:
        with pytest.raises(InstrumentError, match="cannot be reached"):
            await line.tools()
        with pytest.raises(InstrumentError, match="cannot be reached"):
            await line.call("tell", {})


@pytest.mark.parametrize(
    ("run", "said"), [(("/no/such/program",), "cannot be reached"), ((sys.executable, "-c", "pass"), "cannot be reached")]
)  # fmt: skip
async def test_a_server_that_cannot_be_started_is_named(tmp_path: Path, run: tuple[str, ...], said: str) -> None:
    async with line_to(tmp_path, run=run) as line:
        with pytest.raises(InstrumentError, match=f"desk {said}"):
            await line.call("tell", {})


async def test_an_address_where_nobody_listens_is_tried_later(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            line = McpLine("web", ServerSettings(url="http://127.0.0.1:9/mcp"), {}, tasks)
            with pytest.raises(InstrumentError, match="web"):
                await line.call("tell", {})
            tasks.cancel_scope.cancel()


@contextmanager
def listening(folder: Path, port: int) -> Generator[None]:
    """The neighbour at an address, until the block ends; nobody answers there after it."""
    command = [program("neighbour"), str(folder), "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(port, answers_to=True)
            yield
        finally:
            process.kill()
            wait_until(port, answers_to=False)  # what it forked ends a moment after the program that was killed


def wait_until(port: int, *, answers_to: bool) -> None:
    """Waits until somebody listens there, or nobody does any more."""
    end = time.monotonic() + HANG_S
    while answers(port) is not answers_to:
        assert time.monotonic() < end
        time.sleep(0.05)


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def own_port() -> int:
    """A free port below those that a system gives to whoever asks for any: nobody takes it while the neighbour is gone."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


async def test_a_neighbour_at_an_address_is_told_and_reached_again_after_it_was_gone(tmp_path: Path) -> None:
    port = own_port()
    settings = ServerSettings(url=f"http://127.0.0.1:{port}/mcp", headers_from={"Authorization": "TOKEN"})
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            neighbour = McpNeighbour(McpLine("web", settings, {"TOKEN": "Bearer t"}, tasks), "tell")
            with listening(tmp_path, port):
                await neighbour.tell(NEWS, key="before", addressee="o")
            for _ in range(2):
                with pytest.raises(InstrumentError, match="web"):
                    await neighbour.tell(NEWS, key="during", addressee="o")
            with listening(tmp_path, port):
                await neighbour.tell(NEWS, key="during", addressee="o")
            tasks.cancel_scope.cancel()
    assert [one["key"] for one in told(tmp_path)] == ["before", "during"]


async def test_all_pages_are_read_and_what_is_no_list_is_said(tmp_path: Path) -> None:
    (tmp_path / "have.jsonl").write_text("".join(json.dumps({"id": f"r{n}"}) + "\n" for n in range(5)))
    async with line_to(tmp_path) as line:
        found = await McpSource(line, "have").read()
        in_text = await McpSource(line, "have_text").read()
        with pytest.raises(InstrumentError, match="has no list"):
            await McpSource(line, "create_task", {"title": "t", "reference": "r"}).read()
        with pytest.raises(InstrumentError, match="Unknown tool"):
            await McpSource(line, "no-such-tool").read()
    assert [json.loads(one.text)["id"] for one in found] == [f"r{n}" for n in range(5)]
    assert [one.text for one in in_text] == [one.text for one in found], "JSON in a text is JSON"
    assert {one.where for one in found} == {"desk/have"}


async def test_only_the_variables_that_are_named_are_handed_on_and_stderr_goes_to_the_log(tmp_path: Path) -> None:
    script = "import os, sys; sys.stderr.write(' '.join(sorted(os.environ))); sys.exit(1)"
    async with line_to(
        tmp_path, run=(sys.executable, "-c", script), env=("PYTHONPATH",), log=str(tmp_path / "log")
    ) as line:
        with pytest.raises(InstrumentError):
            await line.call("tell", {})
    handed = set((tmp_path / "log").read_text().split())
    assert "PYTHONPATH" in handed
    assert not {name for name in handed if "KEY" in name or name.startswith("MINIONS")}


VALUES = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(VALUES)
def test_a_whole_value_is_put_in_as_it_is(value: JsonValue) -> None:
    assert filled({"a": ["$x.y"]}, {"x": {"y": value}}) == {"a": [value]}
    assert filled("$$x", {"x": value}) == "$x"
    assert filled("$x.y.z", {"x": 1}) is None

"""What hosts decide by: the answer of a quick run, annotations of this start, entry tools, lists that may be kept."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from mcp import Client, stdio_client
from mcp_types import Tool

from tests.hang import HANG_S
from tests.shared.server.hosts import ERAS, Host, rows, suite
from tests.shared.server.wire import forked


@pytest.mark.parametrize("era", ERAS)
async def test_a_run_of_recorded_outputs_that_rules_judge_answers_with_its_verdict(tmp_path: Path, era: str) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path)), mode=era) as client:
            host = Host(client)
            await host.call("save_records", records=suite(26))
            answer = await host.call("run_benchmark", benchmarkId="b")
            assert answer["state"] == "completed", answer
            assert "25 of 26 passed" in str(answer["summary"])


async def test_sessions_that_end_after_their_call_leave_no_run_open(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S * 2):
        for number in range(4):
            async with Client(stdio_client(forked(tmp_path))) as client:
                host = Host(client)
                if not number:
                    await host.call("save_records", records=suite(26))
                await host.call("run_benchmark", benchmarkId="b", idempotencyKey=f"k{number}")
        async with Client(stdio_client(forked(tmp_path))) as client:
            runs = rows(await Host(client).call("list_records", type="run"), "records")
            assert [run["state"] for run in runs] == ["completed"] * 4


async def tools_at(folder: Path, **environment: str) -> dict[str, Tool]:
    async with Client(stdio_client(forked(folder, **environment))) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


async def test_annotations_are_those_of_this_start(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        plain = await tools_at(tmp_path)
        keyed = await tools_at(tmp_path, ANTHROPIC_API_KEY="key")
    reaching = {"run_test_case", "run_benchmark", "compare_prompt_versions", "try_version", "run_ab_test", "label_user"}
    assert not [name for name, tool in plain.items() if tool.annotations and tool.annotations.open_world_hint]
    assert {name for name, tool in keyed.items() if tool.annotations and tool.annotations.open_world_hint} == reaching
    for tools in (plain, keyed):
        destructive = {name for name, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint}
        assert destructive == {"approve_prompt_version"}, "what cannot be undone, and nothing else"


async def test_claude_loads_the_entry_tools_and_every_host_may_keep_the_lists(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path)), mode="auto") as client:
            listed = await client.list_tools()
    loaded = {tool.name for tool in listed.tools if (tool.meta or {}).get("anthropic/alwaysLoad") is True}
    assert loaded == {"list_records", "run_benchmark", "get_run", "save_records"}
    assert listed.ttl_ms >= 60_000
    hints = " ".join(str((tool.meta or {}).get("anthropic/searchHint", "")) for tool in listed.tools)
    assert "regression test an agent" in hints


async def test_the_words_of_save_records_say_the_shape_of_records_and_the_types_of_assertions(tmp_path: Path) -> None:
    """Codex drops examples, defaults and bounds of a schema, and keeps descriptions."""
    with anyio.fail_after(HANG_S):
        tool = (await tools_at(tmp_path))["save_records"]
    words = str(tool.input_schema["properties"]["records"]["description"])
    for word in (
        "{id, type, fields}",
        "assertions",
        "contains",
        "regex",
        "llm-rubric",
        "agentId, inputs, outputs",
        "1 to 200",
    ):
        assert word in words, word

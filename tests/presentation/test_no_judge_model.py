"""A check that a model grades, and no key: what to do next, at a real MCP server over stdio and at the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import anyio
from mcp import Client, stdio_client
from pydantic import JsonValue

from minions_evals_mcp.server.catalogue import CATALOGUE
from tests.hang import HANG_S
from tests.shared.cli.terminal import Terminal
from tests.shared.server.hosts import Host
from tests.shared.server.wire import forked

SUITE: list[JsonValue] = [
    {
        "id": "c", "type": "test-case",
        "fields": {"name": "Polite", "inputs": {"q": "?"}, "assertions": [{"type": "llm-rubric", "value": "is polite"}]},
    },
    {"id": "r", "type": "agent-run", "fields": {"agentId": "a", "inputs": {"q": "?"}, "outputs": {"output": "Please."}}},
    {"id": "b", "type": "benchmark", "fields": {"name": "Quality", "testCaseIds": ["c"]}},
]  # fmt: skip


async def test_run_benchmark_without_a_judge_model_says_who_sets_the_key_and_which_call_follows(tmp_path: Path) -> None:
    with anyio.fail_after(HANG_S):
        async with Client(stdio_client(forked(tmp_path))) as client:
            host = Host(client)
            await host.call("save_records", records=SUITE)
            told = await host.refused("run_benchmark", benchmarkId="b", trials=2)
    assert "Ask the operator to set ANTHROPIC_API_KEY or OPENAI_API_KEY" in told
    assert "minions-evals" not in told.replace("minions-evals-mcp", "")
    call = re.search(r"Then: (run_benchmark) (\{.*\}) runs it\.", told)
    assert call is not None, told
    CATALOGUE[call[1]].arguments.model_validate_json(call[2])
    assert json.loads(call[2]) == {"benchmarkId": "b", "trials": 2}


def test_the_command_line_names_the_variable_the_option_and_the_command_with_its_store(tmp_path: Path) -> None:
    store, suite = tmp_path / "my evals.db", tmp_path / "suite.json"
    suite.write_text(json.dumps(SUITE))
    at = Terminal(tmp_path)
    assert at.run("import", str(suite), "--db", str(store)).code == 0
    told = at.run("run-benchmark", "b", "--db", str(store)).err
    assert "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model with --judge-model provider:model." in told
    assert f"Then: `minions-evals run-benchmark b --db '{store}'` runs it." in told

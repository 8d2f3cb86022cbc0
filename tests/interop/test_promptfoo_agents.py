"""promptfoo's coding agents are carried out by their command lines: what a config says, as options, and what comes back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.engine.config_eval.evaluation import AgentSpec
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.interop.promptfoo_config.named_resources import named_resources
from minions_evals_mcp.interop.promptfoo_config.providers.coding_agents import CLAUDE, CODEX, OPENCODE
from tests.shared.store.command_line import told

Json = dict[str, JsonValue]
CLAUDE_SDK = "anthropic:claude-agent-sdk"
SAID = """#!/usr/bin/env python3
import json, os, sys
asked = sys.stdin.read().strip()
print(json.dumps({"type": "system", "subtype": "init", "session_id": "s", "tools": []}))
used = {"type": "tool_use", "id": "t", "name": "Skill", "input": {"skill": "wiki"}}
print(json.dumps({"type": "assistant", "session_id": "s", "message": {"role": "assistant", "content": [used]}}))
back = {"type": "tool_result", "tool_use_id": "t", "content": "loaded"}
print(json.dumps({"type": "user", "session_id": "s", "message": {"role": "user", "content": [back]}}))
if "--max-turns=1" in sys.argv:
    print(json.dumps({"type": "result", "subtype": "error_max_turns", "is_error": True, "session_id": "s"}))
    sys.exit(1)
at = [word for word in sys.argv if word.startswith("--mcp-config=")]
here = os.path.basename(os.path.dirname(os.getcwd()))
said = [asked, here, sorted(os.listdir()), os.environ.get("COLOUR", ""), os.environ.get("ANTHROPIC_API_KEY", ""),
        at and json.loads(at[0].partition("=")[2])]
last = {"type": "result", "subtype": "success", "is_error": False, "result": json.dumps(said), "num_turns": 2, "session_id": "s",
        "total_cost_usd": 0.25, "usage": {"input_tokens": 30, "output_tokens": 4}}
if any(word.startswith("--json-schema=") for word in sys.argv):
    last["structured_output"] = {"colour": "blue"}
print(json.dumps(last))
"""


def agent(folder: Path, provider: str, config: Json) -> AgentSpec:
    written: Json = {"prompts": ["a"], "providers": [{"id": provider, "config": config}]}
    (folder / "c.yaml").write_text(json.dumps(written))
    evaluation = read_config(folder / "c.yaml", now=datetime(2026, 1, 1, tzinfo=UTC), overrides=ConfigOverrides())
    spec = evaluation.columns[0].provider.spec
    assert isinstance(spec, AgentSpec)
    return spec


OPTIONS: dict[str, tuple[JsonValue, list[str]]] = {
    "model": ("opus", ["--model=opus"]),
    "fallback_model": ("haiku", ["--fallback-model=haiku"]),
    "max_turns": (3, ["--max-turns=3"]),
    "max_budget_usd": (1.5, ["--max-budget-usd=1.5"]),
    "max_thinking_tokens": (5000, ["--max-thinking-tokens=5000"]),
    "thinking": ({"type": "enabled", "budgetTokens": 9}, ["--max-thinking-tokens=9"]),
    "effort": ("low", ["--effort=low"]),
    "permission_mode": ("manual", ["--permission-mode=default"]),
    "allow_dangerously_skip_permissions": (True, ["--allow-dangerously-skip-permissions"]),
    "custom_system_prompt": ("Be\nbrief.", ["--system-prompt=Be\nbrief."]),
    "append_system_prompt": ("Be brief.", ["--append-system-prompt=Be brief."]),
    "exclude_dynamic_sections": (True, ["--exclude-dynamic-system-prompt-sections"]),
    "disallowed_tools": (["Write", "Bash(rm *)"], ["--disallowedTools=Bash(rm *),Write"]),
    "tools": (["Read"], ["--tools=Read"]),
    "additional_directories": (["./docs"], ["--add-dir={base}/docs"]),
    "setting_sources": ([], ["--setting-sources="]),
    "agents": ({"r": {"prompt": "p"}}, ['--agents={"r":{"prompt":"p"}}']),
    "agent": ("r", ["--agent=r"]),
    "betas": (["b"], ["--betas=b"]),
    "output_format": ({"type": "json_schema", "schema": {"type": "object"}}, ['--json-schema={"type":"object"}']),
    "plugins": ([{"type": "local", "path": "./docs"}], ["--plugin-dir={base}/docs"]),
    "mcp": (
        {"servers": [{"name": "notes", "command": "node", "args": ["s.js"]}, {"url": "http://127.0.0.1:1/mcp"}]},
        [
            '--mcp-config={"mcpServers":{"http://127.0.0.1:1/mcp":{"headers":{},"type":"http","url":"http://127.0.0.1:1/mcp"},'
            '"notes":{"args":["s.js"],"command":"node","type":"stdio"}}}'
        ],
    ),
    "persist_session": (False, ["--no-session-persistence"]),
    "settings": ({"a": 1}, ['--settings={"a":1}']),
    "sandbox": ({"enabled": True}, ['--settings={"sandbox":{"enabled":true}}']),
    "custom_allowed_tools": (["Bash", "Edit"], ["--allowedTools=Bash,Edit"]),
    "append_allowed_tools": (["Bash"], ["--allowedTools=Bash"]),
    "skills": (["wiki"], ["--allowedTools=Skill(wiki)"]),
    "working_dir": ("docs", ["--allowedTools=Glob,Grep,LS,Read"]),
    "allow_all_tools": (True, []),
    "debug": (True, []),
}


@pytest.mark.parametrize("name", [*OPTIONS])
def test_each_setting_of_claude_code_is_an_option_of_its_command_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "docs").mkdir()
    value, words = OPTIONS[name]
    found = agent(tmp_path, CLAUDE_SDK, {name: value})
    usual = ("claude", "-p", "--output-format", "stream-json", "--verbose")
    assert found.run[:5] == usual
    wanted = {*(word.replace("{base}", str(tmp_path)) for word in words), "--strict-mcp-config"}
    documents = [f"{option}={canonical(document)}" for option, document in found.documents.items()]
    assert {*found.run[5:], *documents} == wanted


def test_every_option_in_the_table_is_tried() -> None:
    assert CLAUDE.keys() <= OPTIONS.keys()
    assert (len(CODEX), len(OPENCODE)) == (7, 1)


def test_codex_and_opencode_are_started_by_their_own_command_lines(tmp_path: Path) -> None:
    codex = agent(
        tmp_path,
        "openai:codex-sdk:gpt-5",
        {"sandbox_mode": "read-only", "network_access_enabled": True, "skip_git_repo_check": True},
    )
    assert codex.run == (
        "codex", "exec", "--json", "--model=gpt-5", "--sandbox=read-only", "--skip-git-repo-check",
        "--config=sandbox_workspace_write.network_access=true", "-",
    )  # fmt: skip
    opencode = agent(tmp_path, "opencode:sdk", {"provider_id": "ollama", "model": "qwen", "agent": "plan"})
    assert opencode.run == ("opencode", "run", "--format", "json", "--model=ollama/qwen", "--agent=plan")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"hooks": {}}, "providers.0.config.hooks"),
        ({"resume": "s"}, "providers.0.config.resume"),
        ({"permission_mode": "bypassPermissions"}, "needs allow_dangerously_skip_permissions"),
        ({"allow_all_tools": True, "append_allowed_tools": ["Bash"]}, "is given beside"),
        ({"working_dir": "nowhere"}, "there is no folder"),
        ({"max_turns": [1]}, "must be a text or a number"),
        ({"mcp": {"servers": [{"name": "x"}]}}, "must have a url, a path, or a command with args"),
        ({"plugins": [{"type": "npm", "path": "x"}]}, "must be {type: local, path: FOLDER}"),
        ({"settings": "s.json", "sandbox": {}}, "must hold the settings themselves"),
    ],
)  # fmt: skip
def test_what_the_command_line_cannot_be_told_is_refused_by_name(tmp_path: Path, config: Json, said: str) -> None:
    with pytest.raises(EvalsError) as refused:
        agent(tmp_path, CLAUDE_SDK, config)
    assert said in str(refused.value)


def test_what_the_agent_may_do_is_part_of_what_you_agree_to(tmp_path: Path) -> None:
    consents = list[str]()
    for config in ({"append_allowed_tools": ["Bash"]}, {"append_allowed_tools": ["Read"]}, {"working_dir": ".."}):
        (tmp_path / "c.yaml").write_text(json.dumps({"providers": [{"id": CLAUDE_SDK, "config": config}]}))
        named = named_resources(tmp_path / "c.yaml")
        (command,) = named.commands
        assert "claude" in command
        consents.append(named.digest())
    assert len({*consents}) == 3
    (tmp_path / "plain.yaml").write_text(json.dumps({"providers": [CLAUDE_SDK]}))
    assert len(named_resources(tmp_path / "plain.yaml").commands) == 1
    assert str(tmp_path.parent) in named_resources(tmp_path / "c.yaml").paths


def test_what_lies_in_the_agents_folder_is_part_of_its_identity(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    before = agent(tmp_path, CLAUDE_SDK, {"working_dir": "work"})
    (tmp_path / "work" / "CLAUDE.md").write_text("Be brief.")
    after = agent(tmp_path, CLAUDE_SDK, {"working_dir": "work"})
    (tmp_path / "work" / "CLAUDE.md").write_text("Be long.")
    assert len({before.code, after.code, agent(tmp_path, CLAUDE_SDK, {"working_dir": "work"}).code}) == 3


def _program(folder: Path) -> Path:
    program = folder / "claude"
    program.write_text(SAID)
    program.chmod(0o755)
    return program


async def _evaluated(folder: Path, monkeypatch: pytest.MonkeyPatch, config: Json, tests: list[JsonValue]) -> Json:
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    written: Json = {"prompts": ["{{q}}"], "providers": [{"id": CLAUDE_SDK, "config": config}], "tests": tests}
    (folder / "c.yaml").write_text(json.dumps(written))
    db, out = str(folder / "e.db"), folder / "o.json"
    answer = await told(folder, "eval", str(folder / "c.yaml"), "--yes", "--trust-code", "--db", db, "-o", str(out))
    assert out.is_file(), answer.err
    found: Json = json.loads(out.read_text())
    return found


def _results(found: Json) -> list[Json]:
    results = found["results"]
    rows = results["results"] if isinstance(results, dict) else results
    assert isinstance(rows, list)
    return [row for row in rows if isinstance(row, dict)]


@pytest.mark.anyio
async def test_the_agents_session_is_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path)
    checks: list[JsonValue] = [
        {"type": "javascript", "value": "JSON.parse(output)[0] === 'Hello'"},
        {
            "type": "javascript",
            "value": "JSON.parse(output)[1].startsWith('minions-evals-agent-') && JSON.parse(output)[2].length === 0",
        },
        {"type": "javascript", "value": "JSON.parse(output)[3] === 'blue' && JSON.parse(output)[4] === 'sk-own'"},
        {"type": "javascript", "value": "context.providerResponse.metadata.numTurns === 2"},
        {"type": "javascript", "value": "context.providerResponse.metadata.toolCalls[0].output === 'loaded'"},
        {"type": "javascript", "value": f"JSON.parse(output)[5].mcpServers.n.headers.A === 'at {tmp_path}'"},
        {"type": "skill-used", "value": "wiki"},
        {"type": "cost", "threshold": 0.3},
    ]
    server: Json = {"name": "n", "url": "http://127.0.0.1:1/mcp", "headers": {"A": "at {{env.HOME}}"}}
    config: Json = {"env": {"COLOUR": "blue"}, "apiKey": "sk-own", "mcp": {"servers": [server]}}
    rows = _results(await _evaluated(tmp_path, monkeypatch, config, [{"vars": {"q": "Hello"}, "assert": checks}]))
    assert [(row["success"], row.get("error")) for row in rows] == [(True, None)]


@pytest.mark.anyio
async def test_an_agent_that_gives_up_is_an_error_and_structured_output_is_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path)
    test: JsonValue = {"vars": {"q": "Hello"}, "assert": [{"type": "javascript", "value": "output.colour === 'blue'"}]}
    form: Json = {"type": "json_schema", "schema": {"type": "object"}}
    (good,) = _results(await _evaluated(tmp_path, monkeypatch, {"output_format": form}, [test]))
    assert good["success"] is True
    (tmp_path / "o.json").unlink()
    (bad,) = _results(await _evaluated(tmp_path, monkeypatch, {"max_turns": 1}, [test]))
    assert bad["success"] is False
    assert "error_max_turns" in json.dumps(bad)
    assert bad["failureReason"] == 2  # promptfoo's word for an error

"""How each host is installed, told of our server and of its model, and asked for one task without a terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.node_clients import NodePrograms

Json = dict[str, Any]
HOSTS = NodePrograms(
    "minions-evals-hosts",
    Path(__file__).with_name("package.json"),
    "python -m tests.hosts",
    placed=("@anthropic-ai/claude-code", "opencode-ai"),
)
TASK = "Use the tools of minions-evals for what the script says."
KEY = "sk-scripted"
LONGEST_S = 240


@dataclass(frozen=True, slots=True)
class HostRun:
    """What one run of a host has: the address of its model, and the server that is started in place of ours, with what that sees."""

    address: str
    server: Path
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HostProgram:
    """One host: its program, the words it is asked with, the file that `mcp install` writes, and what a script needs beside it."""

    program: str
    arguments: Callable[[HostRun], tuple[str, ...]]
    settings: str
    complete: Callable[[Json, HostRun], Json]
    variables: Callable[[HostRun], Mapping[str, str]]


def _codex(run: HostRun) -> tuple[str, ...]:
    provider = f'{{name="scripted",base_url="{run.address}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}}'
    env = ",".join(f"{name}={json.dumps(value)}" for name, value in run.variables.items())
    server = "mcp_servers.minions-evals"
    options = [
        'model="gpt-5.1"', 'model_provider="scripted"', f"model_providers.scripted={provider}", f'{server}.command="{run.server}"',
        f'{server}.default_tools_approval_mode="approve"', f"{server}.env={{{env}}}", "check_for_update_on_startup=false",
    ]  # fmt: skip
    return ("exec", "--skip-git-repo-check", *(part for option in options for part in ("-c", option)), TASK)


def _in_json(settings: Json, run: HostRun) -> Json:
    """The settings with another program of ours, and with what that sees of the outside."""
    (servers,) = (settings[name] for name in ("mcpServers", "mcp") if name in settings)
    entry = servers["minions-evals"]
    entry["command"] = [str(run.server)] if isinstance(entry["command"], list) else str(run.server)
    held = "environment" if "environment" in entry else "env"
    entry[held] = {**entry.get(held, {}), **run.variables}
    return settings


def _gemini(settings: Json, run: HostRun) -> Json:
    return {
        **_in_json(settings, run),
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
    }


def _opencode(settings: Json, run: HostRun) -> Json:
    options = {"baseURL": f"{run.address}/v1", "apiKey": KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {"name": "m"}}}
    return {
        **_in_json(settings, run),
        "provider": {"scripted": provider},
        "model": "scripted/m",
        "permission": {"*": "allow"},
        "autoupdate": False,
        "share": "disabled",
    }


PROGRAMS: Mapping[str, HostProgram] = {
    "claude-code": HostProgram(
        "claude", lambda _run: ("-p", TASK, "--allowedTools", "mcp__minions-evals"), ".claude.json", _in_json,
        lambda run: {
            "ANTHROPIC_BASE_URL": run.address, "ANTHROPIC_API_KEY": KEY, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1",
        },
    ),
    "codex": HostProgram("codex", _codex, ".codex/config.toml", lambda settings, _run: settings, lambda _run: {"OPENAI_API_KEY": KEY}),
    "gemini-cli": HostProgram(
        "gemini", lambda _run: ("-p", TASK), ".gemini/settings.json", _gemini,
        lambda run: {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": run.address, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    ),
    "opencode": HostProgram(
        "opencode", lambda _run: ("run", TASK), ".config/opencode/opencode.json", _opencode,
        lambda _run: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
    ),
}  # fmt: skip


def asked(name: str, folder: Path, run: HostRun) -> str:
    """What the host printed until its model said its last words; its home is in the folder, and so is the store `evals.db`.

    Our server is registered by `minions-evals mcp install`, as a user does it.
    """
    host, node_home = PROGRAMS[name], HOSTS.require()
    home, work = folder / "home", folder / "work"
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    _install(name, home, folder / "evals.db", run)
    env = {
        "HOME": str(home), "PATH": f"{node_home / 'bin'}:/usr/bin:/bin", "TERM": "dumb", "NO_COLOR": "1", "TMPDIR": str(folder),
        **host.variables(run),
    }  # fmt: skip
    process = subprocess.Popen(
        [str(HOSTS.modules / ".bin" / host.program), *host.arguments(run)], cwd=work, env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        return process.communicate(timeout=LONGEST_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return f"{process.communicate()[0]}\nIt did not end in {LONGEST_S} s."


def _install(name: str, home: Path, store: Path, run: HostRun) -> None:
    ours = Path(sys.executable).with_name("minions-evals")
    command = [str(ours), "mcp", "install", name, "--yes", "--db", str(store)]
    subprocess.run(command, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True, capture_output=True)
    file = home / PROGRAMS[name].settings
    if file.suffix == ".json":
        file.write_text(json.dumps(PROGRAMS[name].complete(json.loads(file.read_text("utf-8")), run)), "utf-8")

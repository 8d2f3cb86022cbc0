"""The hosts that can be set up: the file of each, and the entry of a server in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.frozen_types import frozen_type

HostName = Literal[
    "claude-code", "claude-desktop", "codex", "cursor", "gemini-cli", "opencode", "vscode", "windsurf"
]  # fmt: skip
SERVER = "minions-evals"


@frozen_type
class StartCommand:
    """How the server is started: its program, and the variables that it is given."""

    program: str
    environment: Mapping[str, str]


@frozen_type
class Host:
    """A host: its settings file under a home and the current folder, the table that holds servers, and the entry there."""

    title: str
    file: Callable[[Path, Path], Path]
    table: str
    entry: Callable[[StartCommand], Json]
    is_toml: bool = False


def _plain(start: StartCommand) -> Json:
    return {"command": start.program, "args": [], **_env(start)}


def _env(start: StartCommand, name: str = "env") -> Json:
    return {name: dict(start.environment)} if start.environment else {}


def _claude_desktop(home: Path, _: Path) -> Path:
    folders = {"darwin": home / "Library" / "Application Support", "win32": home / "AppData" / "Roaming"}
    return folders.get(sys.platform, home / ".config") / "Claude" / "claude_desktop_config.json"


def _opencode(home: Path, _: Path) -> Path:
    folder = home / ".config" / "opencode"
    with_comments = folder / "opencode.jsonc"
    return with_comments if with_comments.exists() else folder / "opencode.json"


HOSTS: Mapping[HostName, Host] = {
    "claude-code": Host(
        "Claude Code",
        lambda home, _: home / ".claude.json",
        "mcpServers",
        lambda start: {"type": "stdio", **_plain(start)},
    ),
    "claude-desktop": Host("Claude Desktop", _claude_desktop, "mcpServers", _plain),
    "codex": Host(
        "Codex",
        lambda home, _: home / ".codex" / "config.toml",
        "mcp_servers",
        lambda start: {"command": start.program, "required": True, **_env(start)},
        is_toml=True,
    ),
    "cursor": Host("Cursor", lambda home, _: home / ".cursor" / "mcp.json", "mcpServers", _plain),
    "gemini-cli": Host(
        "Gemini CLI",
        lambda home, _: home / ".gemini" / "settings.json",
        "mcpServers",
        lambda start: {**_plain(start), "trust": True},
    ),
    "opencode": Host(
        "opencode",
        _opencode,
        "mcp",
        lambda start: {
            "type": "local",
            "command": [start.program],
            "enabled": True,
            **_env(start, "environment"),
        },
    ),
    "vscode": Host(
        "VS Code",
        lambda _, folder: folder / ".vscode" / "mcp.json",
        "servers",
        lambda start: {"type": "stdio", **_plain(start)},
    ),
    "windsurf": Host(
        "Windsurf", lambda home, _: home / ".codeium" / "windsurf" / "mcp_config.json", "mcpServers", _plain
    ),
}

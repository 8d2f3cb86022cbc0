"""Coding agents by a short name: how each is started without a terminal, and how what it prints is read."""

from __future__ import annotations

from collections.abc import Mapping

from minions_evals_mcp.targets.command import CommandSettings

HOST_COMMANDS: Mapping[str, CommandSettings] = {
    "claude": CommandSettings(
        run=("claude", "-p", "--output-format", "stream-json", "--verbose"), format="claude-stream"
    ),
    "codex": CommandSettings(run=("codex", "exec", "--json", "-"), format="codex-exec"),
    "gemini": CommandSettings(run=("gemini", "--output-format", "stream-json"), format="gemini-json"),
    "opencode": CommandSettings(run=("opencode", "run", "--format", "json"), format="opencode-run"),
}
LOADS_PLUGIN: Mapping[str, str] = {"claude": "--plugin-dir"}
"""The option by which a host loads a plugin's folder."""


def host_command(name: str, *, plugin: str = "") -> CommandSettings | None:
    """The host of that name, which loads the plugin at that place of the workspace where it can; None for another name."""
    command = HOST_COMMANDS.get(name)
    if command is None or not plugin or name not in LOADS_PLUGIN:
        return command
    return command.model_copy(update={"run": (*command.run, LOADS_PLUGIN[name], plugin)})

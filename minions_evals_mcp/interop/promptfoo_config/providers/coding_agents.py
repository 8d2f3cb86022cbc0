"""Coding agents among the providers of a config: carried out by the agent's own command line, with the config as its options.

promptfoo asks Claude Code, Codex and opencode through their SDKs, which start the same programs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.engine.config_eval.evaluation import AgentSpec
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.promptfoo_config.source.agent_ids import agent_of
from minions_evals_mcp.interop.promptfoo_config.source.reading import Node
from minions_evals_mcp.interop.promptfoo_config.source.refusal import Refusals
from minions_evals_mcp.known_secrets import SECRET_NAME
from minions_evals_mcp.targets.code_files import files_digest, named_in
from minions_evals_mcp.targets.coding_agents.host_commands import HOST_COMMANDS
from minions_evals_mcp.targets.folder_contents import folder_digest

READ_ONLY = ("Glob", "Grep", "LS", "Read")
"""The tools that promptfoo lets Claude Code use without a question where it has a folder, and nothing else is said."""
_SILENT = (
    "apiKeyRequired", "cache_mcp", "deep_tracing", "enable_streaming", "debug", "debug_file", "include_partial_messages",
    "include_hook_events", "log_level", "title", "persist_threads", "thread_pool_size",
)  # fmt: skip
HARMLESS: Mapping[str, str] = dict.fromkeys(_SILENT, "it changes no answer")
_Words = Iterator[str | tuple[str, JsonValue]]
"""Words of the command line, and options whose value is JSON."""
_Written = Callable[[Node], _Words]


def _option(name: str) -> _Written:
    """The option with the value's text: `--model=opus`."""

    def written(node: Node) -> _Words:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise node.wrong("must be a text or a number")
        yield f"{name}={value}"

    return written


def _listed(name: str) -> _Written:
    def written(node: Node) -> _Words:
        words = sorted({one.text() for one in node.elements()})
        if words:
            yield f"{name}={','.join(words)}"

    return written


def _sources(node: Node) -> _Words:
    """Whose settings are read; an empty list says nobody's."""
    yield f"--setting-sources={','.join(one.text() for one in node.elements())}"


def _switch(name: str, *, when: bool = True) -> _Written:
    def written(node: Node) -> _Words:
        if node.yes() is when:
            yield name

    return written


def _place(node: Node) -> Path:
    """The file or folder that the node names, as it is found from the config's folder."""
    return (node.source.base / node.text()).resolve()


def _folders(name: str) -> _Written:
    def written(node: Node) -> _Words:
        yield from (f"{name}={_place(one)}" for one in node.elements())

    return written


def _plugins(node: Node) -> _Words:
    for plugin in node.elements():
        members = plugin.mapping()
        if "path" not in members or ("type" in members and members["type"].text() != "local"):
            raise plugin.wrong("must be {type: local, path: FOLDER}")
        yield f"--plugin-dir={_place(members['path'])}"


def _tools(node: Node) -> _Words:
    if isinstance(node.value, list):
        yield f"--tools={','.join(one.text() for one in node.elements())}"
    else:
        yield "--tools=default"


def _thinking(node: Node) -> _Words:
    members = node.mapping()
    kind = members["type"].text() if "type" in members else ""
    match kind:
        case "enabled" if "budgetTokens" in members:
            yield f"--max-thinking-tokens={members['budgetTokens'].whole(least=1)}"
        case "enabled" | "adaptive":
            yield "--thinking=adaptive"
        case "disabled":
            yield "--thinking=disabled"
        case _:
            raise node.wrong("type must be adaptive, enabled or disabled")


def _schema(node: Node) -> _Words:
    members = node.mapping()
    if "schema" not in members:
        raise node.wrong("must be {type: json_schema, schema: …}")
    yield "--json-schema", members["schema"].value


def _agents(node: Node) -> _Words:
    yield "--agents", node.value


def _mode(node: Node) -> _Words:
    mode = node.text()
    yield f"--permission-mode={'default' if mode == 'manual' else mode}"


def _servers(node: Node) -> _Words:
    members = node.mapping()
    servers = [*(members["servers"].elements() if "servers" in members else ())]
    servers += [members["server"]] if "server" in members else []
    if servers:
        yield "--mcp-config", {"mcpServers": dict(map(_server, servers))}


def _server(node: Node) -> tuple[str, Json]:
    members = node.mapping()
    name = next((members[key].text() for key in ("name", "url", "command") if key in members), "default")
    if "auth" in members:
        raise node.wrong("write the authorization under headers")
    if "url" in members:
        given = members["headers"].mapping() if "headers" in members else {}
        headers: Json = {key: value.text() for key, value in given.items()}
        return name, {"type": "http", "url": members["url"].text(), "headers": headers}
    if "command" in members and "args" in members:
        arguments = [one.text() for one in members["args"].elements()]
        return name, {"type": "stdio", "command": members["command"].text(), "args": [*arguments]}
    if "path" in members:
        path = members["path"].text()
        return name, {"type": "stdio", "command": "python3" if path.endswith(".py") else "node", "args": [path]}
    raise node.wrong("must have a url, a path, or a command with args")


CLAUDE: Mapping[str, _Written] = {
    "model": _option("--model"),
    "fallback_model": _option("--fallback-model"),
    "max_turns": _option("--max-turns"),
    "max_budget_usd": _option("--max-budget-usd"),
    "max_thinking_tokens": _option("--max-thinking-tokens"),
    "thinking": _thinking,
    "effort": _option("--effort"),
    "permission_mode": _mode,
    "allow_dangerously_skip_permissions": _switch("--allow-dangerously-skip-permissions"),
    "custom_system_prompt": _option("--system-prompt"),
    "append_system_prompt": _option("--append-system-prompt"),
    "exclude_dynamic_sections": _switch("--exclude-dynamic-system-prompt-sections"),
    "disallowed_tools": _listed("--disallowedTools"),
    "tools": _tools,
    "additional_directories": _folders("--add-dir"),
    "setting_sources": _sources,
    "agents": _agents,
    "agent": _option("--agent"),
    "betas": _listed("--betas"),
    "output_format": _schema,
    "plugins": _plugins,
    "mcp": _servers,
    "persist_session": _switch("--no-session-persistence", when=False),
}
"""What Claude Code's config says, as its command line takes it."""
ALLOWED = ("custom_allowed_tools", "append_allowed_tools", "allow_all_tools", "skills")
"""Which tools are used without a question."""
CLAUDE_THERE = frozenset({
    "agent_progress_summaries", "ask_user_question", "can_use_tool", "continue", "enable_file_checkpointing", "executable",
    "executable_args", "extra_args", "fork_session", "forward_subagent_text", "hooks", "managed_settings", "on_elicitation",
    "permission_prompt_tool_name", "plan_mode_instructions", "prompt_suggestions", "resume", "resume_session_at", "session_id",
    "spawn_claude_code_process", "stderr", "task_budget", "tool_config",
})  # fmt: skip
"""What promptfoo reads besides, which the command line cannot be told."""


def _set(key: str) -> _Written:
    """A setting of Codex: `--config=KEY=VALUE`, the value in TOML."""

    def written(node: Node) -> _Words:
        yield f"--config={key}={json.dumps(node.value)}"

    return written


CODEX: Mapping[str, _Written] = {
    "model": _option("--model"),
    "sandbox_mode": _option("--sandbox"),
    "skip_git_repo_check": _switch("--skip-git-repo-check"),
    "additional_directories": _folders("--add-dir"),
    "model_reasoning_effort": _set("model_reasoning_effort"),
    "network_access_enabled": _set("sandbox_workspace_write.network_access"),
    "approval_policy": _set("approval_policy"),
}
CODEX_THERE = frozenset({
    "base_url", "cli_config", "codex_path_override", "collaboration_mode", "inherit_process_env", "model_provider", "output_schema",
    "thread_id", "web_search_enabled", "web_search_mode",
})  # fmt: skip
OPENCODE: Mapping[str, _Written] = {"agent": _option("--agent")}
OPENCODE_THERE = frozenset({
    "baseUrl", "custom_agent", "format", "hostname", "mcp", "parent_session_id", "permission", "persist_sessions", "port",
    "session_id", "timeout", "tools", "variant", "workspace",
})  # fmt: skip
ENVIRONMENT = {"claude": "env", "codex": "cli_env"}
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "CODEX_API_KEY", "opencode": ""}
INSTALLED_WITH = {
    "claude": "npm install -g @anthropic-ai/claude-code",
    "codex": "npm install -g @openai/codex",
    "opencode": "npm install -g opencode-ai",
}


def agent_spec(ident: str, config: Node, refusals: Refusals) -> AgentSpec | None:
    """The coding agent of that id as the config sets it up; None where something of it is refused."""
    program = agent_of(ident)
    before = len(refusals)
    options, there = {"claude": (CLAUDE, CLAUDE_THERE), "codex": (CODEX, CODEX_THERE)}.get(
        program, (OPENCODE, OPENCODE_THERE)
    )
    table = {"claude": _claude_words, "codex": _codex_words}.get(program, _opencode_words)
    members = refusals.known(
        config, (*options, *_OTHERS[program]), harmless=HARMLESS, there={*options, *there, *_OTHERS[program]}
    )
    folder = _working_folder(members.get("working_dir"))
    command = HOST_COMMANDS[program]
    words = [
        *table(ident, members, folder),
        *(word for name in options if name in members for word in options[name](members[name])),
    ]
    environment = _environment(members.get(ENVIRONMENT.get(program, "")))
    if "apiKey" in members and KEYS[program]:
        environment[KEYS[program]] = members["apiKey"].text()
    if len(refusals) > before:
        return None
    assert command.format is not None
    plain = [word for word in words if isinstance(word, str)]
    return AgentSpec(
        run=(*command.run[:1], *_rest(command.run, plain)),
        documents=dict(word for word in words if not isinstance(word, str)),
        format=command.format,
        folder=folder,
        environment={name: value for name, value in environment.items() if not SECRET_NAME.search(name)},
        secrets={name: value for name, value in environment.items() if SECRET_NAME.search(name)},
        code=_code(plain, folder, config.source.base.resolve()),
        installed_with=INSTALLED_WITH[program],
    )


_OTHERS: Mapping[str, Sequence[str]] = {
    "claude": ("working_dir", "apiKey", "env", "strict_mcp_config", "settings", "sandbox", *ALLOWED),
    "codex": ("working_dir", "apiKey", "cli_env"),
    "opencode": ("working_dir", "model", "provider_id", "apiKey"),
}


def _rest(run: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """The words of the command behind its program, the prompt's own `-` last."""
    yield from (word for word in run[1:] if word != "-")
    yield from words
    yield from (word for word in run[1:] if word == "-")


def _claude_words(_ident: str, members: Mapping[str, Node], folder: str) -> _Words:
    allowed = _allowed(members, folder)
    if allowed:
        yield f"--allowedTools={','.join(allowed)}"
    if "strict_mcp_config" not in members or members["strict_mcp_config"].yes():
        yield "--strict-mcp-config"
    yield from _claude_settings(members.get("settings"), members.get("sandbox"))
    skips = "allow_dangerously_skip_permissions" in members and members["allow_dangerously_skip_permissions"].yes()
    if "permission_mode" in members and members["permission_mode"].value == "bypassPermissions" and not skips:
        raise members["permission_mode"].wrong("bypassPermissions needs allow_dangerously_skip_permissions: true")


def _claude_settings(settings: Node | None, sandbox: Node | None) -> _Words:
    """The settings, or their file. A sandbox is one of them: the command line takes them once."""
    if settings is not None and isinstance(settings.value, str):
        if sandbox is not None:
            raise settings.wrong("must hold the settings themselves where a sandbox is set up beside it")
        yield f"--settings={_place(settings)}"
    elif settings is not None or sandbox is not None:
        held = {} if settings is None else {name: node.value for name, node in settings.mapping().items()}
        yield "--settings", held | ({} if sandbox is None else {"sandbox": sandbox.value})


def _allowed(members: Mapping[str, Node], folder: str) -> list[str]:
    """The tools that are used without a question, as promptfoo names them to Claude Code."""
    given = [name for name in ALLOWED[:3] if name in members and members[name].value not in (False, None)]
    if len(given) > 1:
        raise members[given[1]].wrong(f"is given beside {given[0]}; keep one of them")
    usual = READ_ONLY if folder else ()
    match given:
        case ["custom_allowed_tools"]:
            allowed = {one.text() for one in members["custom_allowed_tools"].elements()}
        case ["append_allowed_tools"]:
            allowed = {*usual, *(one.text() for one in members["append_allowed_tools"].elements())}
        case ["allow_all_tools"]:
            allowed = set[str]()
        case _:
            allowed = {*usual}
    return [*sorted(allowed), *(skill for skill in _skills(members.get("skills")) if skill not in allowed)]


def _skills(node: Node | None) -> Iterator[str]:
    if node is None:
        return
    if node.value == "all":
        yield "Skill"
        return
    yield from (f"Skill({one.text()})" for one in node.elements())


def _codex_words(ident: str, members: Mapping[str, Node], _folder: str) -> _Words:
    model = ident.partition(":")[2].partition(":")[2]
    if model and "model" not in members:
        yield f"--model={model}"


def _opencode_words(ident: str, members: Mapping[str, Node], _folder: str) -> _Words:
    model = members["model"].text() if "model" in members else ident.partition(":")[2].partition(":")[2]
    if model:
        yield f"--model={members['provider_id'].text()}/{model}" if "provider_id" in members else f"--model={model}"


def _working_folder(node: Node | None) -> str:
    if node is None:
        return ""
    folder = _place(node)
    if not folder.is_dir():
        raise node.wrong(f"there is no folder {folder}")
    return str(folder)


def _environment(node: Node | None) -> dict[str, str]:
    members = {} if node is None else node.mapping()
    return {name: value.text() if isinstance(value.value, str) else str(value.value) for name, value in members.items()}


def _code(words: Sequence[str], folder: str, base: Path) -> str:
    """The digest of what the agent finds: its folder, its plugins, and the files that its options name."""
    folders = [Path(folder)] if folder else []
    folders += [path for word in words if (path := Path(word.partition("=")[2])).is_absolute() and path.is_dir()]
    try:
        found = [folder_digest(path) for path in folders]
    except OSError as error:
        raise InvalidRecordError(str(error)) from None
    return digest([*found, files_digest(named_in(words, base), base)])

"""Sessions of coding agents as their programs write them: one plan, in the shape of each program's file and stream."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
START = 1_795_700_000_000
MODELS = {
    "claude-code": "claude-opus-5-5",
    "codex": "gpt-5.1-codex",
    "gemini-cli": "gemini-2.5-pro",
    "opencode": "gpt-5.1",
}


@dataclass(frozen=True)
class Planned:
    """A call: what it edits (a path) or runs, and with which exit code it ends."""

    ident: str
    command: str
    code: int = 0
    path: str = ""


@dataclass(frozen=True)
class Turn:
    """What the user asked, the calls, and the answer; tokens a model call: fresh, cached, written."""

    prompt: str
    calls: tuple[Planned, ...]
    answer: str
    tokens: tuple[int, int, int]

    @property
    def model_calls(self) -> int:
        """A model call for each tool call, and one for the answer."""
        return len(self.calls) + 1


@dataclass(frozen=True)
class Plan:
    """A whole session."""

    ident: str
    turns: tuple[Turn, ...]

    @property
    def calls(self) -> tuple[Planned, ...]:
        """All calls, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)

    def total(self, kind: int) -> int:
        """All tokens of a kind: 0 fresh, 1 cached, 2 written."""
        return sum(turn.tokens[kind] * turn.model_calls for turn in self.turns)


def plan(seed: int) -> Plan:
    """A session made from the seed: one to three turns, up to five calls each, some of which fail or edit."""
    drawn = random.Random(seed)  # noqa: S311  no secret
    turns: list[Turn] = []
    for number in range(drawn.randint(1, 3)):
        calls = tuple(
            Planned(
                f"c{seed}-{number}-{place}", f"echo {place}", drawn.choice((0, 0, 0, 1, 3)),
                path=drawn.choice(("", "", f"src/f{place}.py")),
            )
            for place in range(drawn.randint(0, 5))
        )  # fmt: skip
        calls = tuple(Planned(call.ident, call.command, 0 if call.path else call.code, call.path) for call in calls)
        prompt = (
            drawn.choice(("Mend add().", "No, not that file.", "Now the tests, please.")) if number else "Fix the bug."
        )
        turns.append(
            Turn(
                prompt,
                calls,
                f"Done {number}: ü ✓",
                (drawn.randint(1, 900), drawn.randint(0, 900), drawn.randint(1, 90)),
            )
        )
    return Plan(f"0000-{seed}", tuple(turns))


class Clock:
    """A time a second later at each asking."""

    def __init__(self) -> None:
        self.ms = START

    def iso(self) -> str:
        """The next time as a text."""
        self.ms += 1000
        return f"2026-11-26T15:{self.ms // 60000 % 60:02d}:{self.ms // 1000 % 60:02d}.000Z"


def claude_session(made: Plan) -> list[Json]:
    """`~/.claude/projects/…/SESSION.jsonl`: an answer of several blocks is several lines that repeat its usage."""
    clock = Clock()
    lines: list[Json] = [{"type": "queue-operation", "operation": "enqueue", "sessionId": made.ident}]
    common = {"sessionId": made.ident, "version": "2.1.332", "cwd": "/p", "isSidechain": False}

    def line(kind: str, message: Json) -> None:
        lines.append({**common, "type": kind, "message": message, "uuid": str(len(lines)), "timestamp": clock.iso()})

    for number, turn in enumerate(made.turns):
        line("user", {"role": "user", "content": turn.prompt})
        usage = {
            "input_tokens": turn.tokens[0], "cache_read_input_tokens": turn.tokens[1],
            "cache_creation_input_tokens": 0, "output_tokens": turn.tokens[2],
        }  # fmt: skip
        for call in turn.calls:
            message = {"id": f"m{call.ident}", "role": "assistant", "model": MODELS["claude-code"], "usage": usage}
            line("assistant", {**message, "content": [{"type": "thinking", "thinking": "Hm."}]})
            line("assistant", {**message, "content": [_claude_use(call)], "stop_reason": "tool_use"})
            line("user", {"role": "user", "content": [_claude_result(call)]})
        message = {"id": f"a{number}", "role": "assistant", "model": MODELS["claude-code"], "usage": usage}
        line("assistant", {**message, "content": [{"type": "text", "text": turn.answer}], "stop_reason": "end_turn"})
    return lines


def claude_stream(made: Plan) -> list[Json]:
    """`claude -p --output-format stream-json --verbose`."""
    lines: list[Json] = [
        {
            "type": "system",
            "subtype": "init",
            "session_id": made.ident,
            "model": MODELS["claude-code"],
            "claude_code_version": "2.1.332",
        }
    ]
    lines += [
        {"type": row["type"], "message": row["message"], "parent_tool_use_id": None, "session_id": made.ident}
        for row in claude_session(made)
        if row["type"] in ("user", "assistant")
    ]
    lines.append({
        "type": "result", "subtype": "success", "is_error": False, "result": made.turns[-1].answer, "session_id": made.ident,
        "total_cost_usd": 0.5, "stop_reason": "end_turn",
        "modelUsage": {MODELS["claude-code"]: {
            "inputTokens": made.total(0), "cacheReadInputTokens": made.total(1), "outputTokens": made.total(2),
        }},
    })  # fmt: skip
    return lines


def _claude_use(call: Planned) -> Json:
    if call.path:
        return {
            "type": "tool_use",
            "id": call.ident,
            "name": "Edit",
            "input": {"file_path": call.path, "old_string": "a", "new_string": "b"},
        }
    return {"type": "tool_use", "id": call.ident, "name": "Bash", "input": {"command": call.command}}


def _claude_result(call: Planned) -> Json:
    text = f"Exit code {call.code}\nno" if call.code else "yes"
    return {"type": "tool_result", "tool_use_id": call.ident, "content": text, "is_error": bool(call.code)}


def codex_rollout(made: Plan) -> list[Json]:
    """`~/.codex/sessions/…/rollout-….jsonl`: `input_tokens` hold the cached ones, sums run on over the session."""
    clock = Clock()
    lines: list[Json] = []
    summed = [0, 0, 0]

    def line(kind: str, payload: Json) -> None:
        lines.append({"timestamp": clock.iso(), "ordinal": len(lines), "type": kind, "payload": payload})

    def message(role: str, text: str) -> None:
        line(
            "response_item",
            {
                "type": "message",
                "role": role,
                "content": [{"type": "input_text" if role == "user" else "output_text", "text": text}],
            },
        )

    line("session_meta", {"id": made.ident, "cwd": "/p", "cli_version": "0.171.0"})
    message("user", "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>")
    line("turn_context", {"model": MODELS["codex"], "cwd": "/p"})
    for turn in made.turns:
        message("user", turn.prompt)
        for call in (*turn.calls, None):
            summed = [before + used for before, used in zip(summed, turn.tokens, strict=True)]
            if call is None:
                message("assistant", turn.answer)
            elif call.path:
                patch = f"*** Begin Patch\n*** Update File: {call.path}\n@@\n-a\n+b\n*** End Patch"
                line(
                    "response_item",
                    {"type": "custom_tool_call", "call_id": call.ident, "name": "apply_patch", "input": patch},
                )
                line(
                    "response_item",
                    {
                        "type": "custom_tool_call_output",
                        "call_id": call.ident,
                        "output": json.dumps({"output": "ok", "metadata": {"exit_code": 0}}),
                    },
                )
            else:
                line(
                    "response_item",
                    {
                        "type": "function_call",
                        "call_id": call.ident,
                        "name": "exec_command",
                        "arguments": json.dumps({"cmd": call.command}),
                    },
                )
                text = f"Wall time: 0.0 seconds\nProcess exited with code {call.code}\nOutput:\nyes\n"
                line("response_item", {"type": "function_call_output", "call_id": call.ident, "output": text})
            line("event_msg", {"type": "token_count", "info": {"total_token_usage": _codex_usage(summed)}})
    return lines


def codex_exec(made: Plan) -> list[Json]:
    """`codex exec --json`: what was asked is not in it."""
    lines: list[Json] = [{"type": "thread.started", "thread_id": made.ident}]
    for turn in made.turns:
        lines.append({"type": "turn.started"})
        for call in turn.calls:
            item: Json = {
                "id": call.ident,
                "type": "command_execution",
                "command": call.command,
                "aggregated_output": "yes",
                "exit_code": call.code,
                "status": "completed",
            }
            if call.path:
                item = {
                    "id": call.ident,
                    "type": "file_change",
                    "changes": [{"path": call.path, "kind": "update"}],
                    "status": "completed",
                }
            lines += [{"type": "item.started", "item": item}, {"type": "item.completed", "item": item}]
        lines.append(
            {"type": "item.completed", "item": {"id": f"a{len(lines)}", "type": "agent_message", "text": turn.answer}}
        )
        lines.append(
            {"type": "turn.completed", "usage": _codex_usage([count * turn.model_calls for count in turn.tokens])}
        )
    return lines


def _codex_usage(used: list[int]) -> Json:
    fresh, cached, written = used
    return {"input_tokens": fresh + cached, "cached_input_tokens": cached, "output_tokens": written}


def gemini_chat(made: Plan) -> list[Json]:
    """`~/.gemini/tmp/…/chats/session-….jsonl`: a message comes once without and once with what its tools gave."""
    clock = Clock()
    head: Json = {"sessionId": made.ident, "projectHash": "ab", "startTime": clock.iso(), "kind": "main"}
    around = {
        "id": "ctx",
        "type": "user",
        "timestamp": clock.iso(),
        "content": [{"text": "<session_context>\nThis is the Gemini CLI.</session_context>"}],
    }
    lines: list[Json] = [head, {"$set": {"messages": [around]}}]
    for number, turn in enumerate(made.turns):
        lines.append({"id": f"u{number}", "timestamp": clock.iso(), "type": "user", "content": [{"text": turn.prompt}]})
        fresh, cached, written = turn.tokens
        tokens = {"input": fresh + cached, "output": written, "cached": cached, "thoughts": 0, "tool": 0}
        for call in turn.calls:
            answer: Json = {
                "id": f"g{call.ident}",
                "timestamp": clock.iso(),
                "type": "gemini",
                "content": "",
                "tokens": tokens,
                "model": MODELS["gemini-cli"],
            }
            lines += [answer, {**answer, "toolCalls": [_gemini_call(call)]}, {"$set": {"lastUpdated": clock.iso()}}]
            response = {"functionResponse": {"id": call.ident, "name": "x", "response": {"output": "yes"}}}
            lines.append({"id": f"r{call.ident}", "timestamp": clock.iso(), "type": "user", "content": [response]})
        lines.append(
            {
                "id": f"e{number}",
                "timestamp": clock.iso(),
                "type": "gemini",
                "content": turn.answer,
                "tokens": tokens,
                "model": MODELS["gemini-cli"],
            }
        )
    return lines


def _gemini_call(call: Planned) -> Json:
    text = f"Output: yes\nExit Code: {call.code}" if call.code else "Output: yes"
    held = {
        "id": call.ident,
        "status": "success",
        "result": [{"functionResponse": {"id": call.ident, "response": {"output": text}}}],
    }
    if call.path:
        return {**held, "name": "replace", "args": {"file_path": call.path}, "resultDisplay": {"filePath": call.path}}
    return {**held, "name": "run_shell_command", "args": {"command": call.command}, "resultDisplay": "yes"}


def gemini_stream(made: Plan) -> list[Json]:
    """`gemini --output-format stream-json`: the answer comes in pieces; how a command ended is not in it."""
    lines: list[Json] = [{"type": "init", "session_id": made.ident, "model": MODELS["gemini-cli"]}]
    for turn in made.turns:
        lines.append({"type": "message", "role": "user", "content": turn.prompt})
        for call in turn.calls:
            name, asked = (
                ("replace", {"file_path": call.path}) if call.path else ("run_shell_command", {"command": call.command})
            )
            lines.append({"type": "tool_use", "tool_name": name, "tool_id": call.ident, "parameters": asked})
            end = {"status": "error", "error": {"type": "x", "message": "no"}} if call.code else {"status": "success"}
            lines.append({"type": "tool_result", "tool_id": call.ident, "output": "yes", **end})
        half = len(turn.answer) // 2
        lines += [
            {"type": "message", "role": "assistant", "content": part, "delta": True}
            for part in (turn.answer[:half], turn.answer[half:])
        ]
    read = made.total(0) + made.total(1)
    used = {"input_tokens": read, "cached": made.total(1), "output_tokens": made.total(2)}
    lines.append({"type": "result", "status": "success", "stats": {**used, "models": {MODELS["gemini-cli"]: used}}})
    return lines


def opencode_export(made: Plan) -> list[Json]:
    """`opencode export SESSION`: one document."""
    messages: list[Json] = []
    for number, turn in enumerate(made.turns):
        messages.append(
            {
                "info": {"role": "user", "time": {"created": START + number}},
                "parts": [{"type": "text", "text": turn.prompt}],
            }
        )
        for call in (*turn.calls, None):
            info = {
                "role": "assistant",
                "modelID": MODELS["opencode"],
                "providerID": "openai",
                "time": {"created": START + number, "completed": START + number + 5},
                "finish": "stop",
            }
            messages.append({"info": info, "parts": _opencode_parts(turn, call)})
    return [{"info": {"id": f"ses_{made.ident}", "directory": "/p", "version": "1.18.33"}, "messages": messages}]


def opencode_run(made: Plan) -> list[Json]:
    """`opencode run --format json`: a part a line; what was asked and which model answered are not in it."""
    names = {"step-start": "step_start", "step-finish": "step_finish", "tool": "tool_use", "text": "text"}
    return [
        {"type": names[part["type"]], "timestamp": START, "sessionID": f"ses_{made.ident}", "part": part}
        for turn in made.turns
        for call in (*turn.calls, None)
        for part in _opencode_parts(turn, call)
    ]


def _opencode_parts(turn: Turn, call: Planned | None) -> list[Json]:
    fresh, cached, written = turn.tokens
    tokens = {"input": fresh, "output": written, "reasoning": 0, "cache": {"read": cached, "write": 0}}
    finish = {"type": "step-finish", "reason": "stop" if call is None else "tool-calls", "tokens": tokens, "cost": 0.25}
    part: Json = {"type": "text", "text": turn.answer}
    if call is not None:
        asked = {"filePath": call.path} if call.path else {"command": call.command}
        state = {
            "status": "completed",
            "input": asked,
            "output": "yes",
            "metadata": {"exit": call.code},
            "time": {"start": START, "end": START + 40},
        }
        part = {"type": "tool", "tool": "edit" if call.path else "bash", "callID": call.ident, "state": state}
    return [{"type": "step-start"}, part, finish]


def _logs(service: str, version: str, session_key: str, made: Plan, events: list[tuple[str, Json]]) -> list[Json]:
    """The events as one OTLP document; values are texts, as Claude Code and Codex send them."""
    clock = Clock()
    records = [
        {
            "body": {"stringValue": name},
            "attributes": [
                {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
                for key, value in {
                    **fields, "event.name": name.rpartition(".")[2] if service == "claude-code" else name,
                    session_key: made.ident, "event.timestamp": clock.iso(),
                }.items()
            ],
        }
        for name, fields in events
    ]  # fmt: skip
    about = {"service.name": service, "service.version": version}
    resource = {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in about.items()]}
    return [{"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": records}]}]}]


def claude_logs(made: Plan) -> list[Json]:
    """Claude Code's events, with prompts and tool details switched on."""
    events: list[tuple[str, Json]] = [("claude_code.plugin_loaded", {"plugin.name": "x"})]
    for number, turn in enumerate(made.turns):
        fresh, cached, written = turn.tokens
        events.append(("claude_code.user_prompt", {"prompt": turn.prompt, "prompt.id": f"p{number}"}))
        used = {
            "model": MODELS["claude-code"],
            "input_tokens": fresh,
            "cache_read_tokens": cached,
            "output_tokens": written,
            "cost_usd": 0.25,
        }
        for call in turn.calls:
            asked = {"file_path": call.path} if call.path else {"command": call.command}
            done = {
                "tool_name": "Edit" if call.path else "Bash",
                "tool_use_id": call.ident,
                "tool_input": json.dumps(asked),
            }
            failed = {"success": "false", "error": "Shell command failed"} if call.code else {"success": "true"}
            events += [("claude_code.api_request", used), ("claude_code.tool_result", {**done, **failed})]
        events += [("claude_code.api_request", used), ("claude_code.assistant_response", {"response": turn.answer})]
    return _logs("claude-code", "2.1.332", "session.id", made, events)


def codex_logs(made: Plan) -> list[Json]:
    """Codex's events: no answer is among them, and how a command ended stands in its output."""
    events: list[tuple[str, Json]] = [("codex.conversation_starts", {})]
    for turn in made.turns:
        fresh, cached, written = turn.tokens
        used = {
            "event.kind": "response.completed",
            "model": MODELS["codex"],
            "input_token_count": fresh + cached,
            "cached_token_count": cached,
            "output_token_count": written,
        }
        events.append(("codex.user_prompt", {"prompt": turn.prompt}))
        for call in turn.calls:
            output = f"Wall time: 0.0 seconds\nProcess exited with code {call.code}\n"
            done = {
                "tool_name": "apply_patch" if call.path else "exec_command",
                "call_id": call.ident,
                "output": output,
                "success": "true",
            }
            asked = {"file_path": call.path} if call.path else {"cmd": call.command}
            events += [("codex.sse_event", used), ("codex.tool_result", {**done, "arguments": json.dumps(asked)})]
        events.append(("codex.sse_event", used))
    return _logs("codex_exec", "0.171.0", "conversation.id", made, events)


def gemini_logs(made: Plan) -> list[Json]:
    """Gemini CLI's events: the answer stands in the JSON of the model's response."""
    events: list[tuple[str, Json]] = [("gemini_cli.config", {})]
    for turn in made.turns:
        fresh, cached, written = turn.tokens
        used = {
            "model": MODELS["gemini-cli"],
            "input_token_count": fresh + cached,
            "cached_content_token_count": cached,
            "output_token_count": written,
        }
        events.append(("gemini_cli.user_prompt", {"prompt": turn.prompt}))
        for call in turn.calls:
            asked = {"file_path": call.path} if call.path else {"command": call.command}
            done = {
                "function_name": "replace" if call.path else "run_shell_command",
                "function_args": json.dumps(asked),
                "success": not call.code,
            }
            events += [("gemini_cli.api_response", used), ("gemini_cli.tool_call", done)]
        said = [{"candidates": [{"content": {"role": "model", "parts": [{"text": turn.answer}]}}]}]
        events.append(("gemini_cli.api_response", {**used, "response_text": json.dumps(said)}))
    return _logs("gemini-cli", "v20", "session.id", made, events)


LOGS: dict[str, Callable[[Plan], list[Json]]] = {
    "claude-code": claude_logs,
    "codex": codex_logs,
    "gemini-cli": gemini_logs,
}
Shape = Callable[[Plan], list[Json]]
SHAPES: dict[str, tuple[str, str, Shape]] = {
    "claude-session": ("claude-code", "s.jsonl", claude_session),
    "claude-stream": ("claude-code", "s.jsonl", claude_stream),
    "codex-rollout": ("codex", "s.jsonl", codex_rollout),
    "codex-exec": ("codex", "s.jsonl", codex_exec),
    "gemini-chat": ("gemini-cli", "s.jsonl", gemini_chat),
    "gemini-stream": ("gemini-cli", "s.jsonl", gemini_stream),
    "opencode-export": ("opencode", "s.json", opencode_export),
    "opencode-run": ("opencode", "s.jsonl", opencode_run),
}
"""By the name of the shape: the program, what the file is called, and what writes the plan so."""
WITHOUT_PROMPT = frozenset(("codex-exec", "opencode-run"))

"""What the command lines of coding agents print, read as one output: its text, its tool calls, its tokens and its cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import tool_calls_of
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.known_secrets import masked

HostStream = Literal["claude-stream", "codex-exec", "gemini-json", "opencode-run"]
"""`claude -p --output-format stream-json --verbose`, `codex exec --json`, `gemini --output-format stream-json` and
`opencode run --format json`; Claude's and Gemini's `--output-format json`, too."""

SHOWN = 300


@dataclass(slots=True)
class Printed:
    """A session as it was printed so far."""

    said: list[str] = field(default_factory=list[str])
    """The parts of the newest answer; a tool call ends one, and the next text begins another."""

    calls: dict[str, Json] = field(default_factory=dict[str, Json])
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    finish_reason: str | None = None
    failure: str = ""
    is_answered: bool = False
    """Whether a tool was called, or a turn ended, since the newest answer."""

    def say(self, text: JsonValue) -> None:
        """Takes a text of the agent's."""
        if isinstance(text, str) and text:
            if self.is_answered:
                self.said.clear()
            self.is_answered = False
            self.said.append(text)

    def call(self, ident: JsonValue, tool: JsonValue, arguments: JsonValue) -> None:
        """Takes a call that begins."""
        self.is_answered = True
        name = str(ident or len(self.calls) + 1)
        given: Json = arguments if isinstance(arguments, dict) else {"input": arguments}
        self.calls.setdefault(name, {"tool": str(tool or "tool"), "id": name, "arguments": given})

    def result(self, ident: JsonValue, result: JsonValue, *, error: str = "") -> None:
        """Takes what came of a call."""
        step = self.calls.get(str(ident))
        if step is not None:
            step["result"] = result
            if error:
                step["error"] = error

    def use(self, read: JsonValue, written: JsonValue) -> None:
        """Adds tokens that a model read and wrote."""
        self.input_tokens = _sum(self.input_tokens, read)
        self.output_tokens = _sum(self.output_tokens, written)

    def observed(self) -> Observed | TargetErrored:
        """The output; the target's error where the agent says that it failed, or said and did nothing."""
        if self.failure:
            return TargetErrored(masked(" ".join(self.failure.split()))[:SHOWN])
        if not self.said and not self.calls:
            return TargetErrored("its output holds no answer and no tool call of this format", unanswered=True)
        try:
            calls = tool_calls_of([*self.calls.values()])
        except InvalidRecordError as error:
            return TargetErrored(f"its {error.reason}")
        return Observed(
            output={"output": "".join(self.said)}, tool_calls=calls, input_tokens=self.input_tokens,
            output_tokens=self.output_tokens, cost_usd=self.cost_usd, finish_reason=self.finish_reason,
        )  # fmt: skip


def read_stream(form: HostStream, printed: bytes) -> Observed | TargetErrored:
    """What the program of that format printed."""
    session = Printed()
    for event in _events(printed):
        _READERS[form](session, event)
    return session.observed()


def _events(printed: bytes) -> Iterator[Json]:
    """Yields each JSON object of a line of its own, or the one that the whole text is; anything else is beside the point."""
    whole = _object(printed)
    if whole is not None:
        yield whole
        return
    for line in printed.splitlines():
        event = _object(line) if line.lstrip().startswith(b"{") else None
        if event is not None:
            yield event


def _object(text: bytes) -> Json | None:
    try:
        value: JsonValue = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _part(value: JsonValue, *names: str) -> Json:
    """The object under those names; an empty one where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _objects(value: JsonValue) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _sum(*values: JsonValue) -> int | None:
    known = [count for value in values if (count := _count(value)) is not None]
    return sum(known) if known else None


def _cost(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _text(content: JsonValue) -> JsonValue:
    """The text of a result's blocks; the content itself where it is something else."""
    blocks = _objects(content)
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return "\n".join(cast("list[str]", texts)) if blocks and len(texts) == len(blocks) else content


def _claude(session: Printed, event: Json) -> None:
    match event.get("type"):
        case "assistant":
            for block in _objects(_part(event, "message").get("content")):
                if block.get("type") == "text" and event.get("parent_tool_use_id") is None:
                    session.say(block.get("text"))
                elif block.get("type") == "tool_use":
                    session.call(block.get("id"), block.get("name"), block.get("input"))
        case "user":
            for block in _objects(_part(event, "message").get("content")):
                if block.get("type") == "tool_result":
                    result = _text(block.get("content"))
                    failed = str(result)[:SHOWN] if block.get("is_error") is True else ""
                    session.result(block.get("tool_use_id"), result, error=failed)
        case "result":
            _claude_ended(session, event)
        case _:
            pass


def _claude_ended(session: Printed, event: Json) -> None:
    usage = _part(event, "usage")
    read = _sum(
        usage.get("input_tokens"), usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    )
    session.use(read, usage.get("output_tokens"))
    session.cost_usd = _cost(event.get("total_cost_usd"))
    reason = event.get("stop_reason")
    session.finish_reason = reason if isinstance(reason, str) else None
    if event.get("is_error") is True:
        session.failure = str(event.get("result") or event.get("subtype") or "it says that it failed")
    elif isinstance(event.get("result"), str):
        session.said = [str(event["result"])]


def _codex(session: Printed, event: Json) -> None:
    item = _part(event, "item")
    match event.get("type"):
        case "item.started" | "item.completed":
            _codex_item(session, item)
        case "turn.completed":
            usage = _part(event, "usage")
            session.use(usage.get("input_tokens"), usage.get("output_tokens"))
        case "turn.failed":
            session.failure = str(_part(event, "error").get("message") or "its turn failed")
        case "error":
            session.failure = str(event.get("message") or "it says that it failed")
        case _:
            pass


def _codex_item(session: Printed, item: Json) -> None:
    ident, is_over = item.get("id"), item.get("status") not in {None, "in_progress"}
    match item.get("type"):
        case "agent_message":
            session.is_answered = session.is_answered or bool(session.said)  # each message is an answer of its own
            session.say(item.get("text"))
        case "command_execution":
            session.call(ident, "shell", {"command": item.get("command")})
            if is_over:
                code = item.get("exit_code")
                session.result(ident, item.get("aggregated_output"), error=f"exit code {code}" if code else "")
        case "mcp_tool_call":
            session.call(ident, item.get("tool"), item.get("arguments"))
            if is_over:
                failed = str(_part(item, "error").get("message") or item.get("error") or "")
                session.result(ident, _text(_part(item, "result").get("content")), error=failed[:SHOWN])
        case "file_change":
            session.call(ident, "apply_patch", {"changes": item.get("changes")})
        case "web_search":
            session.call(ident, "web_search", {"query": item.get("query")})
        case _:
            pass


def _gemini(session: Printed, event: Json) -> None:
    if "response" in event and "type" not in event:  # `--output-format json` prints one object
        session.say(event.get("response"))
        for model in _part(event, "stats", "models").values():
            tokens = _part(model, "tokens")
            session.use(tokens.get("prompt"), tokens.get("candidates"))
        session.failure = str(_part(event, "error").get("message") or "")
        return
    match event.get("type"):
        case "message" if event.get("role") == "assistant":
            session.say(event.get("content"))
        case "tool_use":
            session.call(event.get("tool_id"), event.get("tool_name"), event.get("parameters"))
        case "tool_result":
            failed = (
                "" if event.get("status") == "success" else str(_part(event, "error").get("message") or "it failed")
            )
            session.result(event.get("tool_id"), event.get("output"), error=failed[:SHOWN])
        case "error":
            session.failure = str(event.get("message") or "it says that it failed")
        case "result":
            stats = _part(event, "stats")
            session.use(stats.get("input_tokens"), stats.get("output_tokens"))
            if event.get("status") == "error":
                session.failure = str(_part(event, "error").get("message") or "it says that it failed")
        case _:
            pass


def _opencode(session: Printed, event: Json) -> None:
    part = _part(event, "part")
    match event.get("type"):
        case "text":
            session.say(part.get("text"))
        case "tool_use":
            state = _part(part, "state")
            session.call(part.get("callID"), part.get("tool"), state.get("input"))
            code = _part(state, "metadata").get("exit")
            failed = (
                str(state.get("error") or "") if state.get("status") == "error" else f"exit code {code}" if code else ""
            )
            session.result(part.get("callID"), state.get("output"), error=failed[:SHOWN])
        case "step_finish":
            tokens = _part(part, "tokens")
            cache = _part(tokens, "cache")
            session.use(_sum(tokens.get("input"), cache.get("read"), cache.get("write")), tokens.get("output"))
            cost = _cost(part.get("cost"))
            session.cost_usd = session.cost_usd if cost is None else (session.cost_usd or 0.0) + cost
        case "error":
            error = _part(event, "error")
            session.failure = str(_part(error, "data").get("message") or error.get("name") or "it says that it failed")
        case _:
            pass


_READERS: Mapping[HostStream, Callable[[Printed, Json], None]] = {
    "claude-stream": _claude,
    "codex-exec": _codex,
    "gemini-json": _gemini,
    "opencode-run": _opencode,
}

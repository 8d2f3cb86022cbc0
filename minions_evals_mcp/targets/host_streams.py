"""What the command lines of coding agents print, read as one output by the readers of their sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import tool_calls_of
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.models.session_cost import session_cost
from minions_evals_mcp.sessions import claude, codex, gemini, opencode
from minions_evals_mcp.sessions.session import Session
from minions_evals_mcp.targets.exchange import HostStream

SHOWN = 300
_READERS: Mapping[HostStream, Callable[[Iterable[Json]], Session]] = {
    "claude-stream": claude.read,
    "codex-exec": codex.read,
    "gemini-json": gemini.read,
    "opencode-run": opencode.read,
}


def read_stream(form: HostStream, printed: bytes) -> Observed | TargetErrored:
    """What a program of that format printed before it ended; the target's error where the agent failed or gave no answer.

    What it said last is its answer, though the line that says so is missing.
    """
    try:
        session = _READERS[form](_events(printed))
        calls = tool_calls_of([call.step() for call in session.calls.values()])
    except InvalidRecordError as error:
        return TargetErrored(f"its {error.reason}")
    if session.failure:
        return TargetErrored(masked(" ".join(session.failure.split()))[:SHOWN])
    if not session.answer and not session.calls:
        return TargetErrored("its output has no answer and no tool call in this format", unanswered=True)
    if session.is_unfinished and not session.ends_in_answer:
        return TargetErrored("its output ends before the agent's final answer", unanswered=True)
    used = [*session.models.values()]
    return Observed(
        output={"output": session.answer},
        tool_calls=calls,
        input_tokens=sum(tokens.read for tokens in used) if used else None,
        output_tokens=sum(tokens.written for tokens in used) if used else None,
        cost_usd=session_cost(session),
        finish_reason=session.ended,
    )


def result_of_stream(printed: bytes) -> Json:
    """The last line in which the program says how its session went; empty where there is none."""
    ends = [event for event in _events(printed) if event.get("type") == "result"]
    return ends[-1] if ends else {}


def _events(printed: bytes) -> Iterator[Json]:
    """The JSON objects that the whole text is, or that are lines of their own; anything else is beside the point."""
    whole = _value(printed)
    values = [whole] if isinstance(whole, dict) else whole
    lines = (_value(line) for line in printed.splitlines() if line.lstrip().startswith(b"{"))
    yield from (value for value in (values if isinstance(values, list) else lines) if isinstance(value, dict))


def _value(text: bytes) -> JsonValue:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return None

"""One call, whatever its keys are called, as a step of ours."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.tagged_values import parsed
from minions_evals_mcp.domain.values import Json

NAMES = ("tool", "name", "toolName", "tool_name", "functionName", "function_name")
"""Where a tool's name may stand, the first of them that does."""
ALIASES: dict[str, tuple[str, ...]] = {
    "tool": NAMES,
    "arguments": ("arguments", "args", "input", "tool_input", "toolInput", "parameters", "inputs"),
    "result": ("result", "output", "observation", "outputs", "response"),
    "error": ("error", "errorMessage", "error_message"),
    "durationMs": ("durationMs", "duration_ms", "latencyMs", "latency_ms"),
    "id": ("call_id", "callId", "tool_call_id", "toolCallId", "id", "run_id", "runId"),
    "startedAt": ("startedAt", "started_at", "start_time", "startTime", "timestamp"),
    "parentId": ("parentId", "parent_id", "parent_run_id", "parentRunId"),
    "agent": ("agent", "agent_name", "agentName"),
    "tokensUsed": ("tokensUsed", "tokens_used", "total_tokens", "totalTokens"),
}
"""Under which keys each field of a step may come; the first that is there is it, the others are extra."""
OURS = frozenset((*ALIASES, "extra", "duration_ms", "started_at", "parent_id", "tokens_used"))
"""The keys of a step that needs no mapping."""
SHAPE_MARKS = frozenset(
    ("function", "tool_call", "tool_use", "function_call", "server_tool_use", "mcp_tool_use", "tool", "mcp_call")
)
"""What `type` and `run_type` say of a call that is one anyway."""


def named_step(item: Json) -> Json | None:
    """The step that a call with these keys is; None where no tool's name stands there."""
    taken = {wire: key for wire, keys in ALIASES.items() if (key := _first(item, keys)) is not None}
    name = item.get(taken.get("tool", ""))
    if not isinstance(name, str) or not name.strip():
        return None
    step: Json = {wire: item[key] for wire, key in taken.items()}
    step["arguments"] = arguments_of(step.get("arguments"))
    if "result" in step:
        step["result"] = parsed(step["result"]) if taken["result"] != "result" else step["result"]
    extra = _extra(item, taken)
    _put_error(step, item)
    _put_time(step, item, extra)
    for name in ("id", "parentId", "agent"):
        if name in step and not isinstance(step[name], str):
            step[name] = str(step[name])
    if "tokensUsed" in step and not _is_count(step["tokensUsed"]):
        extra[taken["tokensUsed"]] = step.pop("tokensUsed")
    if extra:
        step["extra"] = extra
    return step


def arguments_of(given: JsonValue) -> Json:
    """The arguments as a mapping: OpenAI writes them as a JSON text, others as a plain one."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {"input": given}
    return given if isinstance(given, dict) else {} if given is None else {"input": given}


def error_text(given: JsonValue) -> str | None:
    """Returns what went wrong, in words; None where nothing did."""
    match given:
        case None | False | "":
            return None
        case str():
            return given
        case True:
            return "failed"
        case {"message": str(message)}:
            return message
        case _:
            return json.dumps(given, ensure_ascii=False)


def moment_of(given: JsonValue) -> datetime | None:
    """The moment that an ISO text (UTC where it names no zone) or a count of seconds, milli- or nanoseconds since 1970 says."""
    if isinstance(given, str) and given.isdigit():
        given = int(given)
    try:
        if isinstance(given, str):
            moment = datetime.fromisoformat(given)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if isinstance(given, int | float) and not isinstance(given, bool) and given > 0:
            return datetime.fromtimestamp(given / _scale(given), UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _scale(since_1970: float) -> float:
    return 1e9 if since_1970 > 1e16 else 1e3 if since_1970 > 1e11 else 1.0


def _first(item: Json, keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if item.get(key) is not None), None)


def _extra(item: Json, taken: dict[str, str]) -> Json:
    """All that a step has no field for, beside what it brought under `extra`."""
    used = {*taken.values(), "extra", "is_error", "isError"}
    given = item.get("extra")
    extra: Json = dict(given) if isinstance(given, dict) else {} if given is None else {"extra": given}
    for key, value in item.items():
        marks_the_shape = key in ("type", "run_type") and isinstance(value, str) and value in SHAPE_MARKS
        if key not in used and value is not None and not marks_the_shape:
            extra[key] = value
    return extra


def _put_error(step: Json, item: Json) -> None:
    error = error_text(step.pop("error", None))
    failed = item.get("is_error") is True or item.get("isError") is True or item.get("status") == "error"
    if error is None and failed:
        result = step.pop("result", None)
        error = result if isinstance(result, str) and result.strip() else error_text(result) or "failed"
    if error is not None:
        step["error"] = error


def _put_time(step: Json, item: Json, extra: Json) -> None:
    """Writes the step's beginning as ISO-8601, and its length where only its end is told; a time that cannot be read is extra."""
    given = step.pop("startedAt", None)
    began = moment_of(given)
    if began is not None:
        step["startedAt"] = began.isoformat()
    elif given is not None:
        extra["startedAt"] = given
    ended = next((moment_of(item[key]) for key in ("endedAt", "end_time", "endTime") if item.get(key)), None)
    if began is not None and ended is not None and ended >= began and "durationMs" not in step:
        step["durationMs"] = (ended - began).total_seconds() * 1000


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def with_extra(given: Json, known: frozenset[str]) -> Json:
    """The mapping with what its type does not know under `extra`; itself where it knows all."""
    if given.keys() <= known:
        return given
    extra_given = given.get("extra")
    extra: Json = (
        dict(extra_given) if isinstance(extra_given, dict) else {} if extra_given is None else {"extra": extra_given}
    )
    others = {key: value for key, value in given.items() if key not in known}
    return {**{key: value for key, value in given.items() if key in known}, "extra": {**extra, **others}}

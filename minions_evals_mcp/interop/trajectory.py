"""An agent's trajectory (ATIF) as an agent-run."""

from __future__ import annotations

import re

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.tagged_values import obj, without_none
from minions_evals_mcp.domain.values import MAX_ID


def _id(text: str) -> str:
    """The text as a part of an id; with a digest where that loses something."""
    plain = re.sub(r"[^A-Za-z0-9._:/@-]+", "-", text)
    return plain if plain == text and len(text) <= MAX_ID // 2 else f"{plain[: MAX_ID // 2 - 9]}-{digest(text)[:8]}"


def is_trajectory(document: JsonValue) -> bool:
    """Returns whether the document says that it is one."""
    return str(obj(document).get("schema_version", "")).startswith("ATIF-")


def trajectory_run(document: JsonValue) -> Json:
    """The record on the wire; raises `ValueError` saying what is missing. Steps that were copied as context are left out."""
    trajectory = obj(document)
    name, listed = obj(trajectory.get("agent")).get("name"), trajectory.get("steps")
    steps = [obj(step) for step in listed] if isinstance(listed, list) else []
    if not name or not steps:
        raise ValueError("the trajectory has no steps, or its agent no name")
    steps = [step for step in steps if step.get("is_copied_context") is not True]
    questions, answers = _texts(steps, "user"), _texts(steps, "agent")
    ident = trajectory.get("trajectory_id") or trajectory.get("session_id") or digest(document)
    figures = obj(trajectory.get("final_metrics"))
    fields: Json = {
        "agentId": _id(str(name)),
        "triggeredAt": next((step["timestamp"] for step in steps if step.get("timestamp")), None),
        "completedAt": next((step["timestamp"] for step in reversed(steps) if step.get("timestamp")), None),
        "inputs": {"input": questions[0]} if questions else {},
        "outputs": {"output": answers[-1]} if answers else {},
        "toolCallsLog": [call for step in steps for call in _calls(step)],
        "tokensUsed": _tokens(figures),
        "cost": figures.get("total_cost_usd"),
    }
    whole: Json = without_none(fields)
    return {"id": f"atif:{_id(str(ident))}", "type": "agent-run", "fields": whole}


def _texts(steps: list[Json], source: str) -> list[str]:
    """Returns what that source said, oldest first."""
    texts = (_text(step.get("message")) for step in steps if step.get("source") == source)
    return [text for text in texts if text.strip()]


def _text(message: JsonValue) -> str:
    parts = message if isinstance(message, list) else [message]
    texts = (part if isinstance(part, str) else obj(part).get("text") for part in parts)
    return "\n".join(part for part in texts if isinstance(part, str))


def _calls(step: Json) -> list[JsonValue]:
    calls, results = step.get("tool_calls"), obj(step.get("observation")).get("results")
    observed = [obj(result) for result in results] if isinstance(results, list) else []
    by_call = {str(result.get("source_call_id")): result.get("content") for result in observed}
    return [_call(obj(call), by_call) for call in calls] if isinstance(calls, list) else []


def _call(call: Json, observed: dict[str, JsonValue]) -> Json:
    result = observed.get(str(call.get("tool_call_id")))
    return call if result is None else {**call, "result": result}


def _tokens(figures: Json) -> int | None:
    counted = [figures.get(name) for name in ("total_prompt_tokens", "total_completion_tokens")]
    numbers = [count for count in counted if isinstance(count, int)]
    return sum(numbers) if numbers else None

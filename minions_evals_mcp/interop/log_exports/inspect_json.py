"""A log of Inspect's (`.json`, version 2)."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.tagged_values import obj, without_none
from minions_evals_mcp.interop.log_exports.conversations import conversation, question
from minions_evals_mcp.interop.log_exports.exported_outputs import OURS, Export, ExportedOutput, ExportedScore
from minions_evals_mcp.interop.log_exports.writing import one_document
from minions_evals_mcp.sessions.conversation import message_text, objects, without

VERSION = 2
ROLES = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""The roles that Inspect knows, by those that others write; any other is the user's."""
PARTS = frozenset({"text", "reasoning", "image", "audio", "video", "data", "document"})
"""The parts of a content that Inspect knows."""


async def inspect_json(export: Export) -> AsyncIterator[str]:
    """The log; its samples come last, each as soon as it was read."""
    async for piece in one_document(
        _head(export), "samples", export, lambda sample_told, _: sample(sample_told, export.subject)
    ):
        yield piece


def _head(export: Export) -> Json:
    """Returns what a log says of itself; of an imported log of Inspect's, what that said."""
    known = obj(export.header.get("eval"))
    about: Json = {
        "run_id": export.id, "eval_id": export.id, "created": export.created, "task": export.task, "task_id": export.id,
        "task_version": 0, "task_attribs": {}, "task_args": {},
        "dataset": {"name": export.task, "samples": export.total, "shuffled": False},
        "model": export.subject or "none", "model_args": {}, "config": {}, "packages": {}, **known,
    }  # fmt: skip
    scored = export.passed is not None
    metrics: Json = {
        "accuracy": {"name": "accuracy", "value": (export.passed or 0) / max(1, export.total), "params": {}}
    }
    scores: list[JsonValue] = [{"name": OURS, "scorer": OURS, "params": {}, "metrics": metrics}] if scored else []
    results: Json = {"total_samples": export.total, "completed_samples": export.total, "scores": scores}
    stats: Json = {"started_at": export.created, "completed_at": export.created, "model_usage": {}}
    return {
        "version": VERSION, "status": str(export.header.get("status", "success")), "eval": about,
        "plan": export.header.get("plan", {"name": "plan", "steps": [], "config": {}}),
        "results": results if scored else export.header.get("results", results),
        "stats": export.header.get("stats", stats),
    }  # fmt: skip


def sample(output: ExportedOutput, subject: str) -> Json:
    """One output as a sample of Inspect's."""
    answer = "" if output.output is None else value_text(output.output)
    usage = _usage(output)
    choice: Json = {"message": {"role": "assistant", "content": answer}, "stop_reason": _stop(output)}
    known = obj(output.case.get("extra"))
    target = known.get("target", output.targets[0] if len(output.targets) == 1 else [*output.targets])
    return without_none({
        "id": output.sample if isinstance(output.sample, str | int) else value_text(output.sample),
        "epoch": output.epoch,
        "input": _input(output.inputs),
        "choices": output.inputs.get("choices"),
        "target": target if target != [] else "",
        "messages": [_as_written(message) for message in conversation(output)],
        "output": {"model": subject, "choices": [choice] if output.output is not None else [], "usage": usage},
        "scores": {score.name: _score(score, answer) for score in output.scores},
        "metadata": obj(known.get("metadata")),
        "store": {},
        "events": [],
        "model_usage": output.extra.get("modelUsage") or ({subject: usage} if usage else {}),
        "started_at": output.started,
        "completed_at": output.completed,
        "total_time": None if output.latency_ms is None else output.latency_ms / 1000,
        "error": None if output.error is None else {"message": output.error, "traceback": "", "traceback_ansi": ""},
        "limit": output.extra.get("limit"),
        "attachments": {},
        **obj(output.extra.get("rest")),
    })  # fmt: skip


def _input(inputs: Json) -> JsonValue:
    question_asked = question(inputs)
    return (
        [_as_written(message) for message in objects(question_asked)]
        if isinstance(question_asked, list)
        else question_asked
    )


def _as_written(message: Json) -> JsonValue:
    """The message as Inspect writes it: its texts are no null, the tool's name stands under `function`, what failed under `error`."""
    role = message.get("role")
    known: Json = {**message, "role": ROLES.get(str(role), "user"), "content": _content(message)}
    if known["role"] == "tool":
        failed: Json = (
            {"error": {"type": "unknown", "message": message_text(message)}} if message.get("is_error") else {}
        )
        return {"function": message.get("name"), **failed, **without(known, "name", "is_error")}
    calls: list[JsonValue] = [
        {"type": "function", **without(call, "name"), "function": call.get("name")}
        for call in objects(message.get("tool_calls"))
    ]
    return {**known, "tool_calls": calls} if calls else known


def _content(message: Json) -> JsonValue:
    """The content where Inspect knows all of its parts, else its texts."""
    content = message.get("content")
    known = isinstance(content, list) and all(obj(part).get("type") in PARTS for part in content)
    return content if known else message_text(message)


def _usage(output: ExportedOutput) -> JsonValue:
    if output.input_tokens is None and output.output_tokens is None:
        return None
    put, got = output.input_tokens or 0, output.output_tokens or 0
    return {"input_tokens": put, "output_tokens": got, "total_tokens": put + got}


STOPS = frozenset({"stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"})


def _stop(output: ExportedOutput) -> str:
    return output.stop_reason if output.stop_reason in STOPS else "unknown" if output.stop_reason else "stop"


def _score(score: ExportedScore, answer: str) -> Json:
    """The score; one made here says "C" or "I" of the verdict, and who judged."""
    if score.foreign:
        value = float("nan") if score.about.get("unscored") else "N" if score.value is None else score.value
        return {"value": value, "history": [], **without(score.about, "unscored")}
    value = ("C" if score.passed else "I") if score.passed is not None else score.value
    about: Json = {"score": score.value, "judgedBy": score.by}
    return {"value": value, "answer": answer, "explanation": score.reason, "metadata": about, "history": []}

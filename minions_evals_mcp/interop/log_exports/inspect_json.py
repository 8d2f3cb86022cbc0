"""A log of Inspect's (`.json`, version 2)."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.interop.log_exports.told import OURS, Export, Score, Told
from minions_evals_mcp.interop.log_exports.writing import one_document, text, without_none
from minions_evals_mcp.interop.logs.conversation import objects, without

VERSION = 2


async def inspect_json(export: Export) -> AsyncIterator[str]:
    """The log; its samples come last, each as soon as it was read."""
    async for piece in one_document(_head(export), "samples", export, lambda told, _: sample(told, export.subject)):
        yield piece


def _head(export: Export) -> Json:
    """What a log says of itself; of an imported log of Inspect's, what that said."""
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


def sample(told: Told, subject: str) -> Json:
    """One output as a sample of Inspect's."""
    answer = "" if told.output is None else value_text(told.output)
    usage = _usage(told)
    choice: Json = {"message": {"role": "assistant", "content": answer}, "stop_reason": _stop(told)}
    known = obj(told.case.get("extra"))
    target = known.get("target", told.targets[0] if len(told.targets) == 1 else [*told.targets])
    return without_none({
        "id": told.sample if isinstance(told.sample, str | int) else value_text(told.sample),
        "epoch": told.epoch,
        "input": _input(told.inputs),
        "choices": told.inputs.get("choices"),
        "target": target if target != [] else "",
        "messages": [_as_written(message) for message in told.messages or _messages(told)],
        "output": {"model": subject, "choices": [choice] if told.output is not None else [], "usage": usage},
        "scores": {score.name: _score(score, answer) for score in told.scores},
        "metadata": obj(known.get("metadata")),
        "store": {},
        "events": [],
        "model_usage": {subject: usage} if usage else {},
        "started_at": told.started,
        "completed_at": told.completed,
        "total_time": None if told.latency_ms is None else told.latency_ms / 1000,
        "error": None if told.error is None else {"message": told.error, "traceback": "", "traceback_ansi": ""},
        "limit": told.extra.get("limit"),
        "attachments": {},
        **obj(told.extra.get("rest")),
    })  # fmt: skip


def _input(inputs: Json) -> JsonValue:
    messages, asked = inputs.get("messages"), inputs.get("input")
    if isinstance(messages, list):
        return messages
    return asked if isinstance(asked, str) else text(inputs)


def _as_written(message: JsonValue) -> JsonValue:
    """The message as Inspect writes it: the tool's name stands under `function`."""
    said = obj(message)
    calls: list[JsonValue] = [
        {"function": call.get("name"), "type": "function", **without(call, "name")}
        for call in objects(said.get("tool_calls"))
    ]
    if calls:
        return {**said, "tool_calls": calls}
    return without(said, "name", "is_error") if "function" in said else message


def _messages(told: Told) -> list[JsonValue]:
    """The question and the answer, where no conversation was kept; nothing where nothing was answered."""
    if told.output is None:
        return []
    question = _input(told.inputs)
    asked: list[JsonValue] = question if isinstance(question, list) else [{"role": "user", "content": question}]
    return [*asked, {"role": "assistant", "content": value_text(told.output)}]


def _usage(told: Told) -> JsonValue:
    if told.input_tokens is None and told.output_tokens is None:
        return None
    put, got = told.input_tokens or 0, told.output_tokens or 0
    return {"input_tokens": put, "output_tokens": got, "total_tokens": put + got}


STOPS = frozenset({"stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"})


def _stop(told: Told) -> str:
    return told.stop_reason if told.stop_reason in STOPS else "unknown" if told.stop_reason else "stop"


def _score(score: Score, answer: str) -> Json:
    """The score; one made here says "C" or "I" of the verdict, and who judged."""
    if score.foreign:
        value = float("nan") if score.about.get("unscored") else "N" if score.value is None else score.value
        return {"value": value, "history": [], **without(score.about, "unscored")}
    value = ("C" if score.passed else "I") if score.passed is not None else score.value
    about: Json = {"score": score.value, "judgedBy": score.by}
    return {"value": value, "answer": answer, "explanation": score.reason, "metadata": about, "history": []}

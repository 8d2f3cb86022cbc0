"""Inspect's logs: `.eval` (an archive) and `.json`."""

from __future__ import annotations

import itertools
import math
import re
import zipfile
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.domain.values import known_sum
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.archive import Archive, archive
from minions_evals_mcp.interop.logs.files import json_pieces
from minions_evals_mcp.interop.logs.foreign_checks import inspect_check, recorded_checks
from minions_evals_mcp.interop.logs.json_stream import LONGEST
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import object_under, the_object
from minions_evals_mcp.scoring.foreign.inspect_scorers import carried_out
from minions_evals_mcp.sessions.conversation import (
    count,
    inputs_of,
    last_answer,
    message_text,
    number,
    objects,
    texts,
    without,
)

NAME = "inspect"
SAMPLES = "samples/"
HEADERS = ("header.json", "_journal/start.json")
"""A log that was cut short has no header: how it began is told by the second."""
SPELLED = frozenset({"match", "includes", "exact", "f1"})
"""Scorers whose target is itself a right answer."""
CHOICE, MULTIPLE_CHOICE = "choice", "multiple_choice"
"""The scorer, and the solver that reads out of the output what it compares."""
_REFERENCE = re.compile(r"(?:attachment|tc)://([0-9a-f]+)")
_READ = (
    "id", "epoch", "input", "choices", "target", "messages", "output", "scores", "metadata", "model_usage",
    "started_at", "completed_at", "total_time", "error", "events", "attachments", "limit",
)  # fmt: skip


def is_log(seen: JsonValue) -> bool:
    """Returns whether a JSON document is one of Inspect's logs."""
    return "task" in obj(obj(seen).get("eval")) and "status" in obj(seen)


def is_archive(path: Path) -> bool:
    """Whether an archive is one of Inspect's: by its name, else by what is in it."""
    if path.suffix.lower() == ".eval":
        return True
    try:
        with zipfile.ZipFile(path) as members:
            return not {*HEADERS}.isdisjoint(members.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def read_json(path: Path) -> Iterator[Item]:
    """The log and its samples, one by one."""
    head: Json = {}
    for piece in json_pieces(path, streamed=frozenset({"samples"})):
        if piece.path == "samples" and "eval" in head:
            break
        if piece.path != "samples":
            head[piece.path] = piece.value
    log, judging = _log(head, str(path))
    yield log
    numbered = (piece for piece in json_pieces(path, streamed=frozenset({"samples"})) if piece.path == "samples")
    for place, piece in enumerate(numbered, 1):
        if piece.value is not None:
            yield _sample(piece.value, judging, f"{path}: samples.{place}")


def read_archive(path: Path) -> Iterator[Item]:
    """The same of an archive, member by member."""
    with archive(path) as members:
        header = members.named(*HEADERS)
        if header is None:
            raise InvalidRecordError("no log of Inspect's: it has no header.json", where=str(path))
        log, judging = _log(obj(members.json(header)), members.place(header))
        yield log
        yield from _members(members, judging)


def _members(members: Archive, judging: _Judging) -> Iterator[LogSample]:
    for member in members:
        if member.name.startswith(SAMPLES) and member.name.endswith(".json"):
            yield _sample(members.json(member), judging, members.place(member))


@dataclass(frozen=True, slots=True)
class _Judging:
    """The log's scorers by the name of their score, each with its own name and options; `multiple`: several choices may be right.

    `has_choices`: its solver reads the choice out of the output, as `choice` does here.
    """

    scorers: Mapping[str, tuple[str, Json]]
    has_choices: bool = False
    multiple: bool = False

    @property
    def is_spelled(self) -> bool:
        """Whether a target is itself a right answer."""
        return all(name in SPELLED for name, _ in self.scorers.values()) and bool(self.scorers)


def _log(head: Json, where: str) -> tuple[EvaluationLog, _Judging]:
    """Returns what the log says of itself, and its scorers."""
    about = obj(head.get("eval"))
    task, ident = about.get("task"), about.get("eval_id") or about.get("run_id") or about.get("task_id")
    if not isinstance(task, str) or not isinstance(ident, str):
        raise InvalidRecordError("no log of Inspect's: it names no task or no run", field="eval", where=where)
    log = EvaluationLog(
        NAME, ident, task, str(about.get("model", "")), about.get("created"), without(head, "samples", "reductions")
    )
    return log, _judging(head)


def _judging(head: Json) -> _Judging:
    listed = list(objects(obj(head.get("eval")).get("scorers"))) or list(
        objects(obj(head.get("results")).get("scores"))
    )
    scorers: dict[str, tuple[str, Json]] = {}
    for scorer in listed:
        name = str(scorer.get("scorer") or scorer.get("name") or "").rpartition("/")[2]
        if name and (score := _score_name(name, scorers)):
            scorers[score] = name, {**obj(scorer.get("params")), **obj(scorer.get("options"))}
    steps = [step for step in objects(obj(head.get("plan")).get("steps")) if _solver(step) == MULTIPLE_CHOICE]
    multiple = any(obj(step.get("params")).get("multiple_correct") is True for step in steps)
    return _Judging(scorers, len(steps) == 1, multiple)


def _score_name(name: str, taken: Container[str]) -> str:
    """The name of its score: Inspect numbers scorers of one name."""
    numbered = (name if not number else f"{name}{number}" for number in itertools.count())
    return next(score for score in numbered if score not in taken)


def _solver(step: Json) -> str:
    return str(step.get("solver", "")).rpartition("/")[2]


def _sample(value: JsonValue, judging: _Judging, where: str) -> LogSample:
    document = the_object(value, where)
    if "id" not in document or "input" not in document:
        raise InvalidRecordError("a sample has an id and an input", where=where)
    held = _Apart(obj(document.get("attachments")), where)
    question = inputs_of(held.resolved(document["input"]))
    choices = document.get("choices")
    targets = texts(document.get("target"))
    return LogSample(
        id=document["id"],
        epoch=count(document.get("epoch")) or 1,
        inputs={**question, "choices": choices} if choices else question,
        targets=targets,
        expected={"output": targets[0]} if len(targets) == 1 and judging.is_spelled else None,
        assertions=tuple(_checks(judging, document)),
        extra=without({"target": document.get("target"), "metadata": document.get("metadata") or None}),
        produced=_produced(document, held, where),
        where=where,
    )


def _checks(judging: _Judging, document: Json) -> Iterator[Json]:
    """A check for each scorer: of Inspect's own what it compares with, else what its recorded score says."""
    target = document.get("target")
    targets = [str(text) for text in (target if isinstance(target, list) else [target]) if text is not None]
    scorers = judging.scorers or {name: (name, dict[str, JsonValue]()) for name in obj(document.get("scores"))}
    for score, (name, options) in scorers.items():
        if name == CHOICE and not judging.has_choices:
            yield from recorded_checks(NAME, [score])
            continue
        given = without(options)
        if not targets or not carried_out(name, given):
            yield from recorded_checks(NAME, [score])
            continue
        choices = len(listed_values(document.get("choices"))) if name == CHOICE else 0
        multiple = judging.multiple and name == CHOICE
        yield inspect_check(name, score=score, options=given, targets=targets, choices=choices, multiple=multiple)


def _produced(fields: Json, held: _Apart, where: str) -> Produced:
    messages = [_message(held.resolved(message)) for message in listed_values(fields.get("messages"))]
    output = obj(held.resolved(fields.get("output")))
    choices = list(objects(output.get("choices")))
    answer = _completion(output, choices)
    usage = [obj(usage_of_model) for usage_of_model in obj(fields.get("model_usage")).values()]
    left: Json = {"events": len(events)} if (events := listed_values(fields.get("events"))) else {}
    return Produced(
        output=answer or last_answer(messages) or answer,
        messages=tuple(messages),
        scores=tuple(_scores(object_under(fields, "scores", where), where)),
        started=fields.get("started_at"),
        completed=fields.get("completed_at"),
        input_tokens=known_sum(count(part.get("input_tokens")) for part in usage),
        output_tokens=known_sum(count(part.get("output_tokens")) for part in usage),
        latency_ms=None if (seconds := number(fields.get("total_time"))) is None else seconds * 1000,
        error=_error(fields),
        stop_reason=_stop(fields, choices),
        extra=without(
            {
                "rest": without(fields, *_READ) or None,
                "limit": fields.get("limit"),
                "modelUsage": fields.get("model_usage") or None,
                "output": _rest_of_output(output, choices) or None,
                "leftOut": left or None,
            }
        ),
    )


def _completion(output: Json, choices: list[Json]) -> str | None:
    """What the scorers were given of the output."""
    completion = output.get("completion")
    if isinstance(completion, str) and completion:
        return completion
    return message_text(choices[0].get("message")) if choices else None


def _rest_of_output(output: Json, choices: list[Json]) -> Json:
    """Returns what the output says besides its choices' words; the messages have them."""
    beside: list[JsonValue] = [
        without(
            {**without(choice, "message"), "message": without(obj(choice.get("message")), "role", "content") or None}
        )
        for choice in choices
    ]
    return without({**without(output, "choices", "completion"), "choices": beside or None})


def _message(message: JsonValue) -> JsonValue:
    """The message with its calls as they are known here: Inspect writes the tool's name under `function`."""
    fields = obj(message)
    if not isinstance(fields.get("tool_calls"), list) and fields.get("role") != "tool":
        return message
    named = {**fields, "name": fields["function"]} if isinstance(fields.get("function"), str) else fields
    if isinstance(error := named.get("error"), dict):
        named = {**named, "is_error": True, "content": error.get("message") or named.get("content")}
    calls: list[JsonValue] = [
        {**without(call, "function"), "name": call.get("function")} for call in objects(fields.get("tool_calls"))
    ]
    return {**named, "tool_calls": calls} if calls else named


def _scores(scores: Json, where: str) -> Iterator[ForeignScore]:
    for name, score in scores.items():
        fields = the_object(score, where, f"scores.{name}")
        value = fields.get("value")
        unscored: Json = {"unscored": True} if isinstance(value, float) and math.isnan(value) else {}
        yield ForeignScore(name, value, {**without(fields, "value", "history"), **unscored})


def _error(fields: Json) -> str | None:
    error = fields.get("error")
    message = obj(error).get("message", error)
    return None if message is None else str(message) or "failed"


def _stop(fields: Json, choices: list[Json]) -> str | None:
    limit = obj(fields.get("limit")).get("type")
    stop = f"{limit}_limit" if isinstance(limit, str) else choices[0].get("stop_reason") if choices else None
    return stop if isinstance(stop, str) else None


@dataclass(slots=True, eq=False)
class _Apart:
    """The long texts of a sample that stand apart from where they are meant, and the room that is left to put them there.

    A text may be meant a thousand times: each takes its length again as soon as it is written down.
    """

    texts: Json
    where: str
    left: int = LONGEST

    def resolved(self, value: JsonValue) -> JsonValue:
        """The value with its long texts; raises `InvalidRecordError` where all of the sample's would take more than one value may."""
        if isinstance(value, str):
            if not self.texts or "://" not in value:
                return value
            return _REFERENCE.sub(self._text, value)
        if isinstance(value, dict):
            return {key: self.resolved(part) for key, part in value.items()}
        return [self.resolved(part) for part in value] if isinstance(value, list) else value

    def _text(self, match: re.Match[str]) -> str:
        text = self.texts.get(match[1])
        text = text if isinstance(text, str) else match[0]
        self.left -= len(text)
        if self.left < 0:
            raise InvalidRecordError(
                f"its attachments, each where it is meant, take more than {LONGEST} characters", where=self.where
            )
        return text

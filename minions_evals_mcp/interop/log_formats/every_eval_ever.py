"""Every Eval Ever 0.3: the lines of single samples; an aggregate file alone has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.files import json_lines, json_pieces
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.gathering import LogRow, gathered
from minions_evals_mcp.interop.logs.not_taken import summed
from minions_evals_mcp.interop.logs.sample import (
    EvaluationLog,
    ForeignScore,
    Item,
    LogSample,
    Produced,
    SkippedSample,
    Variant,
)
from minions_evals_mcp.interop.logs.shapes import object_under
from minions_evals_mcp.sessions.conversation import count, last_answer, number, objects, texts, without

NAME = "every-eval-ever"
NO_SAMPLES = "a result without samples: they stand in the file of lines beside it (…_samples.jsonl)"
_READ = (
    "schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id", "sample_id", "input", "output",
    "messages", "evaluation", "token_usage", "performance", "error", "answer_attribution",
)  # fmt: skip


def is_lines(seen: JsonValue) -> bool:
    """Returns whether a line is one of a sample."""
    return {"evaluation_id", "sample_id", "interaction_type"} <= obj(seen).keys()


def is_aggregate(seen: JsonValue) -> bool:
    """Returns whether a JSON document is an aggregate."""
    return {"schema_version", "evaluation_id", "evaluation_results"} <= obj(seen).keys()


def read_aggregate(path: Path) -> Iterator[Item]:
    """The results, none of which can be judged anew without its samples."""
    head: Json = {}
    for piece in json_pieces(path, streamed=frozenset()):
        head = obj(piece.value)
    if not is_aggregate(head):
        raise InvalidRecordError("an aggregate has evaluation_id and evaluation_results", where=str(path))
    model = obj(head.get("model_info"))
    yield EvaluationLog(NAME, str(head["evaluation_id"]), path.stem, str(model.get("id", "")), None, head)
    yield from (SkippedSample(NO_SAMPLES) for _ in listed_values(head.get("evaluation_results")))


def read_lines(path: Path) -> Iterator[Item]:
    """The samples; several lines of one are its several scores, a score that comes again is another epoch's."""
    first = next((row.value for row in _lines(path)), None)
    if first is None:
        raise InvalidRecordError("holds no lines", where=str(path))
    ident = str(first["evaluation_id"])
    yield EvaluationLog(NAME, ident, ident.partition("/")[0], str(first.get("model_id", "")))
    for where, _, lines in gathered(lambda: _lines(path)):
        yield from _samples(lines, where, alone=lines[0].get("model_id") == first.get("model_id"))


def _lines(path: Path) -> Iterator[LogRow[Json]]:
    """The lines, each with the sample that it is of."""
    for where, line in json_lines(path):
        document = obj(line)
        if not is_lines(line) or "raw" not in obj(document.get("input")):
            raise InvalidRecordError("a line has evaluation_id, sample_id, interaction_type and input.raw", where=where)
        yield LogRow(where, f"{document.get('model_id')}\n{document.get('sample_id')}", document)


def _samples(lines: list[Json], where: str, *, alone: bool) -> Iterator[LogSample]:
    """The epochs of one sample: each bears each score at most once."""
    epochs: list[list[Json]] = []
    seen: Counter[str] = Counter()
    for line in lines:
        name = str(line.get("evaluation_result_id") or line.get("evaluation_name"))
        if seen[name] == len(epochs):
            epochs.append([])
        epochs[seen[name]].append(line)
        seen[name] += 1
    checks = recorded_of(NAME, [_score(line, where) for line in lines])
    for number_, of_epoch in enumerate(epochs, 1):
        yield replace(_sample(of_epoch, number_, where, alone=alone), assertions=checks)


def _sample(lines: list[Json], epoch: int, where: str, *, alone: bool) -> LogSample:
    document = lines[0]
    inputs = obj(document.get("input"))
    choices = inputs.get("choices")
    targets = texts(inputs.get("reference"))
    return LogSample(
        id=document.get("sample_id"),
        inputs={"input": inputs["raw"], **({"choices": choices} if choices else {})},
        epoch=epoch,
        targets=targets,
        expected={"output": targets[0]} if len(targets) == 1 else None,
        extra=without(
            {
                "metadata": document.get("metadata"),
                "formatted": inputs.get("formatted"),
                "sampleHash": document.get("sample_hash"),
                "ofInput": without(inputs, "raw", "reference", "choices", "formatted") or None,
            }
        ),
        produced=_produced(lines, document, where, alone=alone),
        where=where,
    )


def _produced(lines: list[Json], document: Json, where: str, *, alone: bool) -> Produced:
    messages = [_message(message) for message in listed_values(document.get("messages"))]
    raw = texts(obj(document.get("output")).get("raw"))
    usage = obj(document.get("token_usage"))
    model = str(document.get("model_id", ""))
    return Produced(
        output=raw[0] if raw else last_answer(messages),
        messages=tuple(messages),
        scores=tuple(_score(line, where) for line in lines),
        variant=None if alone else Variant(model, model),
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        latency_ms=number(obj(document.get("performance")).get("latency_ms")),
        error=str(document["error"]) if document.get("error") else None,
        extra=without(
            {
                "rest": without(document, *_READ, "metadata", "sample_hash") or None,
                "output": without(obj(document.get("output")), "raw") or None,
                "tokenUsage": without(usage, *summed(usage, "total_tokens", "input_tokens", "output_tokens")) or None,
                "performance": without(obj(document.get("performance")), "latency_ms") or None,
            }
        ),
    )


def _message(message: JsonValue) -> JsonValue:
    """The message; where it is of one call, with that call's id alone, as everybody else writes it."""
    idents = listed_values(obj(message).get("tool_call_id"))
    return {**obj(message), "tool_call_id": idents[0]} if len(idents) == 1 else message


def _score(line: Json, where: str) -> ForeignScore:
    evaluation = object_under(line, "evaluation", where)
    answer = next((attribution.get("extracted_value") for attribution in objects(line.get("answer_attribution"))), None)
    about = {
        "passed": evaluation.get("is_correct"),
        "answer": answer,
        "resultId": line.get("evaluation_result_id"),
        "attribution": line.get("answer_attribution") or None,
        "rest": without(evaluation, "score", "is_correct") or None,
    }
    return ForeignScore(str(line.get("evaluation_name")), evaluation.get("score"), without(about))

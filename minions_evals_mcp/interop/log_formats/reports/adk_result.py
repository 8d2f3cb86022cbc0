"""Results of ADK's evaluations (`.adk/eval_history/….evalset_result.json`): each case with its conversation and its metrics' verdicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.domain.values import known_sum
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.files import head_of, parted
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.json_stream import from_text, pieces
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import object_under, objects_under, the_object
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import (
    count,
    inputs_of,
    message_text,
    number,
    objects,
    summed,
    texts,
    without,
)

NAME = "adk-result"
TOOL = "adk"
CASES = "eval_case_results"
_ENCODED = re.compile(rb"\s*\"\{[^{}]{0,40}\\\"eval_set_result_id\\\"")
"""How a result begins that older versions wrote: a JSON text that holds the document."""
_PASSED, _FAILED, _NOT_EVALUATED, _INFORMATIONAL = (
    ("PASSED", 1),
    ("FAILED", 2),
    ("NOT_EVALUATED", 3),
    ("INFORMATIONAL", 4),
)
_OF_METRIC = ("metric_name", "score", "eval_status")
_OF_CASE = (
    "eval_id", "eval_metric_results", "overall_eval_metric_results", "eval_metric_result_per_invocation", "session_details",
    "error_message",
)  # fmt: skip


def is_result(seen: JsonValue) -> bool:
    """Whether a JSON document is the result of an eval set."""
    return {"eval_set_result_id", CASES} <= obj(seen).keys()


def is_encoded(path: Path) -> bool:
    """Whether the file holds such a document as a text."""
    return _ENCODED.match(head_of(path)) is not None


def read(path: Path) -> Iterator[Item]:
    """A sample for each case and run of it; a run without a conversation failed before it could be judged."""
    head, given = _head(path), _Given()
    for _, result in _results(path):
        given.add(result)
    ident, task = str(head.get("eval_set_result_id") or path.stem), str(head.get("eval_set_id") or path.stem)
    app = ident.partition(f"_{task}_")
    yield EvaluationLog(
        NAME,
        ident,
        task,
        app[0] if app[1] else "",
        head.get("creation_timestamp"),
        head,
        own_id="eval_set_result_id" in head,
    )
    tried: Counter[str] = Counter()
    for where, result in _results(path):
        tried[_id(result, where)] += 1
        yield _sample(result, tried[_id(result, where)], given, where)


def _head(path: Path) -> Json:
    return without(_document(path), CASES) if is_encoded(path) else parted(path, frozenset({CASES}))[0]


def _results(path: Path) -> Iterator[tuple[str, Json]]:
    """The results, one by one, and where each stands."""
    listed = _decoded(path) if is_encoded(path) else (piece.value for piece in parted(path, frozenset({CASES}))[1])
    for place, value in enumerate(listed, 1):
        where = f"{path}: {CASES}.{place}"
        yield where, the_object(value, where)


def _decoded(path: Path) -> Iterator[JsonValue]:
    return iter(listed_values(_document(path).get(CASES)))


def _document(path: Path) -> Json:
    """The document that the text of the file is."""
    text = whole_document(path)
    (whole,) = pieces(from_text(text if isinstance(text, str) else ""), str(path), streamed=frozenset())
    return the_object(whole.value, str(path))


def _id(result: Json, where: str) -> str:
    if not isinstance(result.get("eval_id"), str):
        raise InvalidRecordError("a result has an eval_id", field="eval_id", where=where)
    return str(result["eval_id"])


@dataclass(frozen=True, slots=True)
class _Given:
    """What the file says of all of its results: metrics that gave a verdict anywhere, and what each case asks and expects."""

    metrics: dict[str, None] = field(default_factory=dict[str, None])
    asked: dict[str, tuple[Json, tuple[str, ...]]] = field(default_factory=dict[str, tuple[Json, tuple[str, ...]]])

    def add(self, result: Json) -> None:
        """Takes what one result says."""
        self.metrics.update(
            (str(metric.get("metric_name")), None)
            for metric in _metrics(result)
            if metric.get("eval_status") in (*_PASSED, *_FAILED)
        )
        if turns := _turns(result):
            self.asked.setdefault(str(result.get("eval_id")), _asked(turns))


def _metrics(result: Json) -> list[Json]:
    """The metrics over the whole case; in the oldest results pairs of what was to be measured and what was."""
    overall = result.get("overall_eval_metric_results")
    if isinstance(overall, list) and overall:
        return [*objects(overall)]
    pairs = (pair for pair in listed_values(result.get("eval_metric_results")) if isinstance(pair, list))
    return [{name: value for part in objects(pair) for name, value in part.items()} for pair in pairs]


def _turns(result: Json) -> list[Json]:
    return [*objects(result.get("eval_metric_result_per_invocation"))]


def _asked(turns: Sequence[Json]) -> tuple[Json, tuple[str, ...]]:
    """What the user said, and the answer that was expected last.

    A user whom a model played says other things each time: of such a case only its beginning is the same.
    """
    planned = [obj(turn.get("expected_invocation")) for turn in turns]
    said: list[JsonValue] = [
        {"role": "user", "content": message_text((plan or obj(turn.get("actual_invocation"))).get("user_content"))}
        for turn, plan in zip(turns, planned, strict=True)
    ]
    return inputs_of(said if all(planned) else said[:1]), texts(message_text(planned[-1].get("final_response")) or None)


def _sample(result: Json, epoch: int, given: _Given, where: str) -> LogSample:
    objects_under(result, "overall_eval_metric_results", where)
    objects_under(result, "eval_metric_result_per_invocation", where)
    turns, ident = _turns(result), _id(result, where)
    inputs, expected = _asked(turns) if turns else given.asked.get(ident, (_session_question(result, ident), ()))
    scores = [_score(metric, given) for metric in _metrics(result)]
    known = [ForeignScore(name, None, {"unscored": True}) for name in given.metrics]
    return LogSample(
        id=ident,
        inputs=inputs,
        epoch=epoch,
        name=ident,
        targets=expected,
        expected={"output": expected[0]} if expected else None,
        assertions=recorded_of(TOOL, known or scores),
        extra=without({"expectedTools": _expected_tools(turns) or None}),
        produced=_produced(result, turns, scores, where),
        where=where,
    )


def _session_question(result: Json, ident: str) -> Json:
    """What the user said in the session, of a case that has no other record of it; else the case's name."""
    events = objects(obj(result.get("session_details")).get("events"))
    said: list[JsonValue] = [
        {"role": "user", "content": text}
        for event in events
        if event.get("author") == "user" and (text := message_text(event.get("content")))
    ]
    return inputs_of(said) if said else {"eval_id": ident}


def _score(metric: Json, given: _Given) -> ForeignScore:
    """The metric's verdict; one that was evaluated nowhere in the file, or only informs, decides nothing, as in ADK."""
    name, status = str(metric.get("metric_name")), metric.get("eval_status")
    about = without(metric, *_OF_METRIC)
    if status in (*_PASSED, *_FAILED):
        return ForeignScore(name, metric.get("score"), {"passed": status in _PASSED, **about})
    no_say: Json = {"isGrade": True} if status in _INFORMATIONAL or name not in given.metrics else {}
    unscored: Json = {"unscored": True} if status in _NOT_EVALUATED else {}
    return ForeignScore(name, metric.get("score"), {**about, **no_say, **unscored})


def _produced(result: Json, turns: Sequence[Json], scores: Sequence[ForeignScore], where: str) -> Produced:
    held = [object_under(turn, "actual_invocation", where) for turn in turns]
    usage = [obj(event.get("usage_metadata")) for one in held for event in _events(one)]
    seconds = summed(number(one.get("duration")) for one in held)
    return Produced(
        output=message_text(held[-1].get("final_response")) or None if held else None,
        messages=tuple(message for one in held for message in _messages(one)),
        tools=tuple(call for one in held for call in _calls(one)) if held else None,
        scores=tuple(scores) if held else (),
        started=held[0].get("creation_timestamp") or None if held else None,
        input_tokens=known_sum(count(used.get("prompt_token_count")) for used in usage),
        output_tokens=known_sum(count(used.get("candidates_token_count")) for used in usage),
        latency_ms=None if seconds is None else seconds * 1000,
        error=None if held else str(result.get("error_message") or "the agent failed before it had answered"),
        extra=without(
            {
                "rest": without(result, *_OF_CASE) or None,
                "turns": [_said(turn) for turn in turns] or None,
                "session": without(obj(result.get("session_details")), "events") or None,
            }
        ),
    )


def _said(value: JsonValue) -> JsonValue:
    """The value without what is null, of which ADK writes a dozen for each part of a message."""
    if isinstance(value, dict):
        return {name: _said(part) for name, part in value.items() if part is not None}
    return [_said(part) for part in value] if isinstance(value, list) else value


def _events(invocation: Json) -> list[Json]:
    return [*objects(obj(invocation.get("intermediate_data")).get("invocation_events"))]


def _messages(invocation: Json) -> Iterator[Json]:
    """What the user asked, and what the agent said to it."""
    for role, name in (("user", "user_content"), ("assistant", "final_response")):
        if said := message_text(invocation.get(name)):
            yield {"role": role, "content": said}


def _calls(invocation: Json) -> list[Json]:
    """The tools that the agent called, each with what came of it."""
    steps = obj(invocation.get("intermediate_data"))
    parts = [part for event in _events(invocation) for part in objects(obj(event.get("content")).get("parts"))]
    called = [*objects(steps.get("tool_uses")), *_under(parts, "function_call")]
    answers = [*objects(steps.get("tool_responses")), *_under(parts, "function_response")]
    by_id = {str(answer["id"]): answer for answer in answers if answer.get("id")}
    return [_call(call, by_id.get(str(call.get("id")), dict[str, JsonValue]())) for call in called]


def _under(parts: Iterable[Json], name: str) -> list[Json]:
    return [found for part in parts if (found := obj(part.get(name)))]


def _call(call: Json, answer: Json) -> Json:
    return without({
        "tool": call.get("name") or "tool", "arguments": obj(call.get("args")), "result": answer.get("response"), "id": call.get("id"),
    })  # fmt: skip


def _expected_tools(turns: Sequence[Json]) -> list[JsonValue]:
    planned = (obj(turn.get("expected_invocation")) for turn in turns)
    return [without({"name": call["tool"], "args": call.get("arguments")}) for plan in planned for call in _calls(plan)]

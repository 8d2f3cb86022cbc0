"""Opik: an experiment as `opik export` writes it, what its `evaluate()` returns, and its traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.interop.logs.files import parted
from minions_evals_mcp.interop.logs.foreign_checks import GivenScores
from minions_evals_mcp.interop.logs.records import moment, slug
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import the_object
from minions_evals_mcp.interop.logs.whole_documents import whole_document
from minions_evals_mcp.sessions.conversation import count, inputs_of, last_answer, number, objects, texts, without

NAME, TRACE = "opik", "opik-trace"
ITEMS, RESULTS = "items", "test_results"
_EXPECTED = ("expected_output", "expected", "reference", "ground_truth", "answer", "expected_answer")
_OF_ITEM = (
    "dataset_item_id", "dataset_item_data", "evaluation_task_output", "feedback_scores", "assertion_results", "seconds",
)  # fmt: skip
_OF_TRACE = (
    "id", "name", "input", "output", "thread_id", "start_time", "end_time", "usage", "total_estimated_cost", "error_info",
    "feedback_scores",
)  # fmt: skip
_OF_SPAN = ("id", "name", "type", "input", "output", "start_time", "error_info")
_ANSWERS = ("output", "response", "answer", "result")


def is_experiment(seen: JsonValue) -> bool:
    """Whether a JSON document is such an experiment, or what `evaluate()` returned."""
    document = obj(seen)
    about, result = obj(document.get("experiment")), obj(next(iter(listed_values(document.get(RESULTS))), None))
    return {"id", "dataset_name"} <= about.keys() or {"test_case", "score_results"} <= result.keys()


def is_trace(seen: JsonValue) -> bool:
    """Whether a JSON document is a trace with its spans."""
    document = obj(seen)
    return {"start_time", "project_id"} <= obj(document.get("trace")).keys()


def read(path: Path) -> Iterator[Item]:
    """A sample for each item; trials of an item are its epochs."""
    beside, _ = parted(path, frozenset({ITEMS, RESULTS}))
    about = obj(beside.get("experiment")) or beside
    task = about.get("dataset_name") or about.get("dataset_id") or path.stem
    yield EvaluationLog(
        NAME, path.stem, str(task), created=about.get("created_at"), own_id=False,
        extra=without({"experiment": about or None, "document": without(beside, "experiment") if about is not beside else None}),
    )  # fmt: skip
    given = GivenScores.of(score for _, item in _items(path) for score in _scores(item))
    tried: Counter[str] = Counter()
    for where, item in _items(path):
        ident = str(item.get("dataset_item_id") or where)
        tried[ident] += 1
        yield _sample(item, ident, tried[ident], given, where)


def _items(path: Path) -> Iterator[tuple[str, Json]]:
    _, rows = parted(path, frozenset({ITEMS, RESULTS}))
    for place, piece in enumerate(rows, 1):
        where = f"{path}: {piece.path}.{place}"
        yield where, _of_result(the_object(piece.value, where))


def _of_result(row: Json) -> Json:
    """What `evaluate()` returned of an item, under the names of the export."""
    if "test_case" not in row:
        return row
    case = obj(row["test_case"])
    return {
        "dataset_item_id": case.get("dataset_item_id"), "trace_id": case.get("trace_id"),
        "dataset_item_data": case.get("dataset_item_content"), "evaluation_task_output": case.get("task_output"),
        "feedback_scores": row.get("score_results"), "seconds": row.get("task_execution_time"),
        "testCase": without(case, "dataset_item_id", "trace_id", "dataset_item_content", "task_output") or None,
        **without(row, "test_case", "score_results", "task_execution_time"),
    }  # fmt: skip


def _scores(item: Json) -> Iterator[ForeignScore]:
    """What its metrics gave, and its assertions, which say whether they hold; a metric that broke has no verdict."""
    for score in objects(item.get("feedback_scores")):
        about = {"explanation": score.get("reason"), **without(score, "name", "value", "reason", "scoring_failed")}
        broke = score.get("scoring_failed") is True
        error = {"error": score.get("reason") or "the metric failed"} if broke else {}
        yield ForeignScore(str(score.get("name")), None if broke else score.get("value"), without({**about, **error}))
    for held in objects(item.get("assertion_results")):
        passed = held.get("passed")
        about: Json = {
            "explanation": held.get("reason"), "passed": passed if isinstance(passed, bool) else None,
            **without(held, "value", "reason", "passed"),
        }  # fmt: skip
        yield ForeignScore(str(held.get("value")), passed, without(about))


def _sample(item: Json, ident: str, epoch: int, given: GivenScores, where: str) -> LogSample:
    data = without(obj(item.get("dataset_item_data")), "id")
    name = next((name for name in _EXPECTED if name in data), None)
    wanted = texts(data[name]) if name else ()
    asked = without(data, *([name] if name else []))
    scores = given.marked(_scores(item))
    return LogSample(
        id=ident,
        inputs=inputs_of(next(iter(asked.values()))) if len(asked) == 1 else asked,
        epoch=epoch,
        targets=wanted,
        expected={"output": wanted[0]} if len(wanted) == 1 else None,
        assertions=given.checks(NAME, scores),
        produced=_produced(item, scores),
        where=where,
    )


def _produced(item: Json, scores: tuple[ForeignScore, ...]) -> Produced:
    said = obj(item.get("evaluation_task_output"))
    seconds = number(item.get("seconds"))
    named = next((name for name in _ANSWERS if name in said), None)
    return Produced(
        output=_only(said) if named is None else said[named],
        scores=scores,
        latency_ms=None if seconds is None else seconds * 1000,
        extra=without({
            "rest": without(item, *_OF_ITEM) or None,
            "outputs": without(said, named or "") or None if named or len(said) == 1 else None,
        }),
    )  # fmt: skip


def _only(value: JsonValue) -> JsonValue:
    """The value: of a mapping the last thing that was said, its only value, else the whole of it."""
    if not isinstance(value, dict):
        return value
    messages = value.get("messages")
    if isinstance(messages, list) and (said := last_answer(messages)):
        return said
    return next(iter(value.values())) if len(value) == 1 else value or None


def read_trace(path: Path) -> Iterator[Item]:
    """A sample for the trace, its tools' spans as calls."""
    document = obj(whole_document(path))
    trace = obj(document.get("trace"))
    project = str(document.get("project_name") or trace.get("project_id") or NAME)
    yield EvaluationLog(TRACE, slug(project, 40), project, project, known_samples=True)
    spans = sorted(objects(document.get("spans")), key=lambda span: str(span.get("start_time")))
    asked = trace.get("input")
    talk = obj(asked).get("messages")
    error = obj(trace.get("error_info"))
    usage = obj(trace.get("usage"))
    yield LogSample(
        id=trace.get("id"),
        case="",
        inputs=inputs_of(talk if isinstance(talk, list) and len(obj(asked)) == 1 else asked),
        name=str(trace.get("name") or ""),
        group=str(trace.get("thread_id") or ""),
        produced=Produced(
            output=_only(trace.get("output")),
            tools=tuple(_call(span) for span in spans if span.get("type") == "tool"),
            scores=tuple(_scores(trace)),
            agent=project,
            started=trace.get("start_time"),
            completed=trace.get("end_time"),
            input_tokens=count(usage.get("prompt_tokens")),
            output_tokens=count(usage.get("completion_tokens")),
            cost=number(trace.get("total_estimated_cost")),
            error=str(error.get("message") or error.get("exception_type")) if error else None,
            extra=without(
                {
                    "rest": without(trace, *_OF_TRACE) or None,
                    "document": without(document, "trace", "spans", "project_name") or None,
                    "spans": [without(span, *_OF_SPAN) for span in spans] or None,
                }
            ),
        ),
        where=str(path),
    )


def _call(span: Json) -> Json:
    error = obj(span.get("error_info"))
    return without({
        "tool": span.get("name") or "tool", "arguments": obj(span.get("input")), "result": _only(span.get("output")),
        "error": str(error.get("message") or error.get("exception_type")) if error else None, "id": span.get("id"),
        "startedAt": moment(span.get("start_time")),
    })  # fmt: skip

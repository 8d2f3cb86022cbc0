"""Output items of OpenAI's hosted evals and of Azure AI Foundry: a line each, a list, or the pages that their API answers with.

The data that such an eval is given (`{"item": …}`, perhaps with its `sample`) is the same without grades.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.grouped_rows import first_row, rows_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import object_under, objects_under
from minions_evals_mcp.sessions.conversation import count, last_answer, without

NAME = "openai-evals"
LISTS = frozenset({"", "data"})
OBJECT = "eval.run.output_item"
_DATA = frozenset({"item", "sample"})
_ITEM = ("item", "datasource_item")
_INDEX = ("data_source_idx", "datasource_item_id")
_OF_RUN = ("object", "run_id", "eval_id", "created_at")
_FLAT = "sample."
"""Foundry writes what the agent answered into the item, under names that begin so."""


def is_output_item(seen: JsonValue) -> bool:
    """Whether a JSON value is an output item, or begins a list or a page of them."""
    listed = seen if isinstance(seen, list) else listed_values(obj(seen).get("data")) or [seen]
    first = obj(next(iter(listed), None))
    return first.get("object") == OBJECT or _is_graded(first)


def _is_graded(first: Json) -> bool:
    graded = any(name in first for name in ("grades", "results", "sample"))
    return graded and any(name in first for name in (*_INDEX, "datasource_item"))


def is_data(seen: JsonValue) -> bool:
    """Whether a line is data that such an eval is given."""
    first = obj(seen)
    return isinstance(first.get("item"), dict) and first.keys() <= _DATA


def read_output_items(path: Path) -> Iterator[Item]:
    """The output items of a hosted run, with the grades that it gave."""
    head = first_row(path, LISTS)
    yield EvaluationLog(
        NAME, str(head.get("run_id") or path.stem), str(head.get("eval_id") or path.stem), own_id="run_id" in head
    )
    for place, (where, document) in enumerate(rows_of(path, LISTS)):
        yield _sample(document, place, where)


def _sample(document: Json, place: int, where: str) -> LogSample:
    item = _item(document)
    named = next((document[name] for name in _INDEX if name in document), None)
    index = count(place if named is None else named)
    if index is None or not any(name in document for name in (*_INDEX, *_ITEM)):
        raise InvalidRecordError("an output item has an item, or its datasource_item_id", where=where)
    asked = {name: value for name, value in item.items() if not name.startswith(_FLAT)}
    hosted = None if not document.get("sample") and is_data(document) else _hosted(document, item, where)
    return LogSample(
        index,
        asked or {"input": index},
        assertions=recorded_of(NAME, hosted.scores) if hosted else (),
        produced=hosted,
        where=where,
    )


def _item(document: Json) -> Json:
    item = obj(document.get("item", document.get("datasource_item")))
    return obj(item["item"]) if item.keys() == {"item"} and obj(item["item"]) else item


def _hosted(document: Json, item: Json, where: str) -> Produced:
    flat = {name.removeprefix(_FLAT): value for name, value in item.items() if name.startswith(_FLAT)}
    sample = {**flat, **without(object_under(document, "sample", where))}
    usage = obj(sample.get("usage"))
    said = sample.get("output", sample.get("output_items"))
    output = sample.get("output_text", said)
    passes = obj(document.get("passes"))
    return Produced(
        output=last_answer(output) if isinstance(output, list) else output,
        messages=(*listed_values(sample.get("input")), *listed_values(said)),
        scores=(*_scores(document, where),),
        agent=str(sample.get("model") or ""),
        completed=document.get("created_at"),
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        error=_error(sample),
        stop_reason=stop if isinstance(stop := sample.get("finish_reason"), str) else None,
        extra=without(
            {
                "rest": without(document, *_ITEM, "sample", "grades", "passes", "results", "created_at") or None,
                "sample": without(sample, "input", "output", "output_text", "output_items", "model", "finish_reason") or None,
                "passes": without(passes, *object_under(document, "grades", where)) or None,
            }
        ),
    )  # fmt: skip


def _error(sample: Json) -> str | None:
    """The error in which a model ended; one without words is none, for the API writes both fields of it always."""
    told = obj(sample.get("error"))
    words = told.get("message") or told.get("code")
    return str(words) if words else None


def _scores(document: Json, where: str) -> Iterator[ForeignScore]:
    """The grades: under their names in exports of the platform, a list of results as the API has them."""
    passes = obj(document.get("passes"))
    for name, value in object_under(document, "grades", where).items():
        yield ForeignScore(name, value, {"passed": passes[name]} if name in passes else {})
    met: set[str] = set()
    for result in objects_under(document, "results", where):
        name, metric = str(result.get("name")), result.get("metric")
        yield _result(f"{name}: {metric}" if name in met else name, result)
        met.add(name)


def _result(name: str, result: Json) -> ForeignScore:
    """A grader's result; one whose model failed is no verdict."""
    sample = obj(result.get("sample"))
    reason = result.get("reason") or last_answer(listed_values(sample.get("output")))
    error = _error(sample) or _error(result)
    known = without({"passed": result.get("passed"), "explanation": reason or None, "error": error})
    return ForeignScore(
        name, result.get("score"), {**without(result, "name", "score", "passed", "reason", "error"), **known}
    )

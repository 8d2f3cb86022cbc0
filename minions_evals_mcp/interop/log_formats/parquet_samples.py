"""Hugging Face data sets as Parquet: a case a row, by the columns' usual names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.logs.files import whole_json
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.table_rows import parquet_labels, read_rows
from minions_evals_mcp.next_steps import Next, Value
from minions_evals_mcp.sessions.conversation import count, inputs_of, number, objects, texts, without

NAME = "parquet"
QUESTIONS = ("input", "question", "prompt", "instruction", "query", "problem", "messages", "text", "sentence")
ANSWERS = (
    "target",
    "answer",
    "answers",
    "expected_output",
    "expected",
    "ideal",
    "output",
    "completion",
    "solution",
    "label",
    "answerKey",
)
IDS = ("id", "idx", "task_id", "index", "question_id")
OURS = frozenset({"epoch", "testCaseId", "inputs", "outputs", "scores", "extra"})
"""The columns that tell a table of outputs which was written here."""
OWN_VERDICT = "minions-evals"
"""The score that is a verdict made here."""
BESIDE = ("context", "choices", "passage")
"""Columns that belong to what is asked."""


def read(path: Path) -> Iterator[Item]:
    """The rows as cases; raises `BadInputError` where no column is a question by its name."""
    rows = read_rows(path)
    first = next(rows, None)
    if first is not None and first.cells.keys() >= OURS:
        yield EvaluationLog(
            NAME,
            path.stem,
            str(first.cells.get("task") or path.stem),
            str(first.cells.get("model") or ""),
            own_id=False,
        )
        yield from (_recorded(row.cells, row.where) for row in chain([first], rows))
        return
    yield EvaluationLog(
        NAME, path.stem, path.parent.name if path.stem.startswith(("train", "test", "validation", "0")) else path.stem
    )
    labels: dict[str, list[str]] | None = None
    for place, row in enumerate(() if first is None else chain([first], rows), 1):
        labels = parquet_labels(path) if labels is None else labels
        yield _sample(row.cells, place, labels, row.where)


def _recorded(cells: Json, where: str) -> LogSample:
    """A row of a table that `export --format parquet` wrote: an output with its scores, which are foreign wherever it comes in."""
    extra = obj(_json(cells, "extra", where))
    log, inputs = obj(extra.get("log")), obj(_json(cells, "inputs", where))
    foreign = [obj(value) for value in listed_values(extra.get("foreignScores"))]
    ours = [own for own in objects(_json(cells, "scores", where)) if not own.get("foreign")]
    scores = tuple(_score(score) for score in (*ours, *foreign))
    judged = [score for score in scores if isinstance(score.about.get("passed"), bool)]
    whole = [score for score in judged if score.name == OWN_VERDICT]
    return LogSample(
        id=log.get("sample", cells.get("id")),
        inputs=inputs,
        epoch=count(cells.get("epoch")) or 1,
        targets=texts(cells.get("targets")),
        assertions=recorded_of(NAME, whole or judged),
        extra=without({"testCaseId": cells.get("testCaseId")}),
        produced=Produced(
            output=_json(cells, "outputs", where),
            messages=tuple(listed_values(extra.get("messages"))),
            tools=tuple(objects(_json(cells, "toolCalls", where))),
            scores=scores,
            started=cells.get("startedAt"),
            completed=cells.get("completedAt"),
            input_tokens=count(cells.get("inputTokens")),
            output_tokens=count(cells.get("outputTokens")),
            cost=number(cells.get("cost")),
            latency_ms=number(cells.get("latencyMs")),
            error=text if isinstance(text := cells.get("error"), str) else None,
            stop_reason=stop if isinstance(stop := cells.get("stopReason"), str) else None,
            extra=without(extra, "log", "foreignScores", "messages"),
        ),
        where=where,
    )


def _json(cells: Json, name: str, where: str) -> JsonValue:
    """Returns what the cell says as JSON; None where it is empty."""
    cell = cells.get(name)
    if cell is None:
        return None
    if not isinstance(cell, str):
        raise InvalidRecordError("must be JSON in a text", field=name, where=where)
    return whole_json(cell, where)


def _score(fields: Json) -> ForeignScore:
    about = {"explanation": fields.get("explanation", fields.get("reason")) or None, "passed": fields.get("passed")}
    return ForeignScore(
        str(fields.get("name")),
        fields.get("value"),
        without({**about, **without(fields, "name", "value", "foreign", "passed", "reason", "explanation")}),
    )


def _sample(cells: Json, number: int, labels: dict[str, list[str]], where: str) -> LogSample:
    question, answer, ident = (
        next((name for name in names if name in cells), None) for names in (QUESTIONS, ANSWERS, IDS)
    )
    if question is None:
        raise BadInputError(
            f"{where}: no column is what is asked; there are {', '.join(cells)}.",
            remedy=f"{Next('import', _MAPPED, 'says which is')}.",
        )
    beside = {name: cells[name] for name in BESIDE if cells.get(name) is not None}
    return LogSample(
        id=cells[ident] if ident is not None and cells[ident] is not None else number,
        inputs={**inputs_of(cells[question]), **beside},
        targets=() if answer is None else _answers(cells[answer], labels.get(answer, [])),
        extra=without(cells, question, *beside, *([ident] if ident else [])),
        where=where,
    )


def _answers(value: JsonValue, names: list[str]) -> tuple[str, ...]:
    """The right answers: texts, the name of a class, or the texts of SQuAD's `{text, answer_start}`."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return (names[value],)
    return tuple(dict.fromkeys(texts(obj(value).get("text") if isinstance(value, dict) else value)))


_MAPPED: dict[str, Value] = {
    "file": "FILE", "as_": "test-case", "map": ["inputs.input=COLUMN", "expectedOutputs.output=COLUMN"],
}  # fmt: skip

"""What `evaluate()` of LangSmith returns: each run with its example and its scores, or the same as a flat table (`to_pandas`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.interop.log_formats.tables.langsmith_runs import call_of, nested_runs, output_of
from minions_evals_mcp.interop.logs.foreign_checks import GivenScores
from minions_evals_mcp.interop.logs.grouped_rows import rows_of
from minions_evals_mcp.interop.logs.records import LONGEST_NAME
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.text_table import SEPARATORS, read_text_table
from minions_evals_mcp.sessions.conversation import count, inputs_of, number, objects, texts, without

NAME = "langsmith-evaluate"
_LISTS = frozenset({"", "results", "rows"})
_KEYS = {"run", "evaluation_results"}
_TABLE = {"example_id", "execution_time"}
_GIVEN, _GAVE, _WANTED, _SAID = "inputs.", "outputs.", "reference.", "feedback."
_OF_RUN = (
    "outputs", "error", "start_time", "end_time", "prompt_tokens", "completion_tokens", "total_cost", "latency_ms", "child_runs",
)  # fmt: skip
_OF_CHILD = ("name", "inputs", "outputs", "error", "start_time", "run_type", "child_runs")
_TRUTHS = {"True": True, "False": False}


def is_results(seen: JsonValue) -> bool:
    """Whether a JSON value is such a row, or holds a list of them."""
    within = (listed_values(obj(seen).get(name)) for name in ("results", "rows"))
    listed = next(filter(None, within), listed_values(seen))
    first = obj(listed[0] if listed else seen)
    return first.keys() >= _KEYS or has_columns(first)


def has_columns(names: Iterable[str]) -> bool:
    """Whether rows of those names are of the flat table."""
    known = {*names}
    return known >= _TABLE and any(name.startswith(_GIVEN) for name in known)


def read(path: Path) -> Iterator[Item]:
    """A sample for each row; repetitions of an example are its epochs."""
    first = next((row for _, row in _rows(path)), dict[str, JsonValue]())
    yield EvaluationLog(NAME, path.stem, str(obj(first.get("example")).get("dataset_id") or NAME), own_id=False)
    given = GivenScores.of(score for _, row in _rows(path) for score in _scores(row))
    tried: Counter[str] = Counter()
    for where, row in _rows(path):
        ident = _example_id(row)
        tried[ident] += 1
        yield _sample(row, ident, tried[ident], given, where)


def _example_id(row: Json) -> str:
    """The id of the row's example; of one without an id its content, or what the run was asked."""
    run, example = obj(row.get("run")), obj(row.get("example"))
    named = example.get("id") or run.get("reference_example_id")
    return str(named) if named else digest(example or run.get("inputs"))


def _rows(path: Path) -> Iterator[tuple[str, Json]]:
    if path.suffix.lower() in SEPARATORS:
        table = (
            (f"{path}:{row.line}", {name: _value(cell) for name, cell in row.cells.items()})
            for row in read_text_table(path)
        )
        yield from ((where, _nested(row)) for where, row in table)
    else:
        yield from ((where, _nested(row)) for where, row in rows_of(path, _LISTS))


def _value(cell: str) -> JsonValue:
    """The cell as it was: a truth value, a text, or nothing."""
    return _TRUTHS.get(cell, cell or None)


def _nested(row: Json) -> Json:
    """The row of a flat table as `evaluate()` returns it."""
    if "run" in row:
        return row
    seconds = number(_figure(row.get("execution_time")))
    scores: list[JsonValue] = [
        {"key": name, "score": _figure(value)} for name, value in _under(row, _SAID).items() if value is not None
    ]
    return {
        "run": {
            "id": row.get("id"), "outputs": without(_under(row, _GAVE)), "error": row.get("error"),
            "latency_ms": None if seconds is None else seconds * 1000,
        },
        "example": {"id": row.get("example_id"), "inputs": _under(row, _GIVEN), "outputs": without(_under(row, _WANTED))},
        "evaluation_results": {"results": scores},
    }  # fmt: skip


def _under(row: Json, head: str) -> Json:
    return {name.removeprefix(head): value for name, value in row.items() if name.startswith(head)}


def _figure(value: JsonValue) -> JsonValue:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _scores(row: Json) -> Iterator[ForeignScore]:
    """What the evaluators gave; one that broke (`extra.error`) has no verdict."""
    results = row.get("evaluation_results")
    for result in objects(results if isinstance(results, list) else obj(results).get("results")):
        about = {"explanation": result.get("comment"), **without(result, "key", "score", "value", "comment")}
        broke = obj(result.get("extra")).get("error") is True
        value = result.get("score") if result.get("score") is not None else result.get("value")
        error = {"error": result.get("comment") or "the evaluator failed"} if broke else {}
        yield ForeignScore(str(result.get("key")), value, without({**about, **error}))


def _sample(row: Json, ident: str, epoch: int, given: GivenScores, where: str) -> LogSample:
    run, example = obj(row.get("run")), obj(row.get("example"))
    if run.get("inputs") == example.get("inputs", run.get("inputs")):
        run = without(run, "inputs")
    scores = given.marked(_scores(row))
    wanted = obj(example.get("outputs"))
    asked = obj(example.get("inputs", obj(row.get("run")).get("inputs")))
    question = next((text for text in asked.values() if isinstance(text, str)), "")
    return LogSample(
        id=ident,
        inputs=inputs_of(asked["messages"]) if [*asked] == ["messages"] else asked,
        name=" ".join(question.split())[:LONGEST_NAME],
        epoch=epoch,
        targets=texts([*wanted.values()]),
        expected=wanted or None,
        assertions=given.checks(NAME, scores),
        extra={
            **without(example, "id", "dataset_id", "inputs", "outputs"),
            **without({"row": without(row, "run", "example", "evaluation_results") or None}),
        },
        produced=_produced(run, scores, row.get("evaluation_results")),
        where=where,
    )


def _produced(run: Json, scores: tuple[ForeignScore, ...], given: JsonValue) -> Produced:
    below = sorted(nested_runs(run), key=lambda row: str(row.get("start_time", "")))
    return Produced(
        output=output_of(obj(run.get("outputs"))),
        tools=tuple(call_of(row) for row in below if row.get("run_type") == "tool") or None,
        scores=scores,
        started=run.get("start_time"),
        completed=run.get("end_time"),
        input_tokens=count(run.get("prompt_tokens")),
        output_tokens=count(run.get("completion_tokens")),
        cost=number(run.get("total_cost")),
        latency_ms=number(run.get("latency_ms")),
        error=str(run["error"]) if run.get("error") else None,
        extra=without({
            "run": without(run, *_OF_RUN) or None, "runsBelow": [without(row, *_OF_CHILD) for row in below] or None,
            "evaluation": without(obj(given), "results") or None,
        }),
    )  # fmt: skip

"""ragas: data sets and results, as JSON, a line each, or a table in which lists stand as Python writes them.

Its metrics are grades: a grade below 1 is no failure, so that no verdict is made of one without a pass mark.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.files import json_lines, json_pieces
from minions_evals_mcp.interop.logs.foreign_checks import recorded_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, ForeignScore, Item, LogSample, Produced
from minions_evals_mcp.interop.logs.shapes import the_object
from minions_evals_mcp.interop.text_table import SEPARATORS, read_text_table
from minions_evals_mcp.sessions.conversation import finite, objects, texts, without

NAME = "ragas"
ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
OLDER = {
    "question": "user_input", "answer": "response", "contexts": "retrieved_contexts", "ground_truth": "reference",
    "ground_truths": "reference",
}  # fmt: skip
"""What ragas below 0.2 called them."""
LISTS = ("retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids", "multi_responses",
         "reference_topics", "reference_tool_calls", "rubrics", "user_input")  # fmt: skip
"""What may be a list or a mapping, which a table holds as Python writes it."""
OTHERS = ("response", "reference", "persona_name", "query_style", "query_length", "synthesizer_name", "evolution_type", "metadata",
          "episode_done", "id")  # fmt: skip
FIELDS = frozenset((*LISTS, *OTHERS))
LESS_IS_BETTER = "noise_sensitivity"
MOST_LITERAL = 1_000_000


def is_rows(seen: JsonValue) -> bool:
    """Whether a JSON value is such a row, or begins a list of them."""
    return has_columns(obj(seen[0] if isinstance(seen, list) and seen else seen).keys())


def has_columns(names: Iterable[str]) -> bool:
    """Whether rows of those names are ragas's: nobody else asks under `user_input`; the older names must all be there."""
    known = {*names}
    if "user_input" in known:
        return len(known & FIELDS) > 1
    return {"question", "contexts", "answer"} <= known and bool({"ground_truth", "ground_truths"} & known)


def read(path: Path) -> Iterator[Item]:
    """A sample for each row; a metric that could not be measured (NaN) is none."""
    yield EvaluationLog(NAME, path.stem, path.stem, own_id=False)
    for place, (where, row) in enumerate(_rows(path), 1):
        yield _sample(row, place, where)


def _rows(path: Path) -> Iterator[tuple[str, Json]]:
    suffix = path.suffix.lower()
    if suffix in SEPARATORS:
        yield from ((f"{path}:{row.line}", _of_cells(row.cells)) for row in read_text_table(path))
    elif suffix in {".jsonl", ".ndjson"}:
        yield from ((where, _renamed(the_object(line, where))) for where, line in json_lines(path))
    else:
        for place, piece in enumerate(json_pieces(path, streamed=frozenset({""}))):
            where = f"{path}: {place}"
            yield where, _renamed(the_object(piece.value, where))


def _renamed(row: Json) -> Json:
    return {OLDER.get(name, name) if "user_input" not in row else name: value for name, value in row.items()}


def _of_cells(cells: dict[str, str]) -> Json:
    """The row of a table: lists as they were, metrics as numbers; an empty cell of a metric's column is one that failed."""
    row: Json = {}
    for name, cell in _renamed({**cells}).items():
        text = str(cell)
        if name in LISTS:
            row[name] = _literal(text)
        elif name in FIELDS or not name or name.startswith("Unnamed:"):
            row[name] = text if name in FIELDS and text else None
        else:
            row[name] = _figure(text)
    return row


def _literal(text: str) -> JsonValue:
    """What a list or a mapping was before Python wrote it; any other text as it is."""
    if text.lstrip()[:1] in {"[", "{"} and len(text) <= MOST_LITERAL:
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value: JsonValue = ast.literal_eval(text.strip())
            return value
    return text or None


def _figure(text: str) -> JsonValue:
    if not text:
        return math.nan
    try:
        figure = float(text)
    except ValueError:
        return text
    return int(figure) if text.strip() in {"0", "1"} else figure


def _sample(row: Json, place: int, where: str) -> LogSample:
    asked = row.get("user_input")
    if asked in (None, "", []):
        raise InvalidRecordError("a row has a user_input", where=where)
    turns = [*_turns(asked)]
    scores = tuple(_score(name, value) for name, value in row.items() if name not in FIELDS and _is_score(value))
    reference = texts(row.get("reference"))
    contexts = row.get("retrieved_contexts")
    inputs: Json = (
        {"messages": [turn for turn in turns if turn["role"] == "user"]} if turns else {"input": finite(asked)}
    )
    return LogSample(
        id=row.get("id") or place,
        inputs=inputs,
        targets=reference,
        expected={"output": reference[0]} if len(reference) == 1 else None,
        assertions=recorded_of(NAME, scores) if scores else (),
        extra=obj(finite(without(row, *_READ, *(score.name for score in scores)))),
        produced=_produced(row, turns, contexts, scores),
        where=where,
    )


_READ = ("user_input", "reference", "response", "retrieved_contexts", "multi_responses", "id", "")


def _produced(row: Json, turns: list[Json], contexts: JsonValue, scores: tuple[ForeignScore, ...]) -> Produced | None:
    said = [turn["content"] for turn in turns if turn["role"] == "assistant" and turn.get("content")]
    output = row.get("response") if not turns else (said[-1] if said else None)
    several = row.get("multi_responses")
    if output is None and several is None and not scores:
        return None
    calls: tuple[JsonValue, ...] = tuple(
        {"tool": str(call.get("name") or "tool"), "arguments": obj(call.get("args"))}
        for turn in turns
        for call in objects(turn.get("tool_calls"))
    )
    beside = obj(finite(without({"retrieved_contexts": contexts or None, "multi_responses": several})))
    return Produced(
        output=output if output is not None else several,
        messages=tuple(without(turn, "tool_calls") for turn in turns),
        tools=calls or None,
        scores=scores,
        extra=beside,
    )


def _turns(asked: JsonValue) -> Iterator[Json]:
    """The messages of a conversation, in our words; nothing where one question was asked."""
    for message in listed_values(asked):
        told = obj(message)
        role = ROLES.get(str(told.get("type") or told.get("role")), str(told.get("role") or ""))
        if role in ROLES.values():
            yield without({"role": role, "content": told.get("content"), "tool_calls": told.get("tool_calls")})


def _is_score(value: JsonValue) -> bool:
    return isinstance(value, int | float)


def _score(name: str, value: JsonValue) -> ForeignScore:
    """A metric. What is 0 or 1 as a whole number is a verdict (an aspect); any other number is a grade without a pass mark."""
    is_verdict = isinstance(value, int) and value in (0, 1)
    about: Json = {} if is_verdict else {"isGrade": True}
    if name.startswith(LESS_IS_BETTER):
        about["lowerIsBetter"] = True
    return ForeignScore(name, finite(value), about)

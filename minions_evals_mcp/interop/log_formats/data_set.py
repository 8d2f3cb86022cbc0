"""Data sets as JSON: rows of `input` and `expected_output`, as DeepEval's goldens and many other tools write them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.grouped_rows import rows_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample
from minions_evals_mcp.sessions.conversation import inputs_of, objects, texts, without

NAME = "data-set"
LISTS = frozenset({"", "goldens", "conversational_goldens"})
EXPECTED = ("expected_output", "expectedOutput", "expected_outcome", "expectedOutcome")
BESIDE = ("context", "retrieval_context", "retrievalContext")
PERSONAS = ("user_description", "userDescription")
_MARKS = frozenset({*EXPECTED, *BESIDE})
_QUESTIONS = ("input", "scenario")


def is_rows(seen: JsonValue) -> bool:
    """Whether a JSON value is such a row, or begins a list of them."""
    listed = seen if isinstance(seen, list) else obj(seen).get("goldens", obj(seen).get("conversational_goldens"))
    first = obj(next(iter(listed), None)) if isinstance(listed, list) else obj(seen)
    return any(name in first for name in _QUESTIONS) and bool(_MARKS & first.keys())


def read(path: Path) -> Iterator[Item]:
    """A case for each row; what is expected is a reference answer."""
    yield EvaluationLog(NAME, path.stem, path.stem, own_id=False)
    for place, (where, row) in enumerate(rows_of(path, LISTS), 1):
        yield _sample(row, place, where)


def _conversation(row: Json) -> Json:
    """A conversational golden as DeepEval's simulator takes it: a model plays the user, who begins as its first turn does."""
    told = next((row[name] for name in PERSONAS if row.get(name)), "")
    said = row.get("turns")
    with suppress(ValueError):  # a table holds them as one text
        said = json.loads(said) if isinstance(said, str) else said
    first = next((turn.get("content") for turn in objects(said) if turn.get("role") == "user"), None)
    return without(
        {"player": "model", "goal": str(row["scenario"]), "persona": str(told) or None, "opening": first or None}
    )


def _sample(row: Json, place: int, where: str) -> LogSample:
    question = next((name for name in _QUESTIONS if row.get(name) not in (None, "")), None)
    if question is None:
        raise InvalidRecordError("a row has an input, or a scenario", where=where)
    expected = next((name for name in EXPECTED if row.get(name) not in (None, "")), None)
    inputs = inputs_of(row[question]) if question == "input" else {question: row[question]}
    beside = {name: row[name] for name in BESIDE if row.get(name)}
    wanted = () if expected is None else texts(row[expected])
    prose: Json = {"type": "llm-rubric", "value": "\n".join(wanted)}
    return LogSample(
        id=row.get("id", place),
        inputs={**inputs, **beside},
        name=str(row.get("name") or ""),
        targets=wanted,
        assertions=(prose,) if question == "scenario" and wanted else (),
        extra=without(row, "id", "name", question, *beside, *([expected] if expected else [])),
        conversation=_conversation(row) if question == "scenario" else None,
        where=where,
    )

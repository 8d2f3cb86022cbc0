"""Data sets as JSON: rows of `input` and `expected_output`, as DeepEval's goldens and many other tools write them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.log_formats.deepeval_run import call_of, messages_of
from minions_evals_mcp.interop.log_formats.mlflow_traces import EXPECTED as MLFLOW_EXPECTED
from minions_evals_mcp.interop.logs.grouped_rows import rows_of
from minions_evals_mcp.interop.logs.sample import EvaluationLog, Item, LogSample, Produced
from minions_evals_mcp.interop.text_table import SEPARATORS, read_text_table
from minions_evals_mcp.sessions.conversation import inputs_of, last_answer, objects, texts, without

NAME = "data-set"
CONVERSATIONS = ("conversational_goldens", "conversational_test_cases")
NAMED_LISTS = ("goldens", "test_cases", *CONVERSATIONS)
LISTS = frozenset({"", *NAMED_LISTS})
EXPECTED = ("expected_output", "expectedOutput", "expected_outcome", "expectedOutcome")
BESIDE = ("context", "retrieval_context", "retrievalContext")
PERSONAS = ("user_description", "userDescription", "persona")
ANSWERS, CALLS = ("actual_output", "actualOutput"), ("tools_called", "toolsCalled")
_TABLES = (
    frozenset(("input", "actual_output", "expected_output", "context")),
    frozenset(("scenario", "turns", "expected_outcome")),
)
"""Columns of the tables that DeepEval writes: goldens, single and conversational."""
_LISTED = frozenset(("context", "retrieval_context"))
_JSON = frozenset((
    "turns", "tools_called", "expected_tools", "persona", "additional_metadata", "custom_column_key_values", "expectations",
))  # fmt: skip
_MARKS = frozenset({*EXPECTED, *BESIDE})
_QUESTIONS = ("input", "scenario")


def is_rows(seen: JsonValue) -> bool:
    """Whether a JSON value is such a row, or begins a list of them."""
    document = obj(seen)
    listed = next((held for name in NAMED_LISTS if (held := listed_values(document.get(name)))), None)
    first = obj(next(iter(seen if isinstance(seen, list) else listed or [seen]), None))
    talks = "role" in obj(next(objects(first.get("turns")), None))
    if talks and listed and any(document.get(name) == listed for name in CONVERSATIONS):
        return True
    asks = talks or any(name in first for name in _QUESTIONS)
    return _is_of_mlflow(first) or (asks and bool(_MARKS & first.keys()))


def _is_of_mlflow(row: Json) -> bool:
    """Whether the row is one of those that MLflow's `evaluate` is given."""
    return isinstance(row.get("inputs"), dict) and isinstance(row.get("expectations"), dict)


def _renamed(row: Json) -> Json:
    """The row under the names of all others."""
    if not _is_of_mlflow(row):
        return row
    expected = obj(row["expectations"])
    name = next((name for name in MLFLOW_EXPECTED if expected.get(name) not in (None, "")), "")
    rest: Json = {"input": row["inputs"], "expectations": without(expected, name) or None}
    found: Json = {"expected_output": expected[name]} if name else {}
    return {
        **without(row, "inputs", "outputs", "expectations"),
        **without({**rest, "actual_output": row.get("outputs")}),
        **found,
    }


def has_columns(names: Collection[str]) -> bool:
    """Whether a table of those columns is one of DeepEval's."""
    return any(columns <= {*names} for columns in _TABLES)


def read(path: Path) -> Iterator[Item]:
    """A case for each row; what is expected is a reference answer, and what was answered is a recorded output."""
    yield EvaluationLog(NAME, path.stem, path.stem, own_id=False)
    for place, (where, row) in enumerate(_rows(path), 1):
        yield _sample(row, place, where)


def _rows(path: Path) -> Iterator[tuple[str, Json]]:
    if path.suffix.lower() not in SEPARATORS:
        yield from ((where, _renamed(row)) for where, row in rows_of(path, LISTS))
        return
    for row in read_text_table(path):
        yield f"{path}:{row.line}", {name: _cell(name, text) for name, text in row.cells.items() if text}


def _cell(name: str, text: str) -> JsonValue:
    """What the cell was before DeepEval wrote it: a list with bars between its texts, a mapping as JSON, any other a text."""
    if name in _LISTED:
        return [*text.split("|")]
    if name in _JSON and text.lstrip()[:1] in {"[", "{"}:
        with suppress(ValueError, RecursionError):
            value: JsonValue = json.loads(text)
            return value
    return text


def _conversation(row: Json, turns: list[Json]) -> Json:
    """A conversational golden as DeepEval's simulator takes it: a model plays the user, who begins as its first turn does.

    Without a scenario nobody can be played anew: what the user said is the script.
    """
    said: list[JsonValue] = [turn.get("content") for turn in turns if turn.get("role") == "user"]
    if not row.get("scenario"):
        return {"turns": said, "maxTurns": len(said)}
    told = next((_traits(row[name]) for name in PERSONAS if row.get(name)), "")
    first = next(iter(said), None)
    return without(
        {"player": "model", "goal": str(row["scenario"]), "persona": str(told) or None, "opening": first or None}
    )


def _turns(row: Json) -> list[Json]:
    """The turns of a conversational golden or test case; a table holds them as one text."""
    said = row.get("turns")
    with suppress(ValueError, RecursionError):
        said = json.loads(said) if isinstance(said, str) else said
    return [*objects(said)]


def _is_held(turns: list[Json]) -> bool:
    """Whether the conversation took place: the assistant answered the user."""
    roles = [turn.get("role") for turn in turns]
    return "user" in roles and "assistant" in roles[roles.index("user") :]


def _traits(persona: JsonValue) -> str:
    """Who the user is: a text, or a persona of DeepEval's with its name and characteristics."""
    if not isinstance(persona, dict):
        return str(persona)
    return "\n".join(str(persona[name]) for name in ("name", "characteristics") if persona.get(name))


def _told(row: Json) -> tuple[str, ...]:
    """The names that tell of the simulated user only what the conversation has of them."""
    persona = obj(row.get("persona"))
    whole = not persona or not without(persona, "name", "characteristics")
    same = not persona or row.get("user_description") in (None, persona.get("characteristics"))
    return ("user_description", *(("persona",) if whole and same else ())) if "scenario" in row else ()


def _recorded(row: Json, turns: list[Json]) -> Produced | None:
    """The output that the row has, with its calls, or the conversation that was held; a row that has none is asked for."""
    if turns:
        return Produced(output=last_answer(turns), messages=messages_of(turns))
    answer = next((row[name] for name in ANSWERS if row.get(name) not in (None, "")), None)
    if answer is None:
        return None
    called = next((row[name] for name in CALLS if row.get(name)), None)
    return Produced(output=answer, tools=None if called is None else tuple(call_of(call) for call in objects(called)))


def _inputs(row: Json, turns: list[Json], where: str) -> Json:
    name = next((name for name in _QUESTIONS if row.get(name) not in (None, "")), None)
    if name is not None:
        return inputs_of(row[name]) if name == "input" else {name: row[name]}
    if not turns:
        raise InvalidRecordError("a row has an input, a scenario, or turns that were answered", where=where)
    return {"messages": [without(turn, *CALLS) for turn in turns if turn.get("role") == "user"]}


def _sample(row: Json, place: int, where: str) -> LogSample:
    is_single = row.get("input") not in (None, "")
    turns = [] if is_single else _turns(row)
    held = turns if _is_held(turns) else []
    inputs = _inputs(row, held, where)
    expected = next((name for name in EXPECTED if row.get(name) not in (None, "")), None)
    beside = {name: row[name] for name in BESIDE if row.get(name)}
    wanted = () if expected is None else texts(row[expected])
    produced = _recorded(row, held) if held or is_single else None
    answered = () if produced is None else ("turns",) if held else (*ANSWERS, *CALLS)
    read = ("id", "name", "input" if is_single else "scenario", *([expected] if expected else []), *answered)
    prose: Json = {"type": "llm-rubric", "value": "\n".join(wanted)}
    return LogSample(
        id=row.get("id", place),
        inputs={**inputs, **beside},
        name=str(row.get("name") or ""),
        targets=wanted,
        assertions=(prose,) if wanted and not is_single else (),
        extra=without(row, *read, *beside, *_told(row)),
        produced=produced,
        conversation=None if is_single else _conversation(row, turns),
        where=where,
    )

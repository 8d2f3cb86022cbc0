"""Reading prompts and test cases for prompt scoring: from records, from the documented plain mappings, from a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypeVar, cast

from pydantic import Field, JsonValue, ValidationError

from minions_evals_mcp.domain.definitions import Fields, TestCase
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.values import Text, Value, from_millis
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.scoring.prompt_shelf import Shelf, ShelfCase, ShelfPrompt, shelved
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db

Given = Record[Fields] | Record[PromptVersion] | Record[TestCase] | Mapping[str, object]
"""A record, or a mapping: a record's wire form, or the documented plain keys."""

FOLLOWS = "follows"
_PAGE = 1000
_DESCRIPTIVE = frozenset(
    {"name", "title", "description", "changelog", "variables", "tags", "createdAt", "updatedAt", "createdBy",
     "totalRuns", "passRate", "avgScore", "lastRun", "lastPassed"}
)  # fmt: skip
"""Keys of prompt scoring and of the testing API that say nothing about what is run or scored."""

V = TypeVar("V", bound=Value)


class _PlainPrompt(Value):
    """The documented prompt."""

    id: Text
    content: Text
    prompt_id: Text | None = None
    version_number: Annotated[int, Field(ge=1)] = 1


class _PlainCase(Value):
    """The documented test case."""

    id: Text
    input: JsonValue = {}
    expected_output: JsonValue = None
    max_score: Annotated[float, Field(ge=0)] = 1.0
    prompt_id: Text | None = None
    prompt_version_ref: Text | None = None
    status: Literal["active", "draft", "deprecated"] = "active"


def prompt_of(given: Given) -> ShelfPrompt:
    """The prompt that a record or a plain mapping describes; raises `InvalidRecordError`."""
    match _read(given):
        case ShelfPrompt() as prompt:
            return prompt
        case _:
            raise BadInputError("this is not a prompt.", remedy='Give a prompt-version, or {"id": …, "content": …}.')


def case_of(given: Given) -> ShelfCase:
    """The test case that a record or a plain mapping describes; raises `InvalidRecordError`."""
    match _read(given):
        case ShelfCase() as case:
            return case
        case _:
            raise BadInputError(
                "this is not a test case.",
                remedy='Give a test-case, or {"id": …, "input": …, "expectedOutput": …}.',
            )


def shelf_of(storage: Iterable[object]) -> Shelf:
    """Returns what an iterable of records, relations and plain mappings holds; a mapping holds its values, under their keys."""
    items = _named(cast("Mapping[object, object]", storage)) if isinstance(storage, Mapping) else storage
    read = [_read(entry) for entry in items]
    return shelved(
        [record for record in read if isinstance(record, ShelfPrompt)],
        [record for record in read if isinstance(record, ShelfCase)],
        [record for record in read if isinstance(record, Relation)],
    )


def shelf_in(db: Db) -> Shelf:
    """Returns what a store holds."""
    versions = _all(db, PromptVersion.slug)
    follows = [
        relation
        for version in versions
        for relation in records.follows(db, version.id)
        if relation.source_id == version.id
    ]
    return shelf_of([*versions, *_all(db, TestCase.slug), *follows])


def _all(db: Db, kind: str) -> list[Record[Fields]]:
    gathered: list[Record[Fields]] = []
    after = 0
    while page := records.page(db, kind, after=after, limit=_PAGE):
        gathered.extend(record for _, record in page)
        after = page[-1][0]
    return gathered


def _named(storage: Mapping[object, object]) -> list[object]:
    gathered: list[object] = []
    for key, value in storage.items():
        match value:
            case Mapping():
                gathered.append({"id": key, **cast("Mapping[str, object]", value)})
            case Fields():
                gathered.append(Record(str(key), value, str(key), from_millis(0), from_millis(0)))
            case list():
                gathered.extend(cast("list[object]", value))
            case _:
                gathered.append(value)
    return gathered


def _read(given: object) -> ShelfPrompt | ShelfCase | Relation | None:
    """Returns what one thing in a storage is to prompt scoring; None for records of other types and for hidden ones."""
    match given:
        case Record():
            return _from_record(given)
        case Relation():
            return given if given.type == FOLLOWS else None
        case Mapping():
            return _from_mapping(dict(cast("Mapping[str, object]", given)))
        case _:
            raise BadInputError(
                f"a prompt, test case or storage cannot be read from {type(given).__name__}.",
                remedy="Give records, or mappings with the keys of records.",
            )


def _from_record(record: Record[Fields]) -> ShelfPrompt | ShelfCase | None:
    if record.deleted_at is not None:
        return None
    match record.fields:
        case PromptVersion() as fields:
            return ShelfPrompt(record.id, fields.content, fields.prompt_id or "", fields.version_number)
        case TestCase() as fields:
            return ShelfCase(
                record.id,
                fields.inputs,
                fields.expected_outputs,
                fields.max_score,
                _names(fields.prompt_id, fields.prompt_version_ref),
                fields.status == "active",
            )
        case _:
            return None


def _from_mapping(plain: dict[str, object]) -> ShelfPrompt | ShelfCase | Relation | None:
    if "fields" in plain:
        return _from_record(_enveloped(plain))
    if "sourceId" in plain:
        return _read(Relation(str(plain["sourceId"]), str(plain.get("targetId")), str(plain.get("type"))))
    if "content" in plain:
        prompt = _parsed(_PlainPrompt, plain, "prompt")
        return ShelfPrompt(prompt.id, prompt.content, prompt.prompt_id or "", prompt.version_number)
    case = _parsed(_PlainCase, plain, "test case")
    return ShelfCase(
        case.id,
        case.input if isinstance(case.input, dict) else {"input": case.input},
        None if case.expected_output is None else {"output": case.expected_output},
        case.max_score,
        _names(case.prompt_id, case.prompt_version_ref),
        case.status == "active",
    )


def _enveloped(plain: dict[str, object]) -> Record[Fields]:
    if plain.get("id") is None:
        raise InvalidRecordError("is missing", field="id", record=str(plain.get("type")))
    try:
        json.dumps(plain)  # a record's own reader would take a date for the text that it stands for
        return record_from_wire(cast("JsonValue", plain), new_id="", now=from_millis(0))
    except TypeError as error:
        raise InvalidRecordError(f"cannot be JSON: {error}", record=str(plain["id"])) from None


def _parsed(kind: type[V], plain: dict[str, object], what: str) -> V:
    """The plain mapping as that value; raises `InvalidRecordError` for an unknown key or a value that does not fit."""
    record = f"{what} {plain.get('id', '(no id)')}"
    try:
        text = json.dumps({key: value for key, value in plain.items() if key not in _DESCRIPTIVE}, allow_nan=False)
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
        raise InvalidRecordError(problem, field=".".join(map(str, first["loc"])), record=record) from None
    except (TypeError, ValueError) as error:
        raise InvalidRecordError(f"cannot be JSON: {error}", record=record) from None


def _names(*ids: str | None) -> frozenset[str]:
    return frozenset(ident for ident in ids if ident is not None)

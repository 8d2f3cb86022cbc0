"""The envelope that every record wears, and the table of all types."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Annotated, Generic, TypeVar, cast

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails, to_json

from minions_evals_mcp.domain import audits, definitions, neighbours, results
from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.incoming.near_keys import KeysRead, keys_read, plain_key
from minions_evals_mcp.domain.incoming.omitted import refused_as_omitted
from minions_evals_mcp.domain.json_fields import json_fields
from minions_evals_mcp.domain.step_fields import with_extra
from minions_evals_mcp.domain.values import ID_PATTERN, Id, Text, Timestamp, Value, iso, known_names, unknown_key
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.frozen_types import frozen_type

F_co = TypeVar("F_co", bound=Fields, covariant=True)
F = TypeVar("F", bound=Fields)

DEFINITIONS: tuple[type[Fields], ...] = (
    definitions.TestCase, definitions.Rubric, definitions.RubricCriterion, definitions.Benchmark, definitions.TestBranch,
    definitions.World,
)  # fmt: skip
RESULTS: tuple[type[Fields], ...] = (
    results.TestRun, results.EvalJudgment, results.BenchmarkRun, results.EvalMetric, results.EvalTrend,
    results.PromptComparison, results.EvalFailure, results.Approval, results.JudgeLicence, audits.Audit,
    results.TestBranchExecution,
)  # fmt: skip
RECORDED: tuple[type[Fields], ...] = (
    neighbours.AgentRun, neighbours.PromptVersion, neighbours.SkillDefinition, neighbours.ProposalDraft,
)  # fmt: skip
ASKED: tuple[type[Fields], ...] = (
    neighbours.AgentMessage, neighbours.Task, neighbours.ApprovalRequest, neighbours.MemoryItem,
)  # fmt: skip
TYPES: dict[str, type[Fields]] = {kind.slug: kind for kind in (*DEFINITIONS, *RESULTS, *RECORDED, *ASKED)}
IMPORTABLE: tuple[str, ...] = tuple(kind.slug for kind in (*DEFINITIONS, *RECORDED))
"""The types that a file may bring; the others are made by runs, or go out through the outbox."""
MADE_BY_PYTHON = "evaluate"
"""Who made the records of an evaluation that a Python program runs."""
FINAL: tuple[str, ...] = (neighbours.AgentRun.slug, neighbours.PromptVersion.slug, neighbours.ProposalDraft.slug)
"""Copies of what a neighbour made: once complete, never edited."""

ACTIVE = "active"
"""The status of an envelope that says nothing else."""


@frozen_type
class Record(Generic[F_co]):
    """One Minion: who and when around its typed fields."""

    id: str
    fields: F_co
    title: str
    created_at: datetime
    updated_at: datetime
    tags: tuple[str, ...] = ()
    status: str = ACTIVE
    created_by: str | None = None
    deleted_at: datetime | None = None

    @property
    def type(self) -> str:
        """The slug of the record's type."""
        return self.fields.slug

    @property
    def shown_status(self) -> str:
        """The status that a reader sees: that of its fields, as "draft", where its type has one; else the envelope's."""
        status: object = getattr(self.fields, "status", None)
        return status if isinstance(status, str) else self.status

    def flat(self) -> dict[str, JsonValue]:
        """The record as the testing API shows one: its fields beside its id and its times."""
        times: dict[str, JsonValue] = {"createdAt": iso(self.created_at), "updatedAt": iso(self.updated_at)}
        return {"id": self.id, **wire_fields(self.fields), **times}

    def wire(self) -> dict[str, JsonValue]:
        """The record as it stands in a file or an answer; absent values are left out."""
        wire: dict[str, JsonValue] = {
            "id": self.id,
            "type": self.type,
            "title": self.title,
            "fields": wire_fields(self.fields),
            "tags": list(self.tags),
            "status": self.shown_status,
            "createdAt": iso(self.created_at),
            "updatedAt": iso(self.updated_at),
        }
        if self.created_by is not None:
            wire["createdBy"] = self.created_by
        if self.deleted_at is not None:
            wire["deletedAt"] = iso(self.deleted_at)
        return wire

    def content_digest(self) -> str:
        """Returns what the record says, whoever said it and whenever: equal digests mean that nothing changed."""
        fields: JsonValue = {key: value for key, value in json_fields(self.fields).items() if value is not None}
        return digest(
            {"type": self.type, "title": self.title, "fields": fields, "tags": list(self.tags), "status": self.status},
            finite=True,
        )

    def touched(self, fields: Fields, at: datetime) -> Record[Fields]:
        """The same record with other fields, changed at that moment."""
        return Record(
            self.id, fields, self.title, self.created_at, at, self.tags, self.status, self.created_by, self.deleted_at
        )


class Envelope(Value):
    """A record as it arrives: its fields are checked against its type in a second step."""

    id: Id | None = None
    type: Text
    title: Text | None = None
    fields: dict[str, JsonValue]
    tags: Annotated[tuple[str, ...], Field(strict=False)] = ()
    status: Text = ACTIVE
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    created_by: str | None = None
    deleted_at: Timestamp | None = None


_ID = re.compile(ID_PATTERN.rstrip("$")).fullmatch


def fields_from_json(kind: type[F], text: str | bytes, *, record: str = "") -> F:
    """The typed fields in a JSON text; raises `InvalidRecordError` naming each field that does not fit."""
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise _refusal(error, record or kind.slug, "fields", kind) from None


def of_type(record: Record[Fields] | None, kind: type[F]) -> Record[F] | None:
    """The record where it is of that type; None where it is of another, or there is none."""
    return cast("Record[F]", record) if record is not None and isinstance(record.fields, kind) else None


def record_from_wire(wire: JsonValue, *, new_id: str, now: datetime) -> Record[Fields]:
    """The record that a mapping describes, `new_id` and `now` where it names none.

    Raises `InvalidRecordError` for an unknown type, an unknown key or a value that does not fit.
    """
    name = _name_of(wire)
    held, around = _parted(wire)
    envelope = _plain_envelope(around) or _envelope(around, name)
    if envelope.type not in TYPES:
        known = known_names(envelope.type, sorted(TYPES), "docs/reference/records.md", are="known are")
        raise InvalidRecordError(
            f"unknown type {envelope.type!r}; {known.removesuffix('.')}", field="type", record=name
        )
    held = _read(envelope.type, held, name).fields
    if envelope.type == neighbours.AgentRun.slug:
        held = with_extra(held, neighbours.KNOWN_OF_A_RUN)
        if held.get("errorMessage") and not held.get("outputs") and not held.get("status"):
            held = {**held, "status": "failed"}
    fields = _fields(TYPES[envelope.type], held, name)
    if isinstance(fields, neighbours.AgentRun) and fields.lacks_output:
        raise InvalidRecordError(NO_OUTPUT, field="fields.outputs", record=name)
    if isinstance(fields, neighbours.AgentRun) and not fields.inputs:
        _vet_no_case(fields.extra, name)
    created = envelope.created_at or now
    return Record(
        id=envelope.id or new_id,
        fields=fields,
        title=envelope.title or title_of(fields, envelope.id or new_id),
        created_at=created,
        updated_at=envelope.updated_at or created,
        tags=envelope.tags,
        status=ACTIVE if envelope.status == getattr(fields, "status", None) else envelope.status,
        created_by=envelope.created_by,
        deleted_at=envelope.deleted_at,
    )


def _vet_no_case(extra: Mapping[str, JsonValue], name: str) -> None:
    """Raises where an output names its case and no inputs: nothing would ever match it, and it cannot be changed."""
    named = next((key for key in extra if plain_key(key) in CASE_KEYS), None)
    if named is not None:
        raise InvalidRecordError(
            "an agent-run is matched with its test case by equal inputs, not by a case's id",
            field=f"fields.{named}",
            record=name,
            remedy="Put the inputs of that case into fields.inputs.",
        )


CASE_KEYS = frozenset({"testcaseid", "testcase", "caseid", "testcaseref"})
"""What callers call the case of an output, without case and separators."""
NO_OUTPUT = (
    "an agent-run that succeeded has outputs; without one give errorMessage, stopReason, or status failed or running"
)


def reading_notes(wire: JsonValue) -> tuple[str, ...]:
    """What `record_from_wire` reads otherwise than it is written: keys read as others, and keys kept under `extra`."""
    kind = wire.get("type") if isinstance(wire, dict) else None
    if not isinstance(kind, str) or kind not in TYPES:
        return ()
    name = _name_of(wire)
    return tuple(f"{name}: {note}" for note in _read(kind, _parted(wire)[0], name).notes)


def _read(kind: str, held: dict[str, JsonValue], name: str) -> KeysRead:
    """The fields by their own names."""
    return keys_read(TYPES[kind], kind, held, keeps_extra=kind == neighbours.AgentRun.slug, name=name)


def _fields(kind: type[Fields], held: dict[str, JsonValue], name: str) -> Fields:
    """The typed fields. A refused value that means "omitted" is left out; raises what was wrong at first."""
    text = _json(held, name, under="fields")
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        lean = refused_as_omitted(held, error.errors(include_url=False))
        if lean is not None:
            with suppress(ValidationError):
                return kind.model_validate_json(_json(lean, name, under="fields"))
        raise _refusal(error, name, "fields", kind) from None


def _plain_envelope(around: JsonValue) -> Envelope | None:
    """The envelope of a record that says no more than its id and a type that there is, as most do; None for any other."""
    if not isinstance(around, dict) or len(around) != 3:
        return None
    ident, kind = around.get("id"), around.get("type")
    if not isinstance(ident, str) or not isinstance(kind, str) or kind not in TYPES or not _ID(ident):
        return None
    return Envelope.trusted(id=ident, type=kind, fields={})


def _envelope(around: JsonValue, name: str) -> Envelope:
    try:
        return Envelope.model_validate_json(_json(around, name))
    except ValidationError as error:
        lean = refused_as_omitted(around, error.errors(include_url=False)) if isinstance(around, dict) else None
        if lean is not None:
            with suppress(ValidationError):
                return Envelope.model_validate_json(_json(lean, name))
        raise _refusal(error, name, "", Envelope) from None


def _parted(wire: JsonValue) -> tuple[dict[str, JsonValue], JsonValue]:
    """The fields, and the envelope without them: they are checked against their type, once."""
    if not isinstance(wire, dict) or not isinstance(held := wire.get("fields"), dict):
        return {}, wire
    return held, {**wire, "fields": {}}


def wire_fields(fields: Fields) -> dict[str, JsonValue]:
    """The fields as JSON; absent ones are left out, a null inside a user's own mapping stays."""
    return {key: value for key, value in fields.model_dump(mode="json").items() if value is not None}


def title_of(fields: Fields, ident: str) -> str:
    """A title for a record that was given none: its name or title, else its type and id."""
    shown = (str(getattr(fields, name) or "") for name in _titles(type(fields)))  # each type has its own
    return next(filter(None, shown), f"{fields.slug} {ident}")


@cache
def _titles(kind: type[Fields]) -> tuple[str, ...]:
    """The fields of a type that are a title."""
    return tuple(name for name in ("title", "name") if name in kind.model_fields)


def _json(wire: JsonValue, name: str, *, under: str = "") -> str:
    """The mapping as JSON text; raises for what JSON has no words for (NaN, infinities, nesting without end)."""
    with suppress(ValueError, RecursionError):  # what is told below, in our words
        text = to_json(wire, inf_nan_mode="constants")
        if b"NaN" not in text and b"Infinity" not in text:
            return text.decode()
    try:
        return json.dumps(wire, allow_nan=False)
    except RecursionError:
        raise InvalidRecordError("is nested too deeply", record=name) from None
    except ValueError as error:
        raise InvalidRecordError(f"cannot be JSON: {error}", field=not_finite_at(wire, under), record=name) from None


def not_finite_at(value: JsonValue, path: str = "") -> str:
    """Returns where the first NaN or infinity stands; empty where there is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    faults = (not_finite_at(member, f"{path}.{key}".removeprefix(".")) for key, member in inner)
    return next((place for place in faults if place), "")


def _name_of(wire: JsonValue) -> str:
    if not isinstance(wire, dict):
        return ""
    kind = wire.get("type")
    ident = wire.get("id")
    return f"{kind if isinstance(kind, str) else 'record'} {ident if isinstance(ident, str) else '(no id)'}"


_NO_FIELDS = ("constrained-str", "[key]")
"""Steps of pydantic's to a value that are no part of the record."""
_NOT_BLANK = r"should match pattern '\S'"
NAMED = 5
"""So many faults of a record are named."""


def _refusal(error: ValidationError, record: str, under: str, kind: type[Value]) -> InvalidRecordError:
    details = error.errors(include_url=False, include_context=False, include_input=True)
    places = [
        ".".join(map(str, (*([under] if under else []), *(part for part in detail["loc"] if part not in _NO_FIELDS))))
        for detail in details
    ]
    problems = [_in_words(detail, kind) for detail in details]
    others = [f"{place}: {problem}" for place, problem in zip(places[1:NAMED], problems[1:NAMED], strict=True)]
    if len(details) > NAMED:
        others.append(f"and {len(details) - NAMED} more")
    also = f" (also {'; '.join(others)})" if others else ""
    return InvalidRecordError(problems[0] + also, field=places[0], record=record)


def _in_words(detail: ErrorDetails, kind: type[Value]) -> str:
    """One detail of pydantic's in a person's words, without the whole input."""
    match detail["type"]:
        case "extra_forbidden":
            return unknown_key(kind, detail["loc"])
        case "missing":
            return "is missing"
        case "value_error":
            return detail["msg"].removeprefix("Value error, ")
        case "string_pattern_mismatch" if _NOT_BLANK in detail["msg"]:
            return "must not be blank"
        case "json_invalid" if "recursion limit exceeded" in detail["msg"]:
            return "is nested too deeply"
        case _:
            shown = repr(detail["input"])
            return f"{detail['msg']}, not {shown if len(shown) <= 60 else shown[:57] + '...'}"

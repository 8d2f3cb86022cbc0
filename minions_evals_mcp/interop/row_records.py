"""Rows of a user's own data as test cases or agent-runs: which column fills which field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Fields, Json, TestCase
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import TYPES, Record, not_finite_at, of_type, record_from_wire
from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.engine.records.save_records import Arrival
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.table_rows import TableRow, read_rows
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db

RowType = Literal["test-case", "agent-run"]
ENVELOPE = ("id", "title")
LONGEST_NAME = 60
Shape = Literal["text", "texts", "mapping", "other"]
"""What a field holds: a text, a list of texts, a mapping of the user's own, or something else, written as JSON."""


@cache
def shapes(kind: RowType) -> dict[str, Shape]:
    """Returns what each field of the type holds, by its name on the wire."""
    schema = TYPES[kind].model_json_schema()
    shapes_by_path: dict[str, Shape] = dict.fromkeys(ENVELOPE, "text")
    for name, shape in schema["properties"].items():
        options = shape.get("anyOf", [shape])
        types = {option.get("type") for option in options}
        is_texts = any(option.get("items", {}).get("type") == "string" for option in options)
        free = "object" in types and any(option.get("additionalProperties") is not False for option in options)
        shapes_by_path[name] = "text" if "string" in types else "texts" if is_texts else "mapping" if free else "other"
    return shapes_by_path


@dataclass(frozen=True, slots=True)
class RowMapping:
    """The column that fills each field (dotted for a part of a mapping), and fields that are the same in every row.

    Without columns each column fills the field of its own name.
    """

    kind: RowType
    columns: dict[str, str] = field(default_factory=dict[str, str])
    fixed: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        paths = [*self.columns, *self.fixed]
        for path in paths:
            vet_path(self.kind, path)
        for path in paths:
            inside = [other for other in paths if other.startswith(f"{path}.")]
            if inside or paths.count(path) > 1:
                raise BadInputError(f"the field {path} is filled twice{f', also by {inside[0]}' if inside else ''}.")


def vet_path(kind: RowType, path: str) -> None:
    """Raises `BadInputError` where the type has no such field, or it has no parts."""
    name, dot, inside = path.partition(".")
    known = shapes(kind)
    if name not in known:
        raise BadInputError(
            f"{kind} has no field {name!r}.",
            remedy=known_names(name, known, "docs/reference/records.md", are="Its fields are"),
        )
    if dot and (known[name] != "mapping" or "" in inside.split(".")):
        mappings = ", ".join(name for name, shape in known.items() if shape == "mapping")
        raise BadInputError(f"{path} is no part of a field.", remedy=f"Parts can be filled of {mappings}.")


class RowRecords:
    """The records that the rows of one file become; each reading of it gives the same ones."""

    def __init__(self, path: Path, mapping: RowMapping, *, now: datetime) -> None:
        self._path = path
        self._mapping = mapping
        self._now = now
        self.filled: set[str] = set()
        """The fields that the table decides, by their names on the wire: complete once all batches were read."""

    def batches(self, size: int) -> Iterator[list[Arrival]]:
        """The records in batches; raises `InvalidRecordError` with file and line at the first row that does not fit.

        At the end raises `BadInputError` where no row has a column that was named.
        """
        batch: list[Arrival] = []
        ids = _Ids(self._mapping.kind)
        self.filled.update(path.partition(".")[0] for path in self._mapping.fixed)
        missing = set(self._mapping.columns.values())
        columns: dict[str, None] = {}
        for row in read_rows(self._path):
            if len(columns) < 100:
                columns.update(dict.fromkeys(row.cells))
            self.filled.update(path.partition(".")[0] for path in (self._mapping.columns or row.cells))
            missing = {name for name in missing if not _stands(row.cells, name)}
            batch.append(Arrival(self._record(row, ids), _place(row.where)))
            if len(batch) == size:
                yield batch
                batch = []
        if missing and columns:
            raise BadInputError(
                f"{self._path} has no column {min(missing)!r}.", remedy=f"Its columns are {', '.join(columns)}."
            )
        if batch:
            yield batch

    def beside_kept(self, db: Db, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """The cases with the fields that the table fills, and all others as they are kept: checks that were added stay."""
        kept = records.minions(db, [arrival.record.id for arrival in arrivals])
        return [_onto(arrival, kept.get(arrival.record.id), self.filled) for arrival in arrivals]

    def _record(self, row: TableRow, ids: _Ids) -> Record[Fields]:
        try:
            fields = _fields(self._mapping, row)
            ident, title = fields.pop("id", None), fields.pop("title", None)
            if self._mapping.kind == "test-case" and not fields.get("name"):
                fields["name"] = _name(fields) or ident or self._mapping.kind
            ident = ids.of(ident, fields)
            wire: Json = {"id": ident, "type": self._mapping.kind, "fields": fields}
            return record_from_wire(wire | ({"title": title} if title else {}), new_id=ident, now=self._now)
        except BadInputError as error:
            raise _at(error, row.where) from None
        except (ValueError, RecursionError) as error:  # NaN, or nested without end
            raise InvalidRecordError(
                f"cannot be JSON: {error}",
                field=not_finite_at(row.cells),
                where=row.where,
                remedy="Write null for a missing value.",
            ) from None


def _onto(arrival: Arrival, stored: Record[Fields] | None, filled: set[str]) -> Arrival:
    record, kept = arrival.record, None if stored is None else of_type(stored, TestCase)
    if kept is None or kept.deleted_at is not None:
        return arrival
    names = [name for name, about in TestCase.model_fields.items() if (about.alias or name) in filled]
    update = {name: getattr(record.fields, name) for name in names}
    title = record.title if "title" in filled else kept.title
    onto = kept.touched(kept.fields.model_copy(update=update), record.updated_at)
    return replace(arrival, record=replace(onto, title=title))


def _at(error: BadInputError, where: str) -> InvalidRecordError:
    if not isinstance(error, InvalidRecordError):
        return InvalidRecordError(error.message_text, where=where, remedy=error.remedy_text)
    if error.reason == "is missing":
        name = error.field.removeprefix("fields.")
        remedy = f"Fill it with {argument('map', f'{name}=COLUMN')}, or for all rows with {argument('set', f'{name}=VALUE')}."
        return InvalidRecordError(error.reason, field=error.field, where=where, remedy=remedy)
    return InvalidRecordError(error.reason, field=error.field, where=where, remedy=error.remedy_text)


def _place(where: str) -> Callable[[], str]:
    return lambda: where


def _fields(mapping: RowMapping, row: TableRow) -> Json:
    """The fields that a row fills, by name; parts of mappings put together."""
    fields: Json = {}
    for path, text in mapping.fixed.items():
        _put(fields, path, _typed(mapping.kind, path, text))
    columns = mapping.columns or {name: name for name in _own(mapping, row.cells)}
    for path, column in columns.items():
        value = _cell(row.cells, column)
        if isinstance(value, str) and row.is_text:
            value = _typed(mapping.kind, path, value)
        if path == "id" and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value is not None:
            _put(fields, path, value)
    return fields


def _own(mapping: RowMapping, cells: Json) -> Iterable[str]:
    """The row's columns, each of which is a field's name; of `a.b` beside `a` neither can be meant."""
    for name in cells:
        vet_path(mapping.kind, name)
        parents = name.split(".")
        if any(".".join(parents[:number]) in cells for number in range(1, len(parents))):
            raise BadInputError(f"the field {name} is filled twice.")
    return cells


def _stands(cells: Json, column: str) -> bool:
    """Returns whether the row has that column, be its cell empty or not."""
    return column in cells or _cell(cells, column) is not None


def _cell(cells: Json, column: str) -> JsonValue:
    """The cell of that column, which may be dotted into a nested one; none where there is none."""
    if column in cells:
        return cells[column]
    value: JsonValue = cells
    for part in column.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _typed(kind: RowType, path: str, text: str) -> JsonValue:
    """Returns what a text cell says in that field; none for an empty one, save where a user's own text may be empty."""
    name, _, inside = path.partition(".")
    shape = shapes(kind)[name]
    if inside:
        return text if text or name in {"inputs", "outputs"} else None
    if text == "":
        return None
    if shape == "text":
        return text
    if shape == "texts" and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return json.loads(text)
    except ValueError:
        if shape == "mapping":
            raise InvalidRecordError(
                f"{text[:40]!r} is no JSON object",
                field=f"fields.{name}",
                remedy=f"Fill a part of it: {argument('map', f'{name}.NAME=COLUMN')}.",
            ) from None
        return text


def _put(fields: Json, path: str, value: JsonValue) -> None:
    if value is None:
        return
    *parents, last = path.split(".")
    inside = fields
    for parent in parents:
        branch = inside.setdefault(parent, {})
        assert isinstance(branch, dict), path
        inside = branch
    inside[last] = value


def _name(fields: Json) -> str:
    inputs = fields.get("inputs")
    text = " ".join(output_text(inputs).split()) if isinstance(inputs, dict) and inputs else ""
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


class _Ids:
    """Ids for rows: their own, which come once, or one made of what they say, with a number from the second equal row on."""

    def __init__(self, kind: RowType) -> None:
        self._kind = kind
        self._seen: set[int] = set()
        self._again: dict[str, int] = {}

    def of(self, row_id: JsonValue, fields: Json) -> str:
        """The row's id; raises `InvalidRecordError` for one that came before."""
        if row_id is not None and not isinstance(row_id, str):
            raise InvalidRecordError(f"{json.dumps(row_id)[:40]} is no id", field="id")
        ident = row_id or f"{self._kind}:{digest(fields)}"
        known = hash(ident) in self._seen
        self._seen.add(hash(ident))
        if not known:
            return ident
        if row_id:
            raise InvalidRecordError(f"duplicate id {row_id!r}", field="id")
        self._again[ident] = self._again.get(ident, 1) + 1
        return f"{ident}:{self._again[ident]}"

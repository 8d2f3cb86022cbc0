"""Suite files: `records: [{id, type, fields}, …]` in YAML or JSON, or one record a line (what `export` writes)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, cast

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails, to_json

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.records import reading_notes, record_from_wire
from minions_evals_mcp.domain.relations import RELATIONS, Relation
from minions_evals_mcp.domain.values import Id, Text, Value
from minions_evals_mcp.engine.records.save_records import Arrival
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.column_guess import table_refused
from minions_evals_mcp.interop.parsing import ROOTS, lines_of, not_utf8, parse_json, parse_yaml, vet_size
from minions_evals_mcp.interop.text_table import SEPARATORS

LINES = (".jsonl", ".ndjson")
JSON = ".json"


class RelationRow(Value):
    """A relation in a suite file, in the Minions SDK's words."""

    source_id: Id
    target_id: Id
    type: Text


class SuiteFile(Value):
    """A suite file's top level."""

    minions: Annotated[tuple[JsonValue, ...], Field(strict=False)] = ()
    relations: Annotated[tuple[RelationRow, ...], Field(strict=False)] = ()


def read_suite(path: Path, *, new_id: Callable[[], str], now: datetime) -> tuple[list[Arrival], list[Relation]]:
    """The records and relations of a file; raises `InvalidRecordError` with file, line, field and reason, and
    `BadInputError` for a table, whose rows are imported.
    """
    if has_lines(path):
        return [*read_lines(path, new_id=new_id, now=now)], []
    with _problems_in_words(path):
        text = bounded_files.read_text(path)
    if path.suffix.lower() in SEPARATORS:
        raise table_refused(path)
    is_json = path.suffix.lower() == JSON
    suite, root = _suite(path, text, is_json=is_json)
    places = _Places(path, text, is_json=is_json)
    arrivals = [
        _arrival(partial(places.of, root, number), wire, new_id, now) for number, wire in enumerate(suite.minions)
    ]
    return arrivals, [
        _relation(row, partial(places.of, "relations", number)) for number, row in enumerate(suite.relations)
    ]


def has_lines(path: Path) -> bool:
    """Returns whether the file has one record a line."""
    return path.suffix.lower() in LINES


def read_lines(path: Path, *, new_id: Callable[[], str], now: datetime) -> Iterator[Arrival]:
    """The records of a file that has one a line, read as they are asked for; raises as `read_suite` does."""
    with _problems_in_words(path):
        for number, wire in _json_lines(path):
            yield _arrival(partial("{}:{}".format, path, number), wire, new_id, now)


@contextmanager
def _problems_in_words(path: Path) -> Generator[None]:
    """Yields why a file cannot be read, in our words."""
    try:
        yield
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except UnicodeDecodeError:
        raise BadInputError(
            f"{path} is not UTF-8: {_not_utf8(path)}.", remedy="A suite is YAML, JSON or JSON lines."
        ) from None


def _not_utf8(path: Path) -> str:
    """Returns what the first byte is that is no text, and where: read anew, for a file that is read by the line counts from elsewhere."""
    return not_utf8(bounded_files.read_bytes(path), is_whole=True) or "it has changed meanwhile"


def _json_lines(path: Path) -> Iterator[tuple[int, JsonValue]]:
    """The values of the lines with their numbers, read as they are asked for: a great file is never held whole."""
    for number, line in enumerate(bounded_files.read_lines(path), 1):
        if line.strip():
            yield number, parse_json(line.removesuffix("\n"), str(path), line=number)  # pyright: ignore[reportReturnType]  JSON all through


def _suite(path: Path, text: str, *, is_json: bool) -> tuple[SuiteFile, str]:
    vet_size(text, "suite", "Write one record a line (.jsonl): such a file is read record by record.", where=str(path))
    document = parse_json(text, str(path)) if is_json else parse_yaml(text, str(path))
    if isinstance(document, list):
        document = {"minions": cast("list[object]", document)}
    keys = [*map(str, cast("dict[object, object]", document))] if isinstance(document, dict) else []
    named = [root for root in ROOTS if root in keys]
    if len(named) > 1:
        raise InvalidRecordError("`minions` is the older name of `records`: use one of them", where=str(path))
    root = named[0] if named else ROOTS[0]
    if not isinstance(document, dict) or not isinstance(cast("dict[object, object]", document).get(root), list):
        near = [
            f"{key!r} is not a key of it"
            for name in ROOTS
            for key in get_close_matches(name, keys, 1)
            if key not in ROOTS
        ]
        raise InvalidRecordError("; ".join(["a suite is `records: [{id, type, fields}, …]`", *near]), where=str(path))
    document = {
        ("minions" if key == root else key): value for key, value in cast("dict[str, object]", document).items()
    }
    try:
        return SuiteFile.model_validate_json(to_json(document, fallback=_plain)), root
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidRecordError(_in_words(first), field=".".join(map(str, first["loc"])), where=str(path)) from None
    except ValueError as error:
        raise InvalidRecordError(str(error), where=str(path)) from None


def _in_words(detail: ErrorDetails) -> str:
    return (
        "unknown key; known are records, relations"
        if detail["type"] == "extra_forbidden" and len(detail["loc"]) == 1
        else detail["msg"]
    )


def _plain(value: object) -> str:
    """YAML reads a bare 2026-01-31 as a date: the record means its text."""
    if isinstance(value, date):
        return value.isoformat()
    raise ValueError(f"{type(value).__name__} is no JSON value")


def _arrival(where: Callable[[], str], wire: JsonValue, new_id: Callable[[], str], now: datetime) -> Arrival:
    named = isinstance(wire, dict) and isinstance(wire.get("id"), str)
    try:
        record = record_from_wire(wire, new_id="" if named else new_id(), now=now)
        return Arrival(record, where, notes=reading_notes(wire))
    except InvalidRecordError as error:
        raise error.at(where()) from None


class _Places:
    """The places in the file at which each record begins; looked up only for a refusal, for it parses the file a second time."""

    def __init__(self, path: Path, text: str, *, is_json: bool) -> None:
        self._path = path
        self._text = text
        self._is_json = is_json
        self._found: dict[str, list[int]] = {}

    def of(self, key: str, number: int) -> str:
        """`file:line` of the list's element with that number (from 0)."""
        if key not in self._found:
            self._found[key] = lines_of(self._text, key, is_json=self._is_json)
        return f"{self._path}:{self._found[key][number]}"


def _relation(row: RelationRow, where: Callable[[], str]) -> Relation:
    if row.type != "follows":
        derived = row.type in {relation.name for relation in RELATIONS}
        why = "is derived from the records' ids: leave it out" if derived else "is unknown; only follows can be given"
        raise InvalidRecordError(f"the relation {row.type!r} {why}", field="relations.type", where=where())
    return Relation(row.source_id, row.target_id, row.type)

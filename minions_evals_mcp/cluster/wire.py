"""The encoding of values between coordinator and workers: pickled, without any secret that the sender knows.

Only trusted hosts may take part: whoever can reach the scheduler can have code run by the workers.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache
from operator import attrgetter
from typing import Any

from pydantic import TypeAdapter

from minions_evals_mcp.cluster.orders import Back, Chunk
from minions_evals_mcp.domain.definitions import Fields, TestCase
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.domain.records import Record, fields_from_json
from minions_evals_mcp.engine.judge.yardstick import Measure, own_measure
from minions_evals_mcp.engine.run.units import Unit
from minions_evals_mcp.known_secrets import masked, spellings
from minions_evals_mcp.store.records import Unread
from minions_evals_mcp.store.unit_rows import UnitRows


def packed(value: object) -> bytes:
    """The value's bytes; a secret that an application or a model said stands in them as its mark."""
    plain = _dumped(value, _Packing)
    return _dumped(value, _Masking) if _says_secret(plain) else plain


def _dumped(value: object, pickler: type[pickle.Pickler]) -> bytes:
    out = io.BytesIO()
    pickler(out, pickle.HIGHEST_PROTOCOL).dump(value)
    return out.getvalue()


def unpacked(content: bytes) -> Any:
    """The value of those bytes, which come from our own side."""
    return _Unmasking(io.BytesIO(content)).load()


def unpacked_masked(content: bytes) -> Any:
    """The same of bytes from elsewhere: a secret that is known here, and was not there, stands in it as its mark."""
    value = unpacked(content)
    return unpacked(packed(value)) if _says_secret(content) else value


def _says_secret(content: bytes) -> bool:
    return any(spelling.encode("utf-8", "surrogatepass") in content for spelling in spellings())


def _record(kind: type[Fields], content: str, ident: str, *around: Any) -> Record[Fields]:
    """The record of that id, its fields read from JSON."""
    return Record(ident, fields_from_json(kind, content, record=ident), *around)


_AROUND = attrgetter(*(field.name for field in fields(Record) if field.name not in {"id", "fields"}))


def _taken_apart(record: Record[Fields]) -> tuple[Any, ...]:
    """Returns what `_record` makes the record of: its fields as one text are a third of the work of each by itself."""
    content = record.fields.model_dump_json(exclude_defaults=True)
    return _record, (type(record.fields), content, record.id, *_AROUND(record))


_CASE = attrgetter("id", "fields", "title", "created_at", "updated_at", "tags", "status", "created_by", "deleted_at")
_UNIT = attrgetter("kept", "recorded", "earlier", "made", "proposed", "label", "stopped")


@cache
def _several_fields() -> TypeAdapter[list[TestCase]]:
    return TypeAdapter(list[TestCase])


def _chunk_apart(chunk: Chunk) -> tuple[Any, ...]:
    """Returns what `_chunk` makes the chunk of: its units by columns, their cases as one text; half the work of each by itself."""
    measures = {id(unit.measure): unit.measure for unit in chunk.units}
    places = {ident: place for place, ident in enumerate(measures)}
    cases: list[Any] = [*zip(*(_CASE(measure.case) for measure in measures.values()), strict=True)]
    cases[1] = _several_fields().dump_json([*cases[1]], exclude_defaults=True).decode()
    rubrics = [measure.yardstick if measure.case.fields.rubric_id else None for measure in measures.values()]
    worlds = [measure.world for measure in measures.values()]
    parts: list[Any] = [*zip(*map(_UNIT, chunk.units), strict=True)]
    parts[1] = [run and run.row for run in parts[1]]
    keys = [*zip(*(unit.key for unit in chunk.units), strict=True)]
    around = (chunk.id, chunk.known, chunk.outputs, chunk.is_live)
    return _chunk, (around, cases, (rubrics, worlds), keys, [places[id(unit.measure)] for unit in chunk.units], parts)


def _chunk(around: Any, cases: Any, beside: Any, keys: Any, places: Any, parts: Any) -> Chunk:
    cases[1] = _several_fields().validate_json(cases[1])
    measures = [
        replace(own_measure(Record(*case)) if rubric is None else Measure(Record(*case), rubric), world=world)
        for *case, rubric, world in zip(*cases, *beside, strict=True)
    ]
    parts[1] = [row and Unread(AgentRun, row) for row in parts[1]]
    of_units = zip(map(UnitKey, *keys), map(measures.__getitem__, places), *parts, strict=True)
    ident, *others = around
    return Chunk(ident, tuple(Unit(*unit) for unit in of_units), *others)


def _back_apart(back: Back) -> tuple[Any, ...]:
    """The same of what comes back, where all of its units were judged: their rows by columns."""
    rows = [ended for _, ended in back.ended if isinstance(ended, UnitRows) and ended.run is not None]
    if not rows or len(rows) < len(back.ended):
        return Back, (back.chunk, back.ended, back.left)
    units, outcomes, runs, *others = zip(*rows, strict=True)
    return _back, (back.chunk, back.left, [*zip(*units, strict=True)], outcomes, [*zip(*runs, strict=True)], others)


def _back(chunk: str, left: Any, units: Any, outcomes: Any, runs: Any, others: Any) -> Back:
    columns = zip(zip(*units, strict=True), outcomes, zip(*runs, strict=True), *others, strict=True)
    rows = map(UnitRows._make, columns)
    return Back(chunk, [*zip(map(UnitKey, *units[:3]), rows, strict=True)], left)


class _Packing(pickle.Pickler):
    """Writes what there is much of the short way."""

    dispatch_table: Mapping[type, Callable[[Any], Any]] = {
        Record: _taken_apart,
        Chunk: _chunk_apart,
        Back: _back_apart,
    }


class _Masking(_Packing):
    """Writes a text that holds a secret as the text with the mark."""

    def persistent_id(self, obj: object) -> str | None:
        """The text that stands for another."""
        if not isinstance(obj, str) or type(obj) is not str:
            return None
        clean = masked(obj)
        return None if clean == obj else clean


class _Unmasking(pickle.Unpickler):
    """Reads it."""

    def persistent_load(self, pid: str) -> str:
        """The text as it stands."""
        return pid

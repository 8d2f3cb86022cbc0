"""How values travel between coordinator and workers: pickled, without any secret that the sender knows.

Only trusted hosts may take part: whoever can reach the scheduler can have code run by the workers.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.domain.records import Record, fields_from_json
from minions_evals_mcp.engine.judge.yardstick import Measure
from minions_evals_mcp.engine.run.units import Unit
from minions_evals_mcp.known_secrets import masked, spellings
from minions_evals_mcp.store.records import Unread


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


def taken(content: bytes) -> Any:
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
    """What `_record` makes the record of: its fields as one text are a third of the work of each by itself."""
    content = record.fields.model_dump_json(exclude_defaults=True)
    return _record, (type(record.fields), content, record.id, *_AROUND(record))


def _parts_of(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Takes values of a data class apart by its fields, which are looked up once."""
    parts = attrgetter(*(field.name for field in fields(kind)))
    return lambda value: (kind, parts(value))


class _Packing(pickle.Pickler):
    """Writes what there is much of the short way."""

    dispatch_table: Mapping[type, Callable[[Any], Any]] = {
        Record: _taken_apart,
        **{kind: _parts_of(kind) for kind in (UnitKey, Unit, Measure, Unread)},
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
